"""Statistics are counted on events, and the planner says where its own come from."""

from __future__ import annotations

import pytest

import tocsin
from tocsin.planner import choose


def test_shares_are_those_of_the_events() -> None:
    """The share of events that have each attribute, absent and null ones apart."""
    statistics = tocsin.sample([{"a": 1, "b": {"c": 2}}, {"a": None, "b": {"c": 3}}, {"d": "x"}, {}])

    assert statistics.shares == {"a": 0.25, "b.c": 0.5, "d": 0.25}
    assert statistics.source == "sampled from 4 events"


def test_only_so_many_events_are_looked_at() -> None:
    """`limit` bounds the work, in every form."""
    events = [{"a": 1}] * 50 + [{"b": 1}] * 50

    assert tocsin.sample(events, limit=50).shares == {"a": 1.0}
    assert tocsin.sample(b'{"a": 1}\n' * 20, limit=5).source == "sampled from 5 events"


@pytest.mark.parametrize("limit", [0, -1, 1.5, True])
def test_a_limit_is_a_count(limit: object) -> None:
    """The message says what came."""
    with pytest.raises(tocsin.InvalidInput, match=f"limit is {limit!r}"):
        tocsin.sample([{"a": 1}], limit=limit)  # type: ignore[arg-type]


def test_nothing_cannot_be_counted() -> None:
    """Without events there are no shares."""
    with pytest.raises(tocsin.InvalidInput, match="no event"):
        tocsin.sample([])


def test_an_engine_goes_by_the_statistics_that_it_is_given() -> None:
    """The rare attribute is the key: an event without it examines nothing."""
    engine = tocsin.Engine(statistics=tocsin.sample([{"often": 1}] * 99 + [{"often": 1, "rare": 1}]))
    engine.subscribe_many([{"id": n, "where": f"often = {n % 3} AND rare = {n % 2}"} for n in range(100)])

    answer = engine.match_batch([{"often": 1}])

    assert answer.stats.candidates_examined == 0
    assert "sampled from 100 events" in engine.stats.plan.reason
    assert "estimated" in choose().reason
