"""Protocols of indexes, one a question: `Matcher` answers "all matches", `Ranker` "the best first".

`Disseminator` finds the subscriptions of a window that a message reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.pools import Pools
from tocsin.index.alive import Alive
from tocsin.index.found import Found
from tocsin.index.statistics import Statistics
from tocsin.kernels.programs.layouts import Bound

ALL_MATCHES: Final = "all matches"
THE_BEST_FIRST: Final = "the best first"
BEST_MESSAGES: Final = "the best recent messages"
SIMILAR_ENOUGH: Final = "similar enough"
ANY_EXPRESSION: Final = "any expression"
RECTANGLES: Final = "a range of an attribute, or a box, that the outermost AND needs; other conditions are verified"
PLACES_WITH_WORDS: Final = "a place and words"
REGIONS_WITH_KEYWORDS: Final = (
    "a box that an attribute meets and keywords that a list contains, both needed by the outermost AND or by each "
    "alternative of an OR; other conditions are verified"
)
ALL_THEN_RANKED: Final = "all matches, then ranked"
Arrays: TypeAlias = Mapping[str, NDArray[Any]]


class Best(NamedTuple):
    """A request for only the k best matches of each event, by score descending, then number. S subscriptions."""

    k: int
    scores: NDArray[np.float64]  # (S,)
    maxima: NDArray[np.float64]  # (S // 64 + 1,) the best score of each 64
    base: NDArray[np.float64] | None = None  # (S,) fixed scores by which an index may sort
    changed: NDArray[np.int32] | None = None  # those that may score otherwise than in `base`; may repeat; None: none
    raised: NDArray[np.float64] | None = None  # the highest scores of `changed` since

    @classmethod
    def of(
        cls,
        k: int,
        scores: NDArray[np.float64],
        maxima: NDArray[np.float64],
        base: NDArray[np.float64] | None = None,
        changed: NDArray[np.int32] | None = None,
        raised: NDArray[np.float64] | None = None,
    ) -> Best:
        """The best k, or all if there are fewer. Later calls only append to `changed` and `raised`."""
        return cls(min(k, max(len(scores), 1)), scores, maxima, base, changed, raised)


class Matcher(Protocol):
    """Finds all subscriptions that each event satisfies. Immutable; threads may share it.

    Events have no ranges or shapes unless the class says that it takes them; `index.boolean.chains.extents` handles
    others.
    """

    @property
    def attributes(self) -> Sequence[str]:
        """The attributes that the subscriptions refer to."""

    def __len__(self) -> int:
        """The number of subscriptions, including removed ones."""

    def match(self, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        """All matches of a batch among live subscriptions; exact.

        With `best`, matches outside an event's k best may be left out.
        """

    def expressions(self) -> CompiledExpressions:
        """The compiled expressions, equal in meaning to the original ones; for building another index."""

    def arrays(self) -> Arrays:
        """All its arrays, to be saved."""

    def sizes(self) -> Mapping[str, int]:
        """Bytes by purpose: `structure`, `dictionaries`."""

    def places(self) -> Mapping[str, int]:
        """The number of subscriptions in each place, in words for the user."""

    def place(self, number: int) -> str:
        """Where one subscription lies, in words for the user."""

    def best_first(self) -> str:
        """How it finds the k best, and why, in words for the user."""


class Builder(Protocol):
    """Makes a `Matcher` from compiled expressions, or from saved arrays."""

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> Matcher:
        """Build the index. Raises `UnsuitableIndex` for an expression that it cannot hold, by its number."""

    def load(self, arrays: Arrays) -> Matcher:
        """Restore the index from its `arrays`; raises `ValueError` if an offset or a number is out of range."""


class RecentMatcher(Protocol):
    """Recent expressions at some moment. Threads may share it until it is released."""

    def match(self, batch: EventBatch, bound: Bound, alive: NDArray[np.uint64]) -> Found:
        """All matches of a batch without ranges and shapes among live expressions; exact."""


class Recent(Protocol):
    """Recent expressions of an engine in a structure that changes in place. One thread at a time changes it."""

    def matching(
        self, compiled: CompiledExpressions, pools: Pools, alive: NDArray[np.uint64], *, is_read: bool
    ) -> RecentMatcher | None:
        """How to match the live expressions; None if the structure cannot hold one of them.

        `compiled` and `pools` only grow from one call to the next, and `alive` loses bits. `is_read` says that somebody
        may use an earlier result, which must then stay as it is. After an error the next call makes all anew.
        """


class Disseminator(Protocol):
    """Finds the subscriptions in slots whose threshold a message reaches. Changes in place.

    Slots, words and thresholds are as in `index.window.kernels.layouts`. Not thread-safe.
    """

    @property
    def table(self) -> Any:
        """The table that kernels search and retune, of its own layout (`index.window.kernels.disseminating`)."""

    def know_words(self, count: int) -> None:
        """Make room for words below a number."""

    def know_length(self, words: int) -> None:
        """Make room for messages of that many words."""

    def add(
        self, slots: NDArray[np.int32], starts: NDArray[np.int64], words: NDArray[np.int32], interests: Any
    ) -> None:
        """Add subscriptions. The words of the i-th are `words[starts[i]:starts[i + 1]]`, the lightest first.

        The records in `interests` hold the rest, including thresholds.
        """

    def is_due(self, living: int, taken: int) -> bool:
        """Whether `build` would pay, given the number of live subscriptions and of messages since the start."""

    def build(
        self,
        slots: NDArray[np.int32],
        starts: NDArray[np.int64],
        words: NDArray[np.int32],
        interests: Any,
        table: Any,
        taken: int,
    ) -> None:
        """Rebuild with only these subscriptions and their present thresholds. `table` holds the words' weights.

        `taken` is the number of messages since the start.
        """

    def bytes(self) -> int:
        """Its size in bytes."""


@dataclass(frozen=True, slots=True)
class Registration:
    """An entry of the registry.

    `builder` makes a `Builder` for "all matches", a `RankerBuilder` for "the best first". `options` are its options
    with their defaults. `also` maps other questions that the index answers to their builders. An option in `words` is
    written as one of some words; its number is the position of the word. `recent` makes a structure for the recent
    subscriptions of an engine, from statistics and the options.
    """

    name: str
    question: str
    shapes: str
    source: str
    is_baseline: bool
    builder: Callable[..., Any]
    options: Mapping[str, int] = field(default_factory=dict)
    also: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    recent: Callable[..., Recent] | None = None

    @property
    def takes_all(self) -> bool:
        """Whether `build` never raises `UnsuitableIndex`."""
        return self.shapes == ANY_EXPRESSION
