"""Regions with keywords, and messages: what is made in columns is what texts say, and every figure runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reproduce.__main__ import HERE
from reproduce.changing_messages import ChangingMessages
from reproduce.figure import read_figure
from reproduce.located import Messages, Similars, compile_regions, drawn_subscriptions
from reproduce.messages import GROUPS, UNIFORM, ZIPF
from reproduce.tweets import POIS, TWEETS
from reproduce.workloads import load_of

import tocsin
from tests.index.asking import pairs
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.checks import check_expressions
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import parse_index
from tocsin.index.boolean.scan import Scan
from tocsin.index.spatial_text.regions import Held

FIGURES = sorted((HERE / "location_aware").glob("*.toml"))
FEW = 60


@pytest.mark.parametrize("load", [ZIPF, UNIFORM, TWEETS, POIS], ids=lambda load: load.name)
def test_what_is_compiled_in_columns_is_what_texts_say(load):
    held = load.subscriptions(FEW)
    made, said = compile_regions(held), compile_expressions(map(tocsin.parse, held.table()["where"].to_pylist()))
    check_expressions(made)

    ours, theirs = Held.of(made), Held.of(said)
    assert made.attributes == said.attributes
    assert made.vocabulary.to_list() == said.vocabulary.to_list()
    for name, mine, its in zip(ours.regions._fields, ours.regions, theirs.regions, strict=True):
        assert np.array_equal(mine, its), name
    assert not ours.asks_more.any()


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
@pytest.mark.parametrize("tokens", [0, 15])
def test_messages_are_of_their_group(group, tokens):
    """As many different words as the group says, or the figure; a point or a box; subscriptions of 1 to 5 words."""
    load = load_of(
        {"kind": "messages", "subscriptions": 300, "group": group.name, "tokens": tokens, "events": 20}, set()
    )
    assert isinstance(load, Messages)

    fewest, most = (tokens, tokens) if tokens else (group.fewest, group.most)
    sizes = [len(set(row["words"])) for row in load.rows]
    assert fewest <= min(sizes) <= max(sizes) <= most
    assert {len(row["location"]) for row in load.rows} == {4 if group.is_range else 2}
    assert set(np.diff(Held.of(load.subscriptions).regions.token_starts)) == {1, 2, 3, 4, 5}


def test_words_are_by_zipf_or_uniform():
    """The commonest word has a hundred times as many subscriptions as the average has, or no word stands out."""
    shares = {}
    for load in (ZIPF, UNIFORM):
        counts = Held.of(compile_regions(load.subscriptions(3000))).counts
        shares[load.name] = counts.max() / np.mean(counts)

    assert shares["zipf"] > 100
    assert shares["uniform"] < 6


def test_more_are_alike_the_lower_the_threshold():
    """`Similar` is asked for: whoever reaches 0.9 is among those that reach 0.3, and scan finds the same."""
    given = {"kind": "similar_messages", "subscriptions": 2000, "group": "long range", "alpha": 0.5, "events": 8}
    found = {}
    for threshold in (0.3, 0.9):
        load = load_of({**given, "threshold": threshold}, set())
        assert isinstance(load, Similars)
        answers = [
            set(pairs(load.ask(load.build(*parse_index(name)), load.events)())) for name in ("scan", "token_grid")
        ]
        assert answers[0] == answers[1]
        found[threshold] = answers[0]

    assert found[0.9] < found[0.3]


@pytest.mark.parametrize("in_place", [True, False])
def test_a_tenth_comes_and_a_tenth_goes(in_place):
    """After so many operations who came first has gone, who is there is found, asked again or not."""
    given = {"kind": "changing_messages", "subscriptions": 200, "group": "long range", "events": 40}
    load = load_of({**given, "in_place": in_place}, set())
    assert isinstance(load, ChangingMessages)
    window = load.build(*parse_index("rt_plus_plus_tree"))
    ask = load.ask(window, load.events)
    for _ in range(20):
        ask()

    assert (window.first, window.size) == (80, 200)
    there = {number % window.ring for number in range(80, 280)}
    held = drawn_subscriptions("tweets", window.ring, 1)
    own = zip(held.regions.tolist(), held.keywords.to_pylist(), strict=True)
    asked = replace(load, rows=[{"location": region, "words": words} for region, words in own])
    batch = asked.batch(Wanted(load.subscriptions.attributes), asked.events)
    found = pairs(window.held.match(batch)) if in_place else matches(window.held, asked.rows)
    everything = pairs(Scan.build(load.subscriptions).match(batch))
    assert {(number, number) for number in there} <= set(everything)
    assert found == [pair for pair in everything if pair[1] in there]


def matches(held, rows) -> list[tuple[int, int]]:
    """Pairs of messages and those in an engine that are found."""
    return [(i, match.subscription) for i, row in enumerate(rows) for match in held._engine.match(row)]


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_every_figure_runs(path: Path) -> None:
    """Each series is built and asked at the first point of each panel."""
    figure = read_figure(path)
    for panel in figure.panels:
        for series in panel.series:
            load = load_of({**panel.at(panel.values[0], 0.00001, figure.scaled), "events": 4}, set())
            index = load.build(*parse_index(series.index))
            load.ask(index, load.events)()
            assert panel.measure != "memory" or load.nbytes(index) > 0, (panel.name, series.name)
