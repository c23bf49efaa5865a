"""Workloads for structures of a window: pushes in the steady state, where messages expire and buffers are refilled.

Skype's tweets are not available. Here places lie around 50 clusters, and words are drawn by Zipf from 20,000 and
weighted by idf. The window is full before subscriptions are added, so the first threshold of each comes from a search.
Then half a window of messages passes, and the following messages are measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reproduce.zipfian import attribute_sets
from tocsin.index import Registration
from tocsin.index.window import Coming, Sliding
from tocsin.index.window.kernels.layouts import COUNT, EXAMINED, REEVALUATED, Batch
from tocsin.window.reading import norms_of

VOCABULARY: Final = 20_000
CLUSTERS: Final = 50
_SPREAD: Final = 0.02
_WORDS: Final = (5, 15)
"""Of a message."""
_DIAGONAL: Final = float(np.sqrt(2.0))
_PROBE: Final = 64


@dataclass(frozen=True, slots=True)
class Pushed:
    """The time of a push of some messages, and the buffered messages after it."""

    candidates_examined: int
    reevaluations: int
    buffered: float  # messages per subscription


@dataclass(slots=True)
class Stream:
    """A window, and the next message to push; after the last one, the stream starts again."""

    window: Sliding
    messages: Batch
    at: int = 0

    def push(self, count: int) -> Pushed:
        """Push `count` messages, none of which is still in the window."""
        if self.at + count > len(self.messages.times):
            self.at = 0
        first, self.at = self.at, self.at + count
        own, rows = self.messages, slice(first, self.at)
        before = self.window.counts()
        starts = own.starts[first : self.at + 1]
        self.window.push(own._replace(starts=starts, places=own.places[rows], times=own.times[rows]))
        spent = self.window.counts() - before
        slots = self.window.slots
        buffered = slots.buffers.small[:, COUNT].sum(dtype=np.int64) / max(slots.living, 1)
        return Pushed(int(spent[EXAMINED]), int(spent[REEVALUATED]), float(buffered))


@dataclass(frozen=True, slots=True)
class SlidingMessages:
    """Subscriptions, and messages that fill a window and continue."""

    subscriptions: Coming
    messages: Batch = field(repr=False)
    squares: NDArray[np.float64] = field(repr=False)
    size: int
    passed: float

    @property
    def warm_up(self) -> range:
        return self.events[:_PROBE]

    @property
    def events(self) -> range:
        return range(len(self.messages.times) - self.size)

    def build(self, registration: Registration, options: Mapping[str, int]) -> Stream:
        """A full window with all subscriptions, over a structure built with the thresholds of its steady state."""
        built = registration.builder(_DIAGONAL, **options)
        window = Sliding(*built, _DIAGONAL, self.size, None)
        window.know_words(len(self.squares), np.arange(1, len(self.squares)), self.squares[1:])
        stream = Stream(window, self.messages)
        stream.push(self.size)
        window.add(window.plan(self.subscriptions))
        window.order()
        for _ in range(0, int(self.passed * self.size), len(self.events)):
            stream.push(len(self.events))
        window.order()
        return stream

    def ask(self, index: Stream, events: range) -> Callable[[], Pushed]:
        """Push as many messages as requested, continuing where the last call ended."""
        return lambda: index.push(len(events))

    def nbytes(self, index: Stream) -> int:
        return index.window.sizes()["structure"]


def sliding_messages(
    *,
    subscriptions: int,
    window: int,
    k: int = 10,
    alpha: float = 0.5,
    spread: float = 0.4,
    keywords: int = 5,
    events: int = 512,
    passed: float = 0.5,
    seed: int = 1,
) -> SlidingMessages:
    """Subscriptions of 1 to `keywords` words, with alphas of `alpha` plus or minus up to `spread`, below 1.

    `passed` windows of messages go by before the measurement.
    """
    random = np.random.default_rng(seed)
    starts, words = attribute_sets(random, random.integers(_WORDS[0], _WORDS[1] + 1, window + events), VOCABULARY, 1.0)
    squares = _squares(words, len(starts) - 1)
    places = _places(random, len(starts) - 1)
    numbers, no_times = (words + 1).astype(np.int32), np.zeros(len(places))
    messages = Batch(starts.astype(np.int64), numbers, np.zeros(0), places, no_times)
    starts, words = attribute_sets(random, random.integers(1, keywords + 1, subscriptions), VOCABULARY, 1.0)
    wanted = _lightest_first(starts, words + 1, squares)
    alphas = np.clip(random.uniform(alpha - spread, alpha + spread, subscriptions), 0.0, 0.99)
    coming = Coming(
        starts.astype(np.int64),
        wanted,
        _places(random, subscriptions),
        np.full(subscriptions, k, np.int32),
        alphas,
        norms_of(starts.astype(np.int64), wanted, squares),
    )
    return SlidingMessages(coming, messages, squares, window, passed)


def _squares(words: NDArray[np.int32], messages: int) -> NDArray[np.float64]:
    """Squares of idf among the messages; word 0 does not exist."""
    frequencies = np.bincount(words, minlength=VOCABULARY)
    return np.concatenate([[0.0], np.log1p(messages / (1.0 + frequencies)) ** 2])


def _lightest_first(
    starts: NDArray[np.int64], words: NDArray[np.int32], squares: NDArray[np.float64]
) -> NDArray[np.int32]:
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return words[np.lexsort((squares[words], owners))].astype(np.int32)


def _places(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    """(count, 2) places in the unit square; the clusters are the same for every seed."""
    centres = np.random.default_rng(CLUSTERS).uniform(0.1, 0.9, (CLUSTERS, 2))
    return np.clip(centres[random.integers(CLUSTERS, size=count)] + random.normal(0.0, _SPREAD, (count, 2)), 0.0, 1.0)
