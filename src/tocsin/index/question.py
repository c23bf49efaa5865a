"""What can be asked of subscriptions? A `Question`: which of them match, or another. Each is one object.

A ranking names the one that answers it. It makes a structure of subscriptions in columns, and one answer of what the
structures of several sources find. Sources, segments, files and engines know no more of it than this protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import subset
from tocsin.index.alive import Alive
from tocsin.index.found import Found
from tocsin.index.plan import Chosen, Plan
from tocsin.index.protocols import ALL_MATCHES, Arrays, Matcher
from tocsin.kernels.answers.ordering import best_first
from tocsin.model.ranking import Top


@dataclass(frozen=True, slots=True)
class Part:
    """Some subscriptions in columns, in any order; their ids are of one kind."""

    ids: pa.Array  # int64, or large_string
    compiled: CompiledExpressions
    sources: pa.Array
    scores: NDArray[np.float64]
    payloads: pa.Array | None = None  # JSON texts, null or empty for none; None where nobody has any
    weights: pa.Array | None = None  # the same

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, numbers: NDArray[np.int64]) -> Part:
        """Some of them, in that order."""
        chosen = pa.array(numbers)
        return Part(
            self.ids.take(chosen),
            subset(self.compiled, numbers.astype(np.int32)),
            self.sources.take(chosen),
            self.scores[numbers],
            None if self.payloads is None else self.payloads.take(chosen),
            None if self.weights is None else self.weights.take(chosen),
        )


class Structure(Protocol):
    """Answers one question of the subscriptions that it was made of. Immutable; many threads may match."""

    def match(self, batch: EventBatch, ranking: Any, alive: Alive = None) -> Found:
        """What a ranking wants of those that are alive, with scores; of equal ones the lower numbers.

        Subscriptions are numbered in the order of their ids.
        """


class Subscriptions(Protocol):
    """Those of several sources at one moment, as a question sees them. All answers are by event, then id.

    Found subscriptions are places: a source, and a number in it.
    """

    def matches(self, batch: EventBatch, k: int | None = None) -> Found:
        """All matches, without scores; with `k` any that is not one of its event's k best may be left out."""

    def answers(self, question: Question, batch: EventBatch, ranking: Any) -> Found:
        """All that the structures of a question find, with scores."""

    def scores_of(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The subscriptions' own scores."""


class Question(Protocol):
    """One object for all subscriptions; it holds none of them."""

    name: ClassVar[str]  # what rankings call it, and the indexes that answer it are registered under
    purpose: ClassVar[str]  # what an index is asked for by name for, in words for the user
    key: ClassVar[str]  # what a manifest calls the index that is chosen for it
    default: ClassVar[Chosen | None]  # the index where a plan names none; None where there is nothing to choose

    def structure(self, part: Part, builder: Any, plan: Plan) -> Any:
        """What answers it of some subscriptions, by the builder of the chosen index (None where there is no choice).

        It is a `Structure`, but for all matches, where it is a `Matcher`.
        """

    def arrays(self, structure: Any) -> Arrays:
        """What a segment saves of a structure beside the matcher; nothing where it is made again in little time."""

    def restored(self, arrays: Arrays, part: Part, builder: Any, plan: Plan) -> Any:
        """The structure of what was saved of it; raises `ValueError` or `KeyError` where that is not sound."""

    def answer(self, subscriptions: Subscriptions, batch: EventBatch, ranking: Any) -> Found:
        """The whole answer to a batch, in the order of the ranking; with scores where there is a ranking."""

    def needs_a_key(self, ranking: Any, alike: float) -> bool:
        """Whether no event without a key of some subscriptions' covers (`tocsin.placement`) has an answer among them.

        `alike` is the greatest share of its keywords that such an event may have of a subscription.
        """


class AllMatches:
    """Answers no ranking and `Top`. Its structure is a `Matcher`, which a segment is saved with."""

    name: ClassVar[str] = ALL_MATCHES
    purpose: ClassVar[str] = "all matches"
    key: ClassVar[str] = "index"
    default: ClassVar[Chosen | None] = None  # a plan always names one

    def structure(self, part: Part, builder: Any, plan: Plan) -> Matcher:
        """Raises `UnsuitableIndex` for an expression that the index cannot hold."""
        matcher: Matcher = builder.build(part.compiled, plan.statistics)
        return matcher

    def arrays(self, structure: Matcher) -> Arrays:
        """Nothing beside the matcher, which it is."""
        return {}

    def restored(self, arrays: Arrays, part: Part, builder: Any, plan: Plan) -> Matcher:
        """Nothing was saved of it."""
        return self.structure(part, builder, plan)

    def answer(self, subscriptions: Subscriptions, batch: EventBatch, ranking: Top | None) -> Found:
        """Every match by id, or the k best, best first: the sources are told how many are wanted."""
        if ranking is None:
            return subscriptions.matches(batch)
        found = subscriptions.matches(batch, ranking.k)
        return top(found, subscriptions.scores_of(found.subscriptions), ranking.k)

    def needs_a_key(self, ranking: Top | None, alike: float) -> bool:
        """A match has one of the keys, which is what a cover is."""
        return True


def top(found: Found, scores: NDArray[np.float64], k: int) -> Found:
    """The k best of each event's, which are in order of id: score descending, then id."""
    order = best_first(found.events, scores, min(k, len(scores)))
    starts = np.concatenate([[0], np.cumsum(np.minimum(np.diff(found.starts), k))])
    return found._replace(starts=starts, subscriptions=found.subscriptions[order], scores=scores[order])
