"""Generated correlations of Sigma: what they become holds where a naive reading says so, and where SQLite does."""

from __future__ import annotations

from contextlib import closing
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.language.dialects.sigma_correlation_rules import COLUMNS, KINDS, RANKED, documents, stream
from tests.language.over_time_conditions import holding
from tests.naive.sigma_correlations import Event, hits
from tocsin.language import parse, to_text
from tocsin.language.dialects import read_rule

pytest.importorskip("sigma", reason="pySigma reads the rules; pip install 'tocsin[sigma]'")
sqlite = pytest.importorskip("tests.naive.sigma_in_sqlite", reason="SQLite's backend; pip install 'tocsin[dev]'")


def ours(rules: list[dict[str, Any]], events: list[Event]) -> set[int]:
    """The events at which a correlation holds, by the text that it becomes."""
    whole = {**rules[0], "rules": rules[1:]}
    return holding(parse(to_text(read_rule(whole, "sigma").tree)), events)


@pytest.mark.parametrize("kinds", [KINDS, RANKED], ids=["kinds", "ranked"])
@given(st.randoms(use_true_random=True))
def test_correlations_agree_with_the_naive_reading(kinds: tuple[str, ...], random: Random) -> None:
    """Also nested ones, events at the same second, and events without a value."""
    events = stream(random)

    for rules in [documents(random, kinds) for _ in range(3)]:
        assert ours(rules, events) == hits(rules[0], rules, events), rules[0]


@given(st.randoms(use_true_random=True))
def test_a_monitor_finds_what_the_naive_reading_finds(random: Random) -> None:
    """The rules as a user subscribes them, and the events in one batch."""
    events, rules = stream(random), documents(random, KINDS)
    engine = tocsin.Engine()
    engine.subscribe("rule", {**rules[0], "rules": rules[1:]}, language="sigma")
    monitor = tocsin.Monitor(engine, key="nobody", time="second", matches=True)
    records = [{**event.values, "second": event.time, "nobody": number} for number, event in enumerate(events)]

    assert {row["event"] for row in monitor.push_batch(records)} == hits(rules[0], rules, events), rules[0]


@given(st.randoms(use_true_random=True))
def test_correlations_agree_with_sqlite(random: Random) -> None:
    """Where each event has a second of its own. SQLite repeats an order at later events, which are left out here."""
    rules, events = documents(random, nested=False), stream(random, least_pause=1)
    names = rules[0]["correlation"]["group-by"]
    places = {(tuple(map(event.values.get, names)), event.time): number for number, event in enumerate(events)}

    with closing(sqlite.Table([event.values for event in events], COLUMNS)) as table:
        found = {places[place] for place in table.correlated([rules[0], *rules[2:]], "second")}
    if rules[0]["correlation"]["type"] == "temporal_ordered":
        last = next(one for one in rules if one.get("name") == rules[0]["correlation"]["rules"][-1])
        found &= hits(last, rules, events)

    assert ours(rules, events) == found, rules[0]
