"""What failed as a whole does not look like an answer; what failed in part is told where people look."""

from __future__ import annotations

from typing import Any

import pytest

import tocsin
from tests.engine.samples import pairs

GOOD = [{"id": "a", "where": "price > 3"}]


@pytest.mark.parametrize(
    ("subscriptions", "reason"),
    [
        ([{"id": "a", "query": "price > 3"}], "where"),
        ([{"id": "a", "where": "price >"}, {"where": "a = 1"}], "subscription 0"),
        (b'{"id": "a", "where": "price >"}\n', "subscription 0"),
    ],
)
def test_no_subscription_could_be_read(subscriptions: Any, reason: str) -> None:
    with pytest.raises(tocsin.RecordError, match=rf"no subscription could be read; .*{reason}"):
        tocsin.match(subscriptions, [{"price": 5}])


@pytest.mark.parametrize("events", [["a", 5], b"{bad\n", b"[1]\n[2]\n"])
def test_no_event_could_be_read(events: Any) -> None:
    with pytest.raises(tocsin.RecordError, match="no event could be read; event 0: "):
        tocsin.match(GOOD, events)


def test_one_good_record_is_enough() -> None:
    answer = tocsin.match([*GOOD, {"id": "b"}], [{"price": 5}, "bad"])

    assert answer.table.to_pylist() == [{"event": 0, "subscription": "a"}]
    assert repr(answer).startswith("Answer(1 matches of 2 events and 1 subscriptions, 2 errors (row 1: ")
    assert "no errors" in repr(tocsin.match(GOOD, [{"price": 5}]))


def test_nothing_given_is_no_failure() -> None:
    assert len(tocsin.match([], [])) == len(tocsin.match(GOOD, b"")) == 0


def test_a_service_may_be_sent_one_bad_record() -> None:
    """An engine's calls say what was wrong, and go on."""
    with tocsin.Engine() as engine:
        report = engine.subscribe_many([{"id": "a", "where": "price >"}])
        assert (report.accepted, len(report.errors)) == (0, 1)
        assert repr(report).startswith("Report(0 accepted, 1 error (row 0: ")
        assert repr(engine.subscribe_many(GOOD)) == "Report(1 accepted, no errors)"
        answer = engine.match_batch(["bad"], lists=True)
    assert answer.table["subscription"].to_pylist() == [None]


def test_a_merge_that_fails_leaves_everything_as_it_was(monkeypatch):
    """The sources go on answering and changing, nothing is noted for a merge that never ends; the next one works."""
    engine = tocsin.Engine()
    for number in range(5):
        engine.subscribe(number, f"n >= {number}")

    def fails(*_):
        raise MemoryError("no room")

    with monkeypatch.context() as patched:
        patched.setattr("tocsin.engine.merging.merged", fails)
        with pytest.raises(MemoryError):
            engine.merge()
    engine.unsubscribe(1)
    engine.rescore(2, 7)

    assert engine._store._journal is None
    assert pairs(engine.match({"n": 3})) == [(0, 1.0), (2, 7.0), (3, 1.0)]
    engine.merge()
    assert pairs(engine.match({"n": 3})) == [(0, 1.0), (2, 7.0), (3, 1.0)]
    assert len(engine.stats.segments) == 1
