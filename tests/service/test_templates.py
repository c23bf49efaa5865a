"""Templates of destinations: what is sent, what is refused, and what follows when one fails."""

from __future__ import annotations

import json
from typing import Any

import pytest
from standardwebhooks import Webhook

import tocsin
import tocsin.service.deliver.templates.renderer as rendering
from tests.service.receivers import Clock, Posted, Receiver, hook, publish, receiver, shown
from tests.service.served import Served
from tests.waiting import awaited
from tocsin.errors import InvalidInput

PATH = "/v1/destinations/w"
FAILS = "{{ event.n | divided_by: event.zero }}"


def sent(one: Receiver, count: int) -> list[Posted]:
    awaited(lambda: len(one.got) >= count)
    return list(one.got)[:count]


def preview(server: Served, document: Any = None) -> Any:
    return server.client.post(f"{PATH}/preview", json={} if document is None else document)


def test_a_webhook_gets_what_its_template_says(server: Served) -> None:
    """Body, headers and path are rendered, and the signature is that of the body which is sent."""
    template = {
        "body": '{"text": {{ event.name | json }}, "of": {{ subscriptions | map: "id" | json }}}',
        "headers": {"content-type": "application/vnd.chat+json", "x-room": " {{ event.room }} ", "x-empty": "{{ no }}"},
        "path": "/rooms/{{ event.room | url_encode }}?n={{ sequence }}",
    }
    with receiver() as one:
        made = hook(server, one.url, template=template)
        assert made["template"] == template
        server.publish({"n": 1, "name": 'the "first"', "room": "a b"})
        (posted,) = sent(one, 1)

        assert json.loads(posted.body) == {"text": 'the "first"', "of": ["s-w"]}
        assert posted.headers["content-type"] == "application/vnd.chat+json"
        assert posted.headers["x-room"] == "a b" and "x-empty" not in posted.headers
        assert Webhook(made["secret"]).verify(posted.body, dict(posted.headers)) == posted.document
        (pulled,) = server.pulled("w", after=0)
        assert posted.headers["webhook-id"] == pulled["key"] and pulled["event"]["room"] == "a b"
        assert posted.path == "/rooms/a+b?n=1"


def test_parts_that_a_template_lacks_stay(server: Served) -> None:
    with receiver() as one:
        hook(server, one.url, template={"headers": {"x-n": "{{ event.n }}"}})
        publish(server, 1, first=7)
        (posted,) = sent(one, 1)

        assert posted.delivery["event"] == {"n": 7} and posted.headers["x-n"] == "7"
        assert posted.path == "/hook?a=1" and posted.headers["content-type"] == "application/json"


def test_a_template_that_fails_sends_the_plain_document_and_is_told(server: Served) -> None:
    with receiver() as one:
        hook(server, one.url, template={"body": f"a\n{FAILS}"})
        server.publish({"n": 1, "zero": 0})
        server.publish({"n": 4, "zero": 2})
        first, second = sent(one, 2)
        awaited(lambda: shown(server)["waiting"] == 0)

        assert first.delivery["event"] == {"n": 1, "zero": 0} and second.body == b"a\n2"
        attempts = server.client.get(f"{PATH}/attempts").json()["attempts"]
        assert [one["outcome"] for one in attempts] == ["delivered", "delivered"]
        assert (
            "reason" not in attempts[0] and "plain document was sent: body, line 2: divided_by" in attempts[1]["reason"]
        )
        assert 'tocsin_template_failures_total{kind="webhook"} 1.0' in server.client.get("/metrics").text
        assert "template_error" not in shown(server)

        server.publish({"n": 1, "zero": 0})
        sent(one, 3)
        assert "line 2" in shown(server)["template_error"]
        assert server.client.patch(PATH, json={"template": None}).is_success
        publish(server, 1)
        sent(one, 4)
        assert "template" not in shown(server) and "template_error" not in shown(server)


@pytest.mark.parametrize(
    "template",
    [
        {"path": "rooms"},
        {"path": "/a b"},
        {"path": "/é"},
        {"path": "//other.example\r\nx: y"},
        {"headers": {"x-a": "a\r\nx-b: b"}},
        {"headers": {"x-a": "é"}},
        {"headers": {"x-a": "{% for i in (1..5000) %}x{% endfor %}"}},
    ],
)
def test_parts_that_cannot_be_sent_are_not(server: Served, template: Any) -> None:
    """A part that would break the request, or lead elsewhere, fails as a template that cannot be rendered."""
    with receiver() as one:
        hook(server, one.url, template=template)
        publish(server, 1)
        posted = sent(one, 1)[0]

        assert posted.document["type"] == "delivery" and posted.path == "/hook?a=1"
        assert "x-a" not in posted.headers and "x-b" not in posted.headers


@pytest.mark.parametrize(
    ("template", "place"),
    [
        ({"body": "a\n\n{% iff %}"}, {"part": "body", "line": 3}),
        ({"body": "a\n{% if a %}"}, {"part": "body", "line": 2}),
        ({"headers": {"x-a": "{% if b %}\n{{ a | nope }}{% endif %}"}}, {"part": "headers.x-a", "line": 2}),
        ({"path": "/{% include 'x' %}"}, {"part": "path", "line": 1}),
        ({"body": "{{ a" + "[a" * 5000 + " }}"}, {"part": "body"}),
        ({"subject": "a"}, {}),
        ({"body": 1}, {}),
        ({"body": "x" * 20_000}, {}),
        ({"headers": "x"}, {}),
        ({"headers": {"host": "x"}}, {}),
        ({"headers": {"webhook-id": "x"}}, {}),
        ({"headers": {"X-Upper": "x"}}, {}),
        ({"headers": {"a b": "x"}}, {}),
        ({"headers": {f"x-{number}": "x" for number in range(21)}}, {}),
        ("{{ a }}", {}),
    ],
)
def test_a_template_that_cannot_be_used_is_refused(server: Served, template: Any, place: dict[str, Any]) -> None:
    """When the destination is made, and when it is tried, with the part and the line."""
    record = {"kind": "webhook", "url": "https://example.org/", "template": template}
    answer = server.client.put(PATH, json=record)
    assert answer.status_code == 422, answer.text
    assert place.items() <= answer.json().get("place", {}).items()
    assert server.client.get(PATH).status_code == 404

    server.client.put(PATH, json={**record, "template": {}}).raise_for_status()
    assert preview(server, {"template": template}).status_code == 422
    assert server.client.patch(PATH, json={"template": template}).status_code == 422


def test_streams_have_no_templates(server: Served) -> None:
    answer = server.client.put(PATH, json={"kind": "stream", "template": {"body": "a"}})
    assert answer.status_code == 422 and answer.json()["field"] == "template"


def test_a_slow_template_rests(server: Served) -> None:
    """One that takes too long is not tried again for a minute, because others wait for the process."""
    clock = Clock(server)
    clock.stop()
    with receiver() as one:
        hook(server, one.url, template={"body": "{% if event.slow %}{{ (1..100000000000) | sum }}{% endif %}quick"})
        server.publish({"n": 1, "slow": True})
        publish(server, 1)
        slow, resting = sent(one, 2)
        assert slow.delivery["event"]["slow"] and resting.delivery["event"] == {"n": 0}

        clock.advance(61)
        publish(server, 1)
        assert sent(one, 3)[2].body == b"quick"


def test_a_server_without_the_library_refuses_templates(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """And sends the plain document where it was there before."""
    with receiver() as one:
        hook(server, one.url, template={"body": "{{ event.n }}"})
        server.service.senders.trials.close()
        monkeypatch.setattr(rendering, "find_spec", lambda name: None)
        publish(server, 1)
        assert sent(one, 1)[0].delivery["event"] == {"n": 0}
        answer = server.client.patch(PATH, json={"template": {"body": "b"}})
        assert answer.status_code == 422 and "tocsin[templates]" in answer.json()["detail"]


def test_a_preview_shows_the_last_deliveries_and_sends_nothing(server: Served) -> None:
    with receiver() as one:
        hook(server, one.url, template={"body": "{{ event.n }}"}, paused_until="2099-01-01T00:00:00Z")
        (sample,) = preview(server).json()["previews"]
        assert sample == {"key": "sample", "type": "delivery", "parts": {"body": "", "headers": {}}}

        publish(server, 5)
        found = preview(server).json()["previews"]
        assert [one["parts"]["body"] for one in found] == ["2", "3", "4"]
        assert [one["key"] for one in found] == [one["key"] for one in server.pulled("w", after=2)]
        given = {"template": {"path": "/{{ sequence }}", "body": "{{ 1 | divided_by: event.n }}"}, "limit": 10}
        first, second, *_ = preview(server, given).json()["previews"]
        assert "divide by 0" in first["error"] and second["parts"] == {"path": "/2", "body": "1", "headers": {}}

        server.client.patch(PATH, json={"digest_s": 60}).raise_for_status()
        text = "{{ deliveries | map: 'sequence' | join: ' ' }}"
        (digest,) = preview(server, {"template": {"body": text}}).json()["previews"]
        assert (digest["type"], digest["parts"]["body"]) == ("digest", "3 4 5")
        assert one.got == [] and server.client.get(f"{PATH}/attempts").json()["attempts"] == []


def test_clients_ask_for_previews(server: Served) -> None:
    server.client.put(PATH, json={"kind": "webhook", "url": "https://example.org/"}).raise_for_status()
    with tocsin.Client(str(server.client.base_url)) as client:
        (found,) = client.preview("w", {"body": "{{ event.type }}"}, limit=2)
        assert found["parts"]["body"] == "tocsin.sample"
        with pytest.raises(InvalidInput, match="body, line 1"):
            client.preview("w", {"body": "{% iff %}"})


def test_a_preview_needs_a_template_and_a_destination_that_is_sent_to(server: Served) -> None:
    assert preview(server).status_code == 404
    server.destination("w")
    assert preview(server).status_code == 409
    server.client.put("/v1/destinations/h", json={"kind": "webhook", "url": "https://example.org/"})
    answer = server.client.post("/v1/destinations/h/preview")
    assert answer.status_code == 409 and "no template" in answer.json()["detail"]


def test_a_test_and_a_digest_are_filled(server: Served) -> None:
    with receiver() as one:
        hook(server, one.url, template={"body": "{{ type }} {{ deliveries.size }}"}, digest_s=0.2)
        assert server.client.post(f"{PATH}/test").json()["outcome"] == "delivered"
        publish(server, 3)

        test, digest = sent(one, 2)
        assert test.body == b"test 1" and digest.body.startswith(b"digest ")
