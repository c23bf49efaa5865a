"""What is an index? One protocol a question: `Matcher` answers "all matches", `Ranker` "the best first".

`Disseminator` says whom a message of a window reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.alive import Alive
from tocsin.index.found import Found
from tocsin.index.statistics import Statistics

ALL_MATCHES: Final = "all matches"
THE_BEST_FIRST: Final = "the best first"
BEST_MESSAGES: Final = "the best recent messages"
SIMILAR_ENOUGH: Final = "similar enough"
ANY_EXPRESSION: Final = "any expression"
RECTANGLES: Final = "a range of an attribute, or a box, that the outermost AND needs; what else it asks for is verified"
PLACES_WITH_WORDS: Final = "a place and words"
REGIONS_WITH_KEYWORDS: Final = (
    "a box that an attribute meets and keywords that a list contains, both needed by the outermost AND; "
    "what else it asks for is verified"
)
ALL_THEN_RANKED: Final = "all matches, then ranked"
Arrays: TypeAlias = Mapping[str, NDArray[Any]]


class Best(NamedTuple):
    """That only the best k matches of each event are wanted: by score descending, then number. S subscriptions."""

    k: int
    scores: NDArray[np.float64]  # (S,)
    maxima: NDArray[np.float64]  # (S // 64 + 1,) the best score of each 64
    base: NDArray[np.float64] | None = None  # (S,) scores that stay as they are, for an index to be ordered by
    changed: NDArray[np.int32] | None = None  # whose scores may differ from these, perhaps twice; None: nobody's
    raised: NDArray[np.float64] | None = None  # what their scores have been at most since

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
        """The best k, or all where there are no more. `changed` and `raised` of later calls only go on behind these."""
        return cls(min(k, max(len(scores), 1)), scores, maxima, base, changed, raised)


class Matcher(Protocol):
    """Finds all subscriptions that each event satisfies. Immutable, safe to share between threads.

    Events have no ranges or shapes, unless it says that it takes them; `index.boolean.chains.extents` sees to that.
    """

    @property
    def attributes(self) -> Sequence[str]:
        """The attributes that any subscription looks at."""

    def __len__(self) -> int:
        """How many subscriptions it holds, those that are gone included."""

    def match(self, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        """All matches of a batch among the subscriptions that are alive; exact.

        With `best` it may leave out any match that is not one of its event's k best.
        """

    def expressions(self) -> CompiledExpressions:
        """The subscriptions' expressions as they were compiled, equal in meaning; for building another index."""

    def arrays(self) -> Arrays:
        """Everything it holds, to be saved."""

    def sizes(self) -> Mapping[str, int]:
        """Bytes by what they are for: `structure`, `dictionaries`."""

    def places(self) -> Mapping[str, int]:
        """How many subscriptions lie where, in words for the user."""

    def place(self, number: int) -> str:
        """Where one subscription lies, in words for the user."""

    def best_first(self) -> str:
        """How it finds the best k, and why so, in words for the user."""


class Builder(Protocol):
    """Makes a `Matcher`: from compiled expressions, and from saved arrays."""

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> Matcher:
        """Raises `UnsuitableIndex` for an expression that the structure cannot hold, by its number."""

    def load(self, arrays: Arrays) -> Matcher:
        """From what `arrays` gave; raises `ValueError` where an offset or a number is out of range."""


class Disseminator(Protocol):
    """Finds the subscriptions whose threshold a message reaches, among those in slots. It changes in place.

    Slots, words and thresholds are as in `index.window.kernels.layouts`. One at a time may call it.
    """

    @property
    def table(self) -> Any:
        """What kernels search and retune: a table of its own layout (`index.window.kernels.disseminating`)."""

    def know_words(self, count: int) -> None:
        """Make room for words below a number."""

    def know_length(self, words: int) -> None:
        """Make room for messages of so many words."""

    def add(
        self, slots: NDArray[np.int32], starts: NDArray[np.int64], words: NDArray[np.int32], interests: Any
    ) -> None:
        """Take subscriptions: the words of the i-th are `words[starts[i]:starts[i + 1]]`, the lightest first.

        The records of `interests` have the rest, thresholds included.
        """

    def is_due(self, living: int, taken: int) -> bool:
        """Whether `build` would pay, with so many subscriptions, and messages since the beginning."""

    def build(
        self,
        slots: NDArray[np.int32],
        starts: NDArray[np.int64],
        words: NDArray[np.int32],
        interests: Any,
        table: Any,
        taken: int,
    ) -> None:
        """Hold these and nobody else, by the thresholds of now; `table` has what words weigh.

        `taken` is how many messages there were since the beginning.
        """

    def bytes(self) -> int:
        """What it takes."""


@dataclass(frozen=True, slots=True)
class Registration:
    """What the registry says of an index.

    `builder` makes a `Builder` for "all matches", a `RankerBuilder` for "the best first"; `options` are what it takes,
    with their defaults. `also` has the same for other questions that it answers.
    """

    name: str
    question: str
    shapes: str
    source: str
    is_baseline: bool
    builder: Callable[..., Any]
    options: Mapping[str, int] = field(default_factory=dict)
    also: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    @property
    def takes_all(self) -> bool:
        """Whether `build` never raises `UnsuitableIndex`."""
        return self.shapes == ANY_EXPRESSION
