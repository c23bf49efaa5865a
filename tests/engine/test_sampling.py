"""Statistics are counted on events, and the planner says where its own come from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tocsin.index import choose


def test_shares_are_those_of_the_events() -> None:
    """The share of events that have each attribute, absent and null ones apart."""
    statistics = tocsin.sample([{"a": 1, "b": {"c": 2}}, {"a": None, "b": {"c": 3}}, {"d": "x"}, {}])

    assert statistics.shares == {"a": 0.25, "b": 0.5, "b.c": 0.5, "d": 0.25}
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


@pytest.mark.parametrize("given", [{"a": 1.0}, 0.5, "events.jsonl"])
def test_statistics_are_what_was_counted(given: object) -> None:
    """Shares in a dict, or a file of events, are refused when the engine is made, not at its first merge."""
    with pytest.raises(tocsin.InvalidInput, match=r"statistics is .*; give tocsin\.Statistics"):
        tocsin.Engine(statistics=given)  # type: ignore[arg-type]


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


VALUES = [
    {"other": -1, "n": k % 100, "s": "often" if k % 50 else "Rare", "tags": ["all", f"t{k % 20}"]} for k in range(1000)
]


@pytest.mark.parametrize(
    ("where", "event"),
    [
        # Every event has every attribute; the subscriptions ask for the common value of one and the rare of another.
        ("n < 90 AND s = 'Rare'", {"n": 1, "s": "often"}),
        ("n >= 95 AND s = 'often'", {"n": 1, "s": "often"}),
        ("n >= 0 AND CASEI(s) = CASEI('RARE')", {"n": 1, "s": "often"}),
        ("A_CONTAINS(tags, ('all', 't7'))", {"tags": ["all", "t1"]}),
        ("(n IN (1, 2) OR n = 3) AND (s = 'often' OR s = 'x')", {"n": 50, "s": "often"}),
    ],
)
def test_sampled_values_make_the_rare_one_the_key(where: str, event: dict[str, object]) -> None:
    """Shares of attributes alone cannot tell the keys apart; those of the values do."""
    engine = tocsin.Engine(statistics=tocsin.sample(VALUES))
    engine.subscribe_many([{"id": n, "where": f"{where} AND other <> {n}"} for n in range(300)])

    answer = engine.match_batch([{**event, "other": -1}])

    assert answer.stats.candidates_examined == 0


def test_values_are_kept_by_kind() -> None:
    """Numbers, strings, truth values and instants apart, and those in lists from those that are not."""
    known = tocsin.sample([{"a": 1.5}, {"a": "x"}, {"a": True}, {"a": [2, "x", "x"]}, {"a": None}]).values["a"]

    assert known.events == 4
    assert {kind: len(payloads) for kind, payloads in known.payloads.items()} == {0: 1, 2: 1, 8: 1}
    assert {kind: list(texts) for kind, texts in known.texts.items()} == {1: ["x"], 9: ["x"]}


@given(
    expressions=st.lists(own.expressions(max_depth=4), min_size=1, max_size=8),
    seen=st.lists(own.python_events(), min_size=1, max_size=8),
    events=st.lists(own.python_events(), min_size=1, max_size=8),
)
def test_statistics_change_no_answer(expressions, seen, events) -> None:
    """Whatever was sampled, of whatever types: the matches are those of `scan`."""
    subscriptions = [{"id": n, "where": tocsin.to_json(tree)} for n, tree in enumerate(expressions)]
    engine = tocsin.Engine(statistics=tocsin.sample(seen))
    engine.subscribe_many(subscriptions, strict=True)

    assert engine.match_batch(events).table == tocsin.match(subscriptions, events, index="scan").table


def test_a_place_in_two_columns_is_counted_as_one() -> None:
    """Where events lie on the map is known, too."""
    events = [{"lon": n / 10, "lat": 5.0} for n in range(100)] + [{"lon": 1.0}]

    found = tocsin.sample(events, points={"at": ("lon", "lat")})

    assert found.shares["at"] == pytest.approx(100 / 101)
    assert found.shares["at"] == pytest.approx(tocsin.sample([{"at": [n, 5]} for n in range(100)] + [{}]).shares["at"])
    engine = tocsin.Engine(statistics=found)
    engine.subscribe("a", "S_INTERSECTS(at, BBOX(0, 0, 3, 9))")
    assert len(engine.match_batch(events, points={"at": ("lon", "lat")})) == 31
    with pytest.raises(tocsin.InvalidInput, match="points is 5; it maps names"):
        tocsin.sample(events, points=5)  # type: ignore[arg-type]
