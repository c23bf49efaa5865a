"""Limits of each tenant: what is beyond them is refused with a reason, and the others do not notice."""

from __future__ import annotations

import json
import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.service.served import Served, served
from tests.waiting import awaited
from tocsin.errors import InvalidInput
from tocsin.language.dialects import table
from tocsin.records import parsed_record
from tocsin.service import retention
from tocsin.service.limits import SETTINGS, Limits, TenantLimits, read_limits
from tocsin.service.pricing import UNINDEXED, price, price_beyond
from tocsin.service.quotas import Bucket

LINES = {"Content-Type": "application/x-ndjson"}


def refused(answer: Any, limit: str) -> bool:
    """Whether a limit refused a request, and says when to try again."""
    if answer.status_code != 429:
        return False
    assert answer.json()["limit"] == limit and 1 <= int(answer.headers["retry-after"]) <= 3600
    return True


def test_a_rate_is_kept_and_bursts_are_taken(tmp_path: Path) -> None:
    with served(tmp_path, Limits(events_per_s=0.5, burst=10)) as server:
        statuses = [server.publish({"n": 1}).status_code for _ in range(10)]
        assert statuses == [202] * 10
        over = [server.client.post("/v1/match", json={"n": 1}) for _ in range(10)]  # matching counts, too
        assert any(refused(one, "events_per_s") for one in over)
        time.sleep(2.5)
        assert server.publish({"n": 1}).status_code == 202
        assert 'tocsin_quota_refused_total{limit="events_per_s"}' in server.client.get("/metrics").text


def test_a_bulk_is_taken_whole_and_paid_for_later(tmp_path: Path) -> None:
    with served(tmp_path, Limits(events_per_s=1, burst=10)) as server:
        assert server.lines([{"n": 1}] * 1000).json()["accepted"] == 1000
        answer = server.publish({"n": 1})

        assert refused(answer, "events_per_s") and 900 <= int(answer.headers["retry-after"]) <= 1000


def test_a_bucket_fills_at_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    bucket = Bucket(10, 5)
    taken = 0
    for step in range(1000):
        now[0] = step / 100
        taken += not bucket.take(1)

    assert 10 * 10 <= taken <= 10 * 10 + 5


def test_subscriptions_are_counted_and_can_be_replaced(tmp_path: Path) -> None:
    with served(tmp_path, Limits(subscriptions=3)) as server:
        bulk = [{"id": f"s{number}", "where": "n = 1"} for number in range(4)]
        assert refused(server.lines(bulk, "/v1/subscriptions"), "subscriptions")
        assert server.lines(bulk[:3] * 2, "/v1/subscriptions").json()["accepted"] == 3
        assert refused(server.subscribe("s9", "n = 1"), "subscriptions")
        assert server.subscribe("s1", "n = 2").status_code == 200
        assert server.lines(bulk[:3], "/v1/subscriptions").json()["accepted"] == 3
        assert server.client.delete("/v1/subscriptions/s0").status_code == 204
        assert server.subscribe("s9", "n = 1").status_code == 201


def test_racing_clients_do_not_exceed_the_count(tmp_path: Path) -> None:
    with served(tmp_path, Limits(subscriptions=5)) as server, ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: server.subscribe(f"s{number}", "n = 1"), range(40)))
        assert len(server.service.engine) == 5


@pytest.mark.parametrize(
    ("where", "cost"),
    [
        ("a = 1", 1),
        ("a = 1 AND b < 3", 2),
        ("a LIKE '%x%'", 10),
        ("a LIKE '%x%' OR b LIKE '%y%'", 20),
        ("S_INTERSECTS(place, BBOX(0, 0, 1, 1))", 10),
        ("a IS NULL", 1 + UNINDEXED),
        ("a = 1 OR b IS NULL", 2 + UNINDEXED),
        ("TRUE", UNINDEXED),
        (f"a IN ({', '.join(map(str, range(1000)))})", 1 + 48),
    ],
)
def test_patterns_and_unindexed_conditions_cost_more(where: str, cost: int) -> None:
    assert price(parsed_record({"id": "s", "where": where}, None)) == cost


def test_costly_subscriptions_are_refused_with_their_price(tmp_path: Path) -> None:
    with served(tmp_path, Limits(subscription_cost=50)) as server:
        costly = server.subscribe("s", "a IS NULL")
        assert (costly.status_code, costly.json()["cost"], costly.json()["field"]) == (422, 101, "where")
        assert server.subscribe("s", "a = 1").status_code == 201
        assert server.client.patch("/v1/subscriptions/s", json={"where": "TRUE"}).status_code == 422
        bulk = [{"id": "t", "where": "TRUE"}, {"id": "u", "where": "a = 1"}, {"id": "v", "where": "a ="}]
        report = server.lines(bulk, "/v1/subscriptions").json()
        assert (report["accepted"], [one["row"] for one in report["errors"]]) == (1, [0, 2])


@pytest.mark.parametrize(
    "where",
    [
        "f=1", "a LIKE''", "f LIKE'_' OR g LIKE'_'", "HOUR(t)=1", "AT(x,0)=1", "HOLDS(a=1)", "SOME(x,x=1)",
        "EACH(x,y=1)", "CASEI(CASEI(s))='x'", "a+b*c-d=e", "x=TRUE OR y IS NULL", "ANY_ATTRIBUTE(x=1)",
        "ANY_ATTRIBUTE(x LIKE'_')", "AT_LEAST(2,a=1,b=1,c=1)", "A_EQUALS(x,(1))", "IP_IN(s,'1.1.1.1')",
        "NOT(a=1)", "a BETWEEN 1 AND 2", "NAMED('n',a=1)", "SEMVER(v)='1.0.0'", "LENGTH(x)=1", "NUMBER(x)=1",
        "GIVEN(x)", "DURATION('PT1S')<x", "ANY(x,y=1)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("times", [1, 2, 40])
def test_a_short_text_is_never_costly(where: str, times: int) -> None:
    """Its length alone says that it is within a limit, so that no price is computed."""
    parsed = parsed_record({"id": "s", "where": " OR ".join([where] * times)}, None)
    cost = price(parsed)

    assert price_beyond(parsed, cost - 1) == cost and price_beyond(parsed, cost) is None


def test_rules_of_a_bulk_are_parsed_once(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their prices are those of what was parsed to be stored. A costly one is refused, and the others are stored."""
    read = list[str]()

    def counting(rule: Any, *rest: Any) -> Any:
        read.append(rule)
        return read_rule(rule, *rest)

    read_rule = table.read_rule
    monkeypatch.setattr(table, "read_rule", counting)
    server.server.tenants.limit(TenantLimits(Limits(subscription_cost=300)))
    wheres = [{"a": [1]}, {"a": [{"wildcard": "*x*"}] * 40}, {"a": [2]}]
    bulk = [
        {"id": f"s{row}", "where": where, "language": "eventbridge", "payload": row} for row, where in enumerate(wheres)
    ]
    report = server.lines(bulk, "/v1/subscriptions").json()

    assert (report["accepted"], [(one["row"], one["id"]) for one in report["errors"]]) == (2, [(1, "s1")])
    assert "the condition costs" in report["errors"][0]["reason"]
    assert len(read) == 3


def test_the_memory_of_windows_is_limited(tmp_path: Path) -> None:
    """A subscription is priced by its k before it is made: of a million messages it takes 12 MB."""
    with served(tmp_path, Limits(window_bytes=40 << 20)) as server:
        for name in ("w", "x"):
            server.client.put(f"/v1/windows/{name}", json={"size": 1_000_000, "bounds": [0, 0, 9, 9]})
        large = [{"id": f"u{n}", "words": ["a"], "location": [1, 1], "k": 900_000} for n in range(30)]
        small = [one | {"k": 10} for one in large[10:]]
        never = server.lines(large, "/v1/windows/w/subscriptions")
        assert (never.status_code, never.json()["limit"]) == (422, "window_mb") and "360 MB" in never.json()["detail"]
        assert server.lines(large[:2], "/v1/windows/w/subscriptions").json()["accepted"] == 2
        assert refused(server.lines(large[2:4], "/v1/windows/x/subscriptions"), "window_mb")  # all windows count
        assert server.lines(small, "/v1/windows/x/subscriptions").json()["accepted"] == 20
        assert server.client.delete("/v1/windows/w/subscriptions/u0").status_code == 204
        assert server.lines(large[4:5], "/v1/windows/w/subscriptions").json()["accepted"] == 1  # in the place of u0
        assert server.lines(large[1:2], "/v1/windows/w/subscriptions").json()["accepted"] == 1  # it is there


def test_the_memory_of_messages_is_limited(tmp_path: Path) -> None:
    with served(tmp_path, Limits(window_bytes=4 << 20)) as server:
        server.client.put("/v1/windows/w", json={"size": 1_000_000, "bounds": [0, 0, 9, 9]})
        message = {"words": [f"word{n}" for n in range(50_000)], "location": [1, 1]}
        answers = (server.client.post("/v1/windows/w/messages", json=message) for _ in range(100))
        assert refused(next(one for one in answers if one.status_code != 202), "window_mb")
        assert server.client.delete("/v1/windows/w").status_code == 204
        server.client.put("/v1/windows/w", json={"size": 2, "bounds": [0, 0, 9, 9]})
        assert server.client.post("/v1/windows/w/messages", json=message).status_code == 202


def test_every_limit_is_finite() -> None:
    """Except that of a burst, which is ten seconds of the rate."""
    assert [name for name, value in Limits()._asdict().items() if math.isinf(value)] == ["burst"]


def test_streams_are_counted(tmp_path: Path) -> None:
    with served(tmp_path, Limits(streams=1)) as server:
        server.destination()
        with server.client.stream("GET", "/v1/destinations/d/stream") as response:
            lines = response.iter_lines()
            next(lines)
            assert refused(server.client.get("/v1/destinations/d/stream"), "streams")
            assert refused(server.client.get("/v1/destinations/d/deliveries", params={"wait": 5}), "streams")
            assert server.client.get("/v1/destinations/d/deliveries").status_code == 200


def test_a_full_store_takes_nothing_until_something_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_PERIOD_S", 0.05)
    with served(tmp_path, Limits(store_bytes=400_000)) as server:
        answers = (server.publish({"text": "x" * 20_000}) for _ in range(10_000))
        assert refused(next(answer for answer in answers if answer.status_code != 202), "store_gb")
        assert refused(server.subscribe("s", "n = 1"), "store_gb")
        assert refused(server.lines([{"id": "s", "where": "n = 1"}], "/v1/subscriptions"), "store_gb")
        assert server.client.post("/v1/match", json={"n": 1}).status_code == 200
        server.service.limits = server.service.limits._replace(retain_bytes=1000)
        awaited(lambda: not refused(server.publish({"n": 1}), "store_gb"))


def test_bodies_have_the_size_of_their_tenant(tmp_path: Path) -> None:
    limits = TenantLimits(Limits(), {"small": Limits(body_bytes=100)})
    with served(tmp_path, options={"limits": limits}) as server:
        body = {"text": "x" * 200}
        small, other = (server.client_of(server.token(tenant=name)) for name in ("small", "other"))
        assert small.post("/v1/events", json=body).status_code == 413
        assert other.post("/v1/events", json=body).status_code == 202


def test_one_tenants_rate_is_its_own(tmp_path: Path) -> None:
    with served(tmp_path, Limits(events_per_s=0.01, burst=2)) as server:
        one, other = (server.client_of(server.token(tenant=name)) for name in ("one", "other"))
        assert [one.post("/v1/events", json={}).status_code for _ in range(4)] == [202, 202, 429, 429]
        assert other.post("/v1/events", json={}).status_code == 202


def test_a_file_has_limits_by_tenant_and_options_replace_its_defaults(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text("[default]\nbody_mb = 2\nstreams = 5\n[tenants.acme]\nbody_mb = 0.5\nevents_per_s = 9\n")
    limits = read_limits(file, {"body_mb": 1.0, "retain_days": 0})

    assert limits.of("other") == Limits(body_bytes=1 << 20, streams=5, retain_s=0)
    assert limits.of("acme") == limits.default._replace(body_bytes=1 << 19, events_per_s=9)
    assert read_limits(None, {}).default == Limits()
    assert {one.field for one in SETTINGS} == set(Limits._fields) - {"answers_s"}


@pytest.mark.parametrize(
    "text",
    [
        "[default]\nbody = 1",
        "[default]\nbody_mb = 0",
        "[default]\nbody_mb = -1",
        "[default]\nbody_mb = inf",
        "[default]\nbody_mb = nan",
        "[default]\nbody_mb = true",
        "[default]\nbody_mb = '1'",
        "[tenants]\nacme = 1",
        "[tenants.'..']\nstreams = 1",
        "[other]\n",
        "streams = 1",
        "[",
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "limits.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput):
        read_limits(file, {})
    with pytest.raises(InvalidInput):
        read_limits(tmp_path / "none.toml", {})


def test_what_every_event_is_tested_with_is_within_the_limits_that_nobody_set(server: Served) -> None:
    body = json.dumps({"id": 1, "where": "TRUE"})
    assert server.client.post("/v1/subscriptions", content=body, headers=LINES).json()["accepted"] == 1
