"""What owners of webhooks set: options, secrets and targets."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from standardwebhooks import Webhook

from tests.service.receivers import Clock, Reply, hook, publish, receiver, shown
from tests.service.served import Served
from tests.waiting import awaited
from tocsin.service.deliver.kinds import checked_document
from tocsin.service.problems import Problem

PATH = "/v1/destinations/w"


def test_a_secret_is_shown_once(server: Served) -> None:
    with receiver() as one:
        assert hook(server, one.url)["secret"].startswith("whsec_")
        assert "secret" not in shown(server) and "secret" not in hook(server, one.url)
        own = "whsec_" + "A" * 32
        assert "secret" not in hook(server, one.url, "other", secret=own)
        server.publish({"n": 1})
        awaited(lambda: len(one.got) == 2)
        posted = next(one for one in one.got if one.delivery["destination"] == "other")
        Webhook(own).verify(posted.body, dict(posted.headers))
    for wrong in ("whsec_", "whsec_AAAA", "A" * 40, "whsec_" + "é" * 40, 7, "whsec_" + "A" * 200):
        record = {"kind": "webhook", "url": "https://example.org", "secret": wrong}
        answer = server.client.put("/v1/destinations/x", json=record)
        assert answer.status_code == 422 and answer.json()["field"] == "secret"
        assert str(wrong)[:20] not in answer.json()["detail"] or wrong in ("whsec_", 7)


def test_both_secrets_sign_while_one_is_rotated(server: Served) -> None:
    with receiver() as one:
        old = hook(server, one.url)["secret"]
        answer = server.client.post(f"{PATH}/rotate-secret", json={"keep_s": 60}).json()
        clock = Clock(server)
        publish(server, 1)
        one.await_numbers(1)
        for secret in (old, answer["secret"]):
            Webhook(secret).verify(one.got[0].body, dict(one.got[0].headers))
        assert len(one.got[0].headers["webhook-signature"].split()) == 2 and answer["secrets"] == 2

        clock.advance(61)
        publish(server, 1)
        one.await_numbers(1, 2)
        assert len(one.got[1].headers["webhook-signature"].split()) == 1
        Webhook(answer["secret"]).verify(one.got[1].body, dict(one.got[1].headers))
        assert server.client.post(f"{PATH}/rotate-secret").json()["secret"] != answer["secret"]


def test_options_change_while_it_sends(server: Served) -> None:
    with receiver(lambda posted: Reply(500)) as one, receiver() as two:
        hook(server, one.url)
        publish(server, 2)
        awaited(lambda: shown(server)["state"] == "failing")
        assert server.client.patch(PATH, json={"url": two.url}).status_code == 200
        assert server.client.post(f"{PATH}/enable").status_code == 200
        two.await_numbers(1, 2)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"url": None}, "url"),
        ({"order": "some"}, "order"),
        ({"on_full": True}, "on_full"),
        ({"allow_private": 1}, "allow_private"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_attempts": 101}, "max_attempts"),
        ({"rate_per_s": 0}, "rate_per_s"),
        ({"rate_per_s": float("1e300")}, "rate_per_s"),
        ({"digest_s": -1}, "digest_s"),
        ({"digest_s": "1"}, "digest_s"),
        ({"paused_until": "tomorrow"}, "paused_until"),
        ({"failures_to": "w"}, "failures_to"),
        ({"failures_to": "nobody"}, "failures_to"),
        ({"failures_to": ["w"]}, "failures_to"),
        ({"more": 1}, "more"),
    ],
)
def test_options_that_are_wrong(server: Served, options: dict[str, Any], field: str) -> None:
    record = {"kind": "webhook", "url": "https://example.org/", **options}
    answer = server.client.put(PATH, json=record)
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_calls_of_webhooks_need_one(server: Served) -> None:
    server.destination()
    calls = [("POST", "enable"), ("POST", "rotate-secret"), ("GET", "dead-letters"), ("POST", "dead-letters/1/retry")]
    for method, path in calls:
        assert server.client.request(method, f"/v1/destinations/d/{path}").status_code == 409
        assert server.client.request(method, f"/v1/destinations/none/{path}").status_code == 404
    with receiver() as one:
        hook(server, one.url)
        assert server.client.post(f"{PATH}/ack", json={"sequence": 0}).status_code == 409
    for body in ({"keep_s": -1}, {"keep_s": "1"}, {"secret": ""}, {"other": 1}):
        assert server.client.post(f"{PATH}/rotate-secret", json=body).status_code == 422


def test_only_admins_allow_private_addresses() -> None:
    record = {"kind": "webhook", "url": "http://10.0.0.1/", "allow_private": True}
    with pytest.raises(Problem) as raised:
        checked_document(record, is_admin=False)
    assert raised.value.status == 403
    assert checked_document(record, is_admin=True).options["allow_private"] is True


def test_a_server_refuses_what_rebinds(server: Served) -> None:
    """A name that led to a public address leads to this machine: nothing is sent, and the delivery waits."""
    clock = Clock(server)
    with receiver() as one:
        addresses = ["127.0.0.1"]
        server.service.senders.resolver.lookup = lambda host, port, **more: [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 0)) for one in addresses
        ]
        record = {"kind": "webhook", "url": f"http://hook.example:{one.port}/"}
        assert server.client.put("/v1/destinations/w", json=record).status_code == 201
        server.subscribe("s", "n >= 0", destination="w")
        server.publish({"n": 1})
        awaited(lambda: shown(server)["state"] == "failing")
        assert "127.0.0.1, which is private" in shown(server)["reason"] and one.got == []

        assert server.client.patch("/v1/destinations/w", json={"allow_private": True}).status_code == 200
        clock.advance(6)
        one.await_numbers(1)


def test_redirects_and_proxies_of_the_environment_are_not_followed(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver() as elsewhere, receiver(lambda each: Reply(302, {"location": elsewhere.url})) as one:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{elsewhere.port}")
        hook(server, one.url, max_attempts=1)
        server.publish({"n": 1})
        awaited(lambda: shown(server)["acknowledged"] == 1)
        assert len(one.got) == 1 and elsewhere.got == []
