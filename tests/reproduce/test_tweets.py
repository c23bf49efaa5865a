"""The load of the location-aware paper: the statistics of section 7, counted naively on samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from reproduce.messages import GROUPS
from reproduce.tweets import TWEETS, Tweets

PRINTED_OVERLAP, PRINTED_SHARE = 2.3e10 / 4e11, 2.1e10 / 4e11
PRINTED_ANSWERS = {"long range": 912, "short range": 431, "long point": 243, "short point": 142}
"""Subscriptions of 10 million that a message matches."""
AMONG_SUBSCRIPTIONS = {"overlap": 3.2e11 / 1e14, "share": 2e11 / 1e14}


class Counts(NamedTuple):
    """Shares of all pairs of a message and a subscription."""

    overlap: float
    share: float  # at least one common word
    answers: float


def counted(load: Tweets, size: int, sample: int) -> dict[str, Counts]:
    """The counts of each group of messages, and of subscriptions among each other (`"subscriptions"`)."""
    held = load.subscriptions(size)
    columns = [load.messages(group, sample) for group in GROUPS]
    texts = [held.keywords, *(column["words"].combine_chunks() for column in columns)]
    numbers = {word: i for i, word in enumerate(held.keywords.flatten().unique().to_pylist())}
    flat = [np.array([numbers.get(word, -1) for word in text.flatten().to_pylist()]) for text in texts]
    starts = [text.offsets.to_numpy() for text in texts]
    sides = [np.array(column["location"].to_pylist()) for column in columns]
    boxes = [held.regions, *(np.tile(own, 4 // own.shape[1]) for own in sides)]
    names = ["subscriptions", *(group.name for group in GROUPS)]
    return {
        name: Counts(
            *np.mean(
                [_pairs(flat[0], starts[0], held.regions, words[at[i] : at[i + 1]], box[i]) for i in range(sample)], 0
            )
        )
        for name, words, at, box in zip(names, flat, starts, boxes, strict=True)
    }


def _pairs(tokens, starts, regions, words, box):
    """Shares of the subscriptions that overlap a box, share a word, and match."""
    is_in = np.zeros(tokens.max() + 2, np.int64)
    is_in[words] = 1
    is_in[-1] = 0
    common = np.add.reduceat(is_in[tokens], starts[:-1])
    left, lower, right, upper = regions.T
    meets = (left <= box[2]) & (right >= box[0]) & (lower <= box[3]) & (upper >= box[1])
    return meets.mean(), (common > 0).mean(), (meets & (common == np.diff(starts))).mean()


def check(found: dict[str, Counts]) -> None:
    """The tolerances that docs/papers/location_aware.md states."""
    groups = np.array([found[group.name] for group in GROUPS])
    overlap, share, answers = groups.mean(0)
    assert overlap == pytest.approx(PRINTED_OVERLAP, rel=0.1)
    assert share == pytest.approx(PRINTED_SHARE, rel=0.15)
    assert 313 * 0.9 <= answers * 1e7 <= 432 * 1.1
    for name, printed in PRINTED_ANSWERS.items():
        assert found[name].answers * 1e7 == pytest.approx(printed, rel=0.3), name
    assert found["subscriptions"].share == pytest.approx(AMONG_SUBSCRIPTIONS["share"], rel=0.3)
    assert 0.9 <= found["subscriptions"].overlap / AMONG_SUBSCRIPTIONS["overlap"] <= 2.2


def test_pairs_are_as_frequent_as_printed():
    """Overlaps, common words and answers of 25 million pairs a group are those of section 7, within tolerances."""
    check(counted(TWEETS, 20_000, 800))


@pytest.mark.long
@pytest.mark.parametrize("size", [50_000, 200_000, 1_000_000])
def test_pairs_are_as_frequent_as_printed_at_each_size(size):
    """The shares do not depend on the number of subscriptions."""
    check(counted(TWEETS, size, 600))


def test_the_first_word_is_its_citys():
    """Subscriptions with a word in common are near: no first word is asked for in two cities far apart."""
    held = TWEETS.subscriptions(20_000)
    firsts = held.keywords.flatten().take(held.keywords.offsets[:-1]).to_pylist()
    middles = (held.regions[:, :2] + held.regions[:, 2:]) / 2
    members: dict[str, list[int]] = {}
    for i, word in enumerate(firsts):
        members.setdefault(word, []).append(i)

    widths = [np.ptp(middles[own], axis=0).max() for own in members.values() if len(own) > 1]
    assert len(widths) > 1000
    assert max(widths) < 12 * TWEETS.spread
