"""Matches with explanations have the room that all matches have, and large answers are matched once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.service.served import Served
from tests.waiting import awaited
from tocsin.service import matching
from tocsin.service.calls import matching as match_calls

COUNT = 53


@pytest.fixture
def loaded(server: Served) -> Served:
    """With subscriptions that all match an event, some of them with long conditions."""
    for number in range(COUNT):
        where = "n >= 0" + " AND n >= 0" * number
        assert server.subscribe(f"s{number:02}", where, payload={"text": "p" * 100}).is_success
    return server


def explained(server: Served) -> tuple[list[dict[str, Any]], list[int]]:
    """All matches of an event with their explanations, and how many bytes each answer has."""
    matches, sizes, after = list[dict[str, Any]](), list[int](), None
    while not sizes or after is not None:
        params = {"explain": "true"} | ({} if after is None else {"after": after})
        answer = server.client.post("/v1/match", json={"n": 1}, params=params)
        assert answer.status_code == 200, answer.text
        matches += answer.json()["matches"]
        sizes.append(len(answer.content))
        after = answer.json().get("next")
    return matches, sizes


def test_explanations_come_in_parts(loaded: Served) -> None:
    matches, sizes = explained(loaded)

    assert [match["id"] for match in matches] == [f"s{number:02}" for number in range(COUNT)]
    assert len(sizes) == 3
    assert all(match["payload"] == {"text": "p" * 100} and match["score"] == 1 for match in matches)
    assert [len(match["holds"]) for match in matches] == [*range(1, COUNT + 1)]


@pytest.mark.parametrize("bound", [{"MOST_BYTES": 4000}, {"_EXPLAINING_S": 0.0}])
def test_explanations_end_when_room_or_time_is_spent(
    loaded: Served, monkeypatch: pytest.MonkeyPatch, bound: dict[str, Any]
) -> None:
    """Together the parts are complete."""
    for name, value in bound.items():
        monkeypatch.setattr(match_calls, name, value)
    matches, sizes = explained(loaded)

    assert [match["id"] for match in matches] == [f"s{number:02}" for number in range(COUNT)]
    if "MOST_BYTES" in bound:
        assert len(sizes) > 5 and max(sizes) < 3 * 4000
    else:
        assert len(sizes) == COUNT


def test_a_large_answer_is_matched_once(loaded: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is room for it at once; it gives the room back. If not, it waits for room without its matches."""
    monkeypatch.setattr(matching, "SMALL", 1000)
    calls = list[str]()

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any, **options: Any) -> Any:
            calls.append(name)
            return call(*arguments, **options)

        return counting

    for module in (matching, match_calls):
        monkeypatch.setattr(module, "hits_of", counted(module.__name__.split(".")[-2], module.hits_of))

    ids = [f"s{number:02}" for number in range(COUNT)]
    room = loaded.service.answer_room
    assert [match["id"] for match in loaded.client.post("/v1/match", json={"n": 1}).json()["matches"]] == ids
    assert calls == ["service"]
    awaited(lambda: room._held == 0)

    calls.clear()
    fits = iter([False])
    monkeypatch.setattr(room, "takes", lambda size: next(fits, True) and type(room).takes(room, size))
    assert [match["id"] for match in loaded.client.post("/v1/match", json={"n": 1}).json()["matches"]] == ids
    assert calls == ["service", "calls"]
    awaited(lambda: room._held == 0)
