"""The audit log has a record of each change, with who made it, and none of what was refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx

from tests.service.served import Served, served
from tests.service.test_access import asked
from tocsin.cli.main import main
from tocsin.service import audit, retention
from tocsin.service.access.token_file import TokenFile
from tocsin.service.api import Call
from tocsin.service.app import CALLS
from tocsin.service.calls import sending
from tocsin.service.principals import OPERATE, PUBLISH, READ

ACK = "/v1/destinations/{id}/ack"


def log(client: httpx.Client, **options: Any) -> list[dict[str, Any]]:
    """The records."""
    answer = client.get("/v1/audit", params=options)
    assert answer.status_code == 200, answer.text
    records: list[dict[str, Any]] = answer.json()["records"]
    return records


def is_change(call: Call) -> bool:
    """Whether a call changes subscriptions or destinations of a tenant."""
    return call.method not in ("GET", "HEAD") and call.scope not in (PUBLISH, READ, OPERATE, None) and call.path != ACK


def is_of_webhooks(call: Call) -> bool:
    """Whether a call is for destinations of another kind than the one that the test makes."""
    return call in sending.CALLS


def test_every_call_that_changes_something_leaves_a_record(server: Served) -> None:
    token, text = TokenFile(server.folder).create("acme", ["subscribe", "read", "admin", "publish"], name="phone")
    client = server.client_of(text)
    changes = [call for call in CALLS if is_change(call) and not is_of_webhooks(call)]
    order = {"PUT": 0, "POST": 1, "PATCH": 2, "DELETE": 3}
    assert len(changes) >= 7
    client.put("/v1/destinations/mine", json={"kind": "stream"})
    client.put("/v1/subscriptions/mine", json={"where": "n = 1"})
    client.put("/v1/windows/mine", json={"time": 60, "bounds": [0, 0, 9, 9]})
    seen = len(log(client))
    for call in sorted(changes, key=lambda one: (order[one.method], "subscriptions" not in one.path)):
        if (call.method, call.path) == ("DELETE", "/v1/subscriptions"):
            seen += client.put("/v1/subscriptions/mine", json={"where": "n = 1"}).is_success
        assert asked(client, call).is_success, call
        records = log(client, after=seen)
        assert [(one["method"], one["path"]) for one in records] == [(call.method, re.sub(r"{\w+}", "mine", call.path))]
        assert (records[0]["token"], records[0]["name"], records[0]["address"]) == (token.id, "phone", "127.0.0.1")
        assert ("first" in records[0]) == call.path.startswith("/v1/subscriptions")
        seen += 1


def test_the_confirmation_of_the_clock_leaves_a_record(server: Served) -> None:
    assert server.client.post("/v1/clock/confirm").is_success
    assert [one["path"] for one in log(server.client)] == ["/v1/clock/confirm"]


def test_changes_of_a_webhook_leave_records(server: Served) -> None:
    path = "/v1/destinations/hook"
    assert server.client.put(path, json={"kind": "webhook", "url": "https://example.org/x"}).is_success
    assert server.client.post(f"{path}/rotate-secret", json={}).is_success
    assert server.client.post(f"{path}/enable").is_success
    assert [one["path"] for one in log(server.client)] == [path, f"{path}/rotate-secret", f"{path}/enable"]


def test_a_record_has_the_numbers_and_no_content(server: Served) -> None:
    records = [{"id": f"s{number}", "where": "n = 12345", "payload": "rosebud"} for number in range(10)]
    server.lines(records, "/v1/subscriptions")
    answer = server.client.get("/v1/audit")
    (one,) = answer.json()["records"]

    assert (one["first"], one["last"], one["token"]) == (1, 10, "")
    assert "rosebud" not in answer.text and "12345" not in answer.text


def test_what_is_refused_or_only_read_leaves_none(server: Served) -> None:
    server.destination()
    server.subscribe("s", "n = 1", destination="d")
    seen = len(log(server.client))
    server.subscribe("s", "n =")
    server.client.delete("/v1/subscriptions/none")
    server.client.delete("/v1/destinations/d")  # a subscription names it
    server.client.put("/v1/subscriptions/s", json={"where": "n = 2"}, headers={"If-Match": '"99"'})
    server.publish({"n": 1})
    server.client.post("/v1/destinations/d/ack", json={"sequence": 1})
    server.client.post("/v1/match", json={"n": 1})

    assert log(server.client, after=seen) == []


def test_pages_follow_each_other(server: Served) -> None:
    for number in range(7):
        server.subscribe(f"s{number}", "n = 1")
    first = server.client.get("/v1/audit", params={"limit": 3}).json()
    rest = server.client.get("/v1/audit", params={"after": first["next"]}).json()

    assert [one["number"] for one in first["records"] + rest["records"]] == list(range(1, 8))
    assert "next" not in rest


def test_the_command_reads_each_tenants_log_while_the_server_runs(server: Served, capsys: Any) -> None:
    server.subscribe("s", "n = 1")
    server.client_of(server.token(tenant="acme")).put("/v1/subscriptions/t", json={"where": "n = 1"})
    printed = []
    for more in ([], ["--tenant", "acme"], ["--after", "1"]):
        assert main(["audit", str(server.folder), *more]) == 0
        printed.append([json.loads(line)["path"] for line in capsys.readouterr().out.splitlines()])

    assert printed == [["/v1/subscriptions/s"], ["/v1/subscriptions/t"], []]
    assert main(["audit", str(server.folder / "none")]) == 2
    assert main(["audit", str(server.folder), "--tenant", ".."]) == 2


def test_the_client_behind_a_trusted_proxy_is_recorded(tmp_path: Path) -> None:
    addresses = {}
    for proxy in ("127.0.0.1", "10.0.0.1"):
        with served(tmp_path / proxy, options={"trusted_proxies": (proxy,)}) as server:
            server.client = server.client_of(server.token())  # behind a proxy nobody gets in without one
            headers = {"X-Forwarded-For": "203.0.113.7, 198.51.100.9", "X-Forwarded-Proto": "https"}
            server.client.put("/v1/subscriptions/s", json={"where": "n = 1"}, headers=headers)
            server.client.put("/v1/subscriptions/s", json={"where": "n = 1"}, headers={"X-Forwarded-For": "x" * 5000})
            addresses[proxy] = [one["address"] for one in log(server.client)]

    assert addresses["127.0.0.1"][0] == "198.51.100.9"  # what the proxy itself saw
    assert all(len(one) <= 1000 for one in addresses["127.0.0.1"])
    assert addresses["10.0.0.1"] == ["127.0.0.1", "127.0.0.1"]


def test_the_oldest_records_go(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(audit, "MOST", 5)
    monkeypatch.setattr(retention, "_PERIOD_S", 0.05)
    with served(tmp_path) as server:
        for number in range(12):
            server.subscribe(f"s{number}", "n = 1")
        while len(found := log(server.client)) > 5:
            pass
        assert [one["number"] for one in found] == list(range(8, 13))
