"""Structures over one stream: the same changes, from ever fewer candidates the more rules are on."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tocsin
from tocsin.papers.skype.skype import OPTIONS

SUBSCRIPTIONS = 600
MESSAGES = 1500
SIZE = 300
SMALL = "late=10, first=50"
TREE = f"{SMALL}, leaf=40, groups=3"
SWITCHES = ("prefix", "bounds", "unseen", "group", "early", "cell")


@cache
def stream() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Subscriptions and messages around a few places, with words by Zipf's law."""
    rng = np.random.default_rng(5)
    centres = rng.random((5, 2))
    words = [f"w{n}" for n in range(60)]
    shares = 1.0 / np.arange(1, 61)

    def record(most: int) -> dict[str, Any]:
        place = np.clip(centres[rng.integers(5)] + rng.normal(0, 0.03, 2), 0, 1)
        own = rng.choice(words, rng.integers(1, most), replace=False, p=shares / shares.sum())
        return {"words": own.tolist(), "location": place.tolist()}

    subscriptions = [
        {"id": n, "k": int(rng.integers(1, 5)), "alpha": float(rng.random() * 0.99), **record(9)}
        for n in range(SUBSCRIPTIONS)
    ]
    return subscriptions, [record(7) for _ in range(MESSAGES)]


@cache
def pushed(index: str) -> tuple[Any, tocsin.WindowStats]:
    """The changes over a structure, and what they cost."""
    subscriptions, messages = stream()
    window = tocsin.Window(SIZE, bounds=(0, 0, 1, 1), index=index)
    window.subscribe_many(subscriptions)
    answer = window.push_batch(messages[:600])
    for name in range(0, SUBSCRIPTIONS, 3):
        window.unsubscribe(name)
    window.subscribe_many(subscriptions[::3])
    answers = [answer, window.push_batch(messages[600:])]
    return [row for one in answers for row in one], window.stats


@pytest.mark.parametrize(
    "index",
    [
        f"blocks({SMALL})",
        f"skype({TREE})",
        "skype(leaf=1, late=0, first=1, groups=1)",
        *(f"skype({TREE}, {name}=0)" for name in SWITCHES),
        f"skype({TREE}, prefix=1)",
        *(f"ciq({SMALL}, depth={depth})" for depth in (0, 1, 4)),
        *(f"k_max({SMALL}, times={times})" for times in (1, 2)),
        *(f"k_skyband({SMALL}, modelled={modelled})" for modelled in (0, 1)),
    ],
)
def test_every_structure_tells_the_same_changes(index: str) -> None:
    """Whatever rules are on, among hundreds of subscriptions, with more words than a record holds."""
    assert pushed(index)[0] == pushed("inverted_file")[0]


def test_every_rule_leaves_somebody_out() -> None:
    """Without a rule no fewer candidates are examined; without all of them, more than without any one."""
    everything = pushed(f"skype({TREE})")[1].candidates_examined
    without = {name: pushed(f"skype({TREE}, {name}=0)")[1].candidates_examined for name in SWITCHES}
    nothing = ", ".join(f"{name}=0" for name in SWITCHES)

    assert all(count >= everything for count in without.values())
    assert without["unseen"] > everything
    unseen_off = [pushed(f"skype({TREE}, unseen=0, prefix={prefix})")[1].candidates_examined for prefix in (2, 1, 0)]
    assert unseen_off[0] < unseen_off[1] < unseen_off[2], "at the first word the bound of unseen keywords is tighter"
    assert pushed(f"skype({TREE}, {nothing})")[1].candidates_examined > max(without.values())
    assert everything < 0.5 * pushed("inverted_file")[1].candidates_examined


def test_blocks_leave_most_out() -> None:
    """Most of those who share a word are seen to be out of reach by bytes alone."""
    examined = pushed(f"blocks({SMALL})")[1].candidates_examined

    assert examined < 0.4 * pushed("inverted_file")[1].candidates_examined


def test_more_cells_leave_more_out() -> None:
    """The nearer a cell is, the better is its bound; without cells there are the words alone."""
    examined = [pushed(f"ciq({SMALL}, depth={depth})")[1].candidates_examined for depth in (0, 1, 4)]

    assert examined[2] < examined[1] < examined[0] < pushed("inverted_file")[1].candidates_examined


def test_a_larger_buffer_is_searched_for_less_often() -> None:
    """Each rank that the threshold lies below the k-th best saves searches; answers stay the same."""
    searches = [pushed(f"inverted_file(slack={slack})")[1].reevaluations for slack in (1, 2, 3)]

    assert searches[0] > searches[1] > searches[2]
    assert pushed("inverted_file(slack=1)")[0] == pushed("inverted_file(slack=3)")[0]


def test_a_policy_buffers_as_much_whatever_finds_the_subscriptions() -> None:
    """The names `k_max` and `k_skyband` are `blocks` with a policy."""
    for policy, name in (("k_max", "k_max"), ("skyband", "k_skyband(modelled=0)"), ("cost_skyband", "k_skyband")):
        stats = [
            pushed(index)[1]
            for index in (name, *(f"{one}(policy={policy})" for one in ("blocks", "skype", "ciq", "inverted_file")))
        ]
        assert len({one.reevaluations for one in stats}) == 1


@pytest.mark.parametrize(
    ("index", "told"),
    [
        ("skype(leaf=-1)", "leaf is a number from 0 on, groups from 1 on"),
        ("skype(prefix=3)", "prefix is 0 to 2"),
        ("ciq(depth=9)", "depth=9: depth is a number from 0 to 8"),
        ("blocks(first=0)", "first=0: late is a number from 0 on, first one from 1 on"),
        ("blocks(slack=0)", "slack=0: slack is a number from 1 to 16"),
        ("k_max(times=17)", "times=17: times is a number from 1 to 16"),
        ("k_skyband(modelled=2)", "modelled=2: modelled is 0 or 1"),
        ("skype(policy=skyband, slack=2)", "slack is not an option of policy=skyband; its options are: none"),
        ("ciq(policy=k_max, slack=2)", "slack is not an option of policy=k_max; its options are: times"),
        ("blocks(times=2)", "times is not an option of policy=fifo; its options are: slack"),
        ("skype(policy=kmax)", "policy=fifo or k_max or skyband or cost_skyband"),
        ("skype(policy=1)", "'policy=1' is not an option of skype"),
        ("k_max(policy=fifo)", "'policy=fifo' is not an option of k_max"),
        ("skype(leaf=x)", "'leaf=x' is not an option of skype"),
    ],
)
def test_options_that_cannot_be(index: str, told: str) -> None:
    with pytest.raises(tocsin.UnknownIndex, match=told):
        tocsin.Window(1, bounds=(0, 0, 1, 1), index=index)


def test_options_are_switches_and_sizes() -> None:
    assert set(OPTIONS) == {*SWITCHES, "leaf", "groups", "late", "first"}


@pytest.mark.parametrize("index", [f"blocks({SMALL})", f"skype({TREE})", "ciq"])
def test_bounds_may_be_small_and_far_from_zero(index: str) -> None:
    """As millimetres on a grid are: nobody is missed for want of digits."""
    left, low, side = 50_000_000.0, 4_000_000.0, 1_000.0
    rng = np.random.default_rng(19)

    def record(number: int) -> dict[str, Any]:
        x, y = rng.random(2) * side
        return {"id": number, "words": ["w"], "location": [left + x, low + y]}

    subscriptions = [{**record(n), "k": 1, "alpha": 0.98} for n in range(2_000)]
    messages = [{key: value for key, value in record(n).items() if key != "id"} for n in range(1_500)]
    changes = []
    for one in (index, "inverted_file"):
        window = tocsin.Window(1_000, bounds=(left, low, left + side, low + side), index=one)
        window.subscribe_many(subscriptions)
        changes.append(
            [row for first in range(0, 1_500, 500) for row in window.push_batch(messages[first : first + 500])]
        )

    assert changes[0] == changes[1]
