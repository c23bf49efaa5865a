"""What are structures of a window asked? To push messages, in the steady state: others expire, buffers are refilled.

Skype's tweets cannot be had: places lie around 50 clusters, words are drawn by Zipf out of 20,000 and weigh by idf.
The window is full before subscriptions come, so the first threshold of each is from a search; then as many messages as
half of a window pass, and what follows is measured.
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
    """What a push of some messages took, and what is buffered behind it."""

    candidates_examined: int
    reevaluations: int
    buffered: float  # messages a subscription


@dataclass(slots=True)
class Stream:
    """A window, and the next of the messages that it is pushed; behind the last comes the first."""

    window: Sliding
    messages: Batch
    at: int = 0

    def push(self, count: int) -> Pushed:
        """Push so many messages. None of them is still in the window."""
        if self.at + count > len(self.messages.times):
            self.at = 0
        first, self.at = self.at, self.at + count
        starts, words, places, times = self.messages
        before = self.window.counts()
        self.window.push(Batch(starts[first : self.at + 1], words, places[first : self.at], times[first : self.at]))
        spent = self.window.counts() - before
        slots = self.window.slots
        buffered = slots.buffers.small[:, COUNT].sum(dtype=np.int64) / max(slots.living, 1)
        return Pushed(int(spent[EXAMINED]), int(spent[REEVALUATED]), float(buffered))


@dataclass(frozen=True, slots=True)
class SlidingMessages:
    """Subscriptions, and messages that fill a window and go on."""

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
        """A full window with all subscriptions, over a structure made by the thresholds of its steady state."""
        built = registration.builder(_DIAGONAL, **{**registration.options, **options})
        window = Sliding(*built, _DIAGONAL, self.size, None)
        window.know_words(len(self.squares), np.arange(1, len(self.squares)), self.squares[1:])
        stream = Stream(window, self.messages)
        stream.push(self.size)
        window.add(self.subscriptions)
        window.order()
        for _ in range(0, int(self.passed * self.size), len(self.events)):
            stream.push(len(self.events))
        window.order()
        return stream

    def ask(self, index: Stream, events: range) -> Callable[[], Pushed]:
        """Pushes as many messages as are asked for: each time the next."""
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
    """Subscriptions of 1 to `keywords` words, whose alphas are `alpha` give or take up to `spread`, below 1.

    So many windows have `passed` when it is measured.
    """
    random = np.random.default_rng(seed)
    starts, words = attribute_sets(random, random.integers(_WORDS[0], _WORDS[1] + 1, window + events), VOCABULARY, 1.0)
    squares = _squares(words, len(starts) - 1)
    places = _places(random, len(starts) - 1)
    messages = Batch(starts.astype(np.int64), (words + 1).astype(np.int32), places, np.zeros(len(places)))
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
    """Of idf among messages; word 0 is none."""
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
