"""What a condition would do: checked, explained, and run over the events that are kept."""

from __future__ import annotations

from typing import Any

import pytest

import tocsin
from tests.service.served import Served


def asked(server: Served, path: str, document: Any, status: int = 200) -> Any:
    answer = server.client.post(f"/v1/{path}", json=document)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_condition_is_checked_while_it_is_typed(server: Served) -> None:
    found = asked(server, "check", {"where": "price <= 5 and \"a b\" = 'x'"})
    assert found == {
        "valid": True,
        "text": "price <= 5 AND \"a b\" = 'x'",
        "attributes": ["a b", "price"],
        "warnings": [],
    }
    found = asked(server, "check", {"where": "n = 1 AND\nn <= AND 3"})
    assert not found["valid"]
    assert (found["problem"]["line"], found["problem"]["column"]) == (2, 6)
    (warning,) = asked(server, "check", {"where": "price > 5 AND price < 3"})["warnings"] or [None]
    assert warning is None or "price" in warning["condition"]
    assert asked(server, "check", {"where": {"op": "<", "args": [{"property": "n"}, 2]}})["text"] == "n < 2"
    assert asked(server, "check", {"where": True})["valid"]
    for wrong in ({}, {"where": 5}, {"where": "n = 1", "other": 1}):
        asked(server, "check", wrong, 422)


@pytest.mark.parametrize("event", [{"n": 2, "s": "x"}, {"n": 5}, {"s": None}])
def test_explanations_are_those_of_the_engine(server: Served, event: dict[str, Any]) -> None:
    where = "n <= 3 AND (s = 'x' OR s IS NULL)"
    server.subscribe("a b", where)
    expected = tocsin.explain(where, event)
    for document in ({"where": where}, {"id": "a b"}):
        found = asked(server, "explain", {**document, "event": event})
        assert (found["matches"], found["truth"]) == (expected.matched, expected.truth)
        assert [one["condition"] for one in found["holds"]] == [one.predicate for one in expected.held]
        assert found["text"].startswith(str(expected))
    asked(server, "explain", {"id": "none", "event": event}, 404)
    asked(server, "explain", {"id": "a b", "where": where, "event": event}, 422)
    asked(server, "explain", {"id": "a b"}, 422)


def test_a_dry_run_counts_what_a_subscription_would_have_matched(server: Served) -> None:
    events = [{"n": number, "s": "ü\n"} for number in range(30)]
    assert asked(server, "dry-run", {"where": "n < 9"})["events"] == 0
    server.lines(events[:20])
    for event in events[20:]:
        server.publish(event)
    expected = len(tocsin.match([{"id": "a", "where": "n % 7 < 2"}], events).table)
    found = asked(server, "dry-run", {"where": "n % 7 < 2"})
    assert (found["events"], found["matches"], found["whole"]) == (30, expected, True)
    assert sum(found["histogram"]["counts"]) == expected
    assert [one["sequence"] for one in found["examples"]] == sorted(
        (n + 1 for n in range(30) if n % 7 < 2), reverse=True
    )
    assert found["examples"][0]["event"] == {"n": 29, "s": "ü\n"}
    part = asked(server, "dry-run", {"where": "n >= 0", "limit": 7})
    assert (part["events"], part["matches"], part["whole"]) == (7, 7, False)
    assert part["examples"][0]["sequence"] == 30
    for wrong in ({}, {"where": "n <"}, {"where": "n = 1", "limit": 0}, {"where": "n = 1", "since_s": "x"}):
        asked(server, "dry-run", wrong, 422)


def test_rules_of_other_systems(server: Served) -> None:
    """A rule is checked, explained, tried, stored and given back in its own language."""
    rule = {"detail": {"state": ["running"]}}
    event = {"detail": {"state": "running"}}
    named = {"where": rule, "language": "eventbridge"}
    assert asked(server, "check", named)["text"] == "SOME(detail.state, SOME(element, element = 'running'))"
    wrong = asked(server, "check", {"where": {"a": "x"}, "language": "eventbridge"})
    assert wrong["problem"]["detail"].startswith("at a: ")
    assert asked(server, "explain", {**named, "event": event})["holds"][0]["condition"] == 'detail.state: ["running"]'
    server.publish(event)
    assert asked(server, "dry-run", named)["matches"] == 1
    assert server.client.put("/v1/subscriptions/e", json=named).status_code == 201
    kept = server.client.get("/v1/subscriptions/e").json()
    assert (kept["where"], kept["language"]) == (rule, "eventbridge")
    assert server.client.patch("/v1/subscriptions/e", json={"score": 2}).status_code == 200
    assert server.client.get("/v1/subscriptions/e").json()["language"] == "eventbridge"
    answer = server.client.put("/v1/subscriptions/f", json={"where": {"a": "x"}, "language": "eventbridge"})
    assert (answer.status_code, answer.json()["field"]) == (422, "where")
    answer = server.client.put("/v1/subscriptions/f", json={"where": rule, "language": "klingon"})
    assert (answer.status_code, answer.json()["field"]) == (422, "language")


def test_events_are_asked_about_their_own_moment(server: Served) -> None:
    """A match, a delivery and a dry run have the moment that is stored with the event as the present."""
    server.destination("d")
    server.subscribe("soon", "due < NOW() + 3600", destination="d")
    server.publish({"due": "1999-01-01"})
    server.publish({"due": "2999-01-01"})
    assert [one["event"] for one in server.pulled("d")] == [{"due": "1999-01-01"}]
    found = asked(server, "dry-run", {"where": "due < NOW()"})
    assert (found["matches"], found["events"]) == (1, 2)
    published = found["examples"][0]["published"]
    asked_at = asked(server, "dry-run", {"where": f"NOW() = TIMESTAMP('{published}')"})
    assert {one["published"] for one in asked_at["examples"]} == {published}
