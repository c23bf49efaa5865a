"""Relaxed rankings by a look at everything: tiles that are full and not, and lists where fields are rare."""

from __future__ import annotations

import random

import pytest

from tests.index.relaxed.test_work import (
    Event,
    Sub,
    all_rankings,
    ask,
    check,
    exact,
    of_every_kind,
    one_of_few,
    points,
    ranges,
    relaxed_of,
    rows,
)
from tests.sizes import sized
from tocsin import Relaxed
from tocsin.index.relaxed.kernels.tiles import MOST_EVENTS, TILE


@pytest.mark.parametrize("count", [MOST_EVENTS - 1, MOST_EVENTS, MOST_EVENTS + 1, 200])
def test_more_events_than_pass_by_a_tile_together(count: int) -> None:
    """Of those left to the tiles; others, between them, are answered by cursors; and the order is that of the batch."""
    dice = random.Random(count)
    subscriptions = of_every_kind(dice, 300) + ranges(dice, sized(300, 1700), one_of_few, most=5, width=0.7)
    left = points(dice, count)
    events = [one for event in left for one in ({"a": event["a"]}, event, {}, {"unasked": 1})]

    found = check(subscriptions, events, all_rankings(6), by_oracle=3)
    many = ask(relaxed_of(subscriptions, "sopt_r_tree"), left, Relaxed(6))
    assert many.verified >= count * len(subscriptions)
    assert len(found["scan"]) and len(found["scan"].starts) == 4 * count + 1


@pytest.mark.parametrize("count", [1, TILE - 1, TILE, TILE + 1, 2 * TILE, 2 * TILE + 1])
def test_tiles_that_are_full_and_not(count: int) -> None:
    """A subscription more or less than a tile has."""
    dice = random.Random(count)
    subscriptions = ranges(dice, count, one_of_few, most=5, width=0.8)

    check(subscriptions, points(dice, 5), all_rankings(1, 2, count, count + 1))


def test_lists_of_several_tiles() -> None:
    """More subscriptions than lists number at once, few of which an event concerns, and most."""
    dice, names = random.Random(5), [f"f{i}" for i in range(40)]
    texts = [f"{dice.choice(names)} >= {dice.randint(0, 9)} AND often < {dice.randint(0, 9)}" for _ in range(70_000)]
    held: list[Sub] = [(text, {"often": 0.5}) for text in texts]
    events: list[Event] = [{name: 5} for name in names[:20]] + [{"often": 3, "f1": 9}, {"often": 9}, {"f2": 0}]
    by_lists, by_tiles = (relaxed_of(held, "scan", room=room) for room in (0, 10**6))

    for ranking in all_rankings(3, 1000):
        found = ask(by_lists, events, ranking)
        assert rows(found) == rows(ask(by_tiles, events, ranking))
    assert max(found.subscriptions) > 66_000


def test_columns_that_would_be_mostly_empty() -> None:
    """Thousands of attributes of few subscriptions each: these are in lists."""
    dice = random.Random(11)
    subscriptions = [
        (f"p{n % 1500} BETWEEN 1 AND 3 AND q{n % 7} >= {n % 5} AND r{n * 7 % 900} = 2", {f"q{n % 7}": exact(dice)})
        for n in range(4000)
    ]
    events = [{f"{one}{dice.randrange(900)}": 2 for one in "ppprrr"} | {f"q{n % 7}": n} for n in range(12)]

    check(subscriptions, events, all_rankings(1, 30), by_oracle=1)
