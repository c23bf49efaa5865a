"""Questions about subscriptions: all matches, or what a ranking asks for. One stateless object each.

A ranking names the question that answers it. A question builds a structure from subscriptions in columns, and merges
the answers of several sources' structures. Sources, segments, files and engines use questions only by this protocol.
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
    """Some subscriptions in columns, in any order. Their ids are all integers or all strings."""

    ids: pa.Array  # int64, or large_string
    compiled: CompiledExpressions
    sources: pa.Array
    scores: NDArray[np.float64]
    payloads: pa.Array | None = None  # JSON texts, null or empty if absent; None if all are absent
    weights: pa.Array | None = None  # likewise

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, numbers: NDArray[np.int64]) -> Part:
        """The subscriptions with these numbers, in this order."""
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
    """Answers one question about its subscriptions. Immutable; threads may share it."""

    def match(self, batch: EventBatch, ranking: Any, alive: Alive = None) -> Found:
        """What a ranking asks for among live subscriptions, with scores. Ties go to the lower number.

        Subscriptions are numbered in the order of their ids.
        """


class Subscriptions(Protocol):
    """The subscriptions of several sources at one moment, as a question sees them. Answers are by event, then id.

    Matches are places: a source, and a number in it.
    """

    def matches(self, batch: EventBatch, k: int | None = None) -> Found:
        """All matches, without scores. With `k`, matches outside an event's k best may be left out."""

    def answers(self, question: Question, batch: EventBatch, ranking: Any) -> Found:
        """The matches of all structures for a question, with scores."""

    def scores_of(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The subscriptions' own scores."""


class Question(Protocol):
    """A question. Stateless; one object serves all subscriptions."""

    name: ClassVar[str]  # the name that rankings use, and that its indexes are registered under
    purpose: ClassVar[str]  # the purpose of its indexes, in words for the user
    key: ClassVar[str]  # the key of its chosen index in a manifest
    default: ClassVar[Chosen | None]  # the index if a plan names none; None if there is no choice
    counts_parts: ClassVar[bool]  # whether conditions of subscriptions that do not hold matter to its answers

    def structure(self, part: Part, builder: Any, plan: Plan) -> Any:
        """The structure over some subscriptions, by the chosen index's builder (None if there is no choice).

        It is a `Structure`, except for all matches, where it is a `Matcher`.
        """

    def arrays(self, structure: Any) -> Arrays:
        """The arrays that a segment saves in addition to the matcher's; none if the structure is quick to rebuild."""

    def restored(self, arrays: Arrays, part: Part, builder: Any, plan: Plan) -> Any:
        """The structure from its saved arrays; raises `ValueError` or `KeyError` if they are not sound."""

    def answer(self, subscriptions: Subscriptions, batch: EventBatch, ranking: Any) -> Found:
        """The whole answer to a batch, in the order of the ranking; with scores if there is a ranking."""

    def needs_a_key(self, ranking: Any, alike: float) -> bool:
        """Whether an event needs a key of the subscriptions' covers (`tocsin.placement`) to have an answer among them.

        `alike` is the greatest share of a subscription's keywords that an event without one of its keys can have.
        """


class AllMatches:
    """The question without a ranking, or with `Top`. Its structure is a `Matcher`, which segments save themselves."""

    name: ClassVar[str] = ALL_MATCHES
    purpose: ClassVar[str] = "all matches"
    key: ClassVar[str] = "index"
    default: ClassVar[Chosen | None] = None  # a plan always names one
    counts_parts: ClassVar[bool] = False

    def structure(self, part: Part, builder: Any, plan: Plan) -> Matcher:
        """Raises `UnsuitableIndex` for an expression that the index cannot hold."""
        matcher: Matcher = builder.build(part.compiled, plan.statistics)
        return matcher

    def arrays(self, structure: Matcher) -> Arrays:
        """Nothing: the segment saves the matcher itself."""
        return {}

    def restored(self, arrays: Arrays, part: Part, builder: Any, plan: Plan) -> Matcher:
        """Rebuild it; nothing was saved."""
        return self.structure(part, builder, plan)

    def answer(self, subscriptions: Subscriptions, batch: EventBatch, ranking: Top | None) -> Found:
        """All matches by id, or the k best, best first. The sources are told `k`."""
        if ranking is None:
            return subscriptions.matches(batch)
        found = subscriptions.matches(batch, ranking.k)
        return top(found, subscriptions.scores_of(found.subscriptions), ranking.k)

    def needs_a_key(self, ranking: Top | None, alike: float) -> bool:
        """True: every match has a key of the cover, by definition."""
        return True


def top(found: Found, scores: NDArray[np.float64], k: int) -> Found:
    """The k best matches of each event, by score descending, then id. `found` is in the order of ids."""
    order = best_first(found.events, scores, min(k, len(scores)))
    starts = np.concatenate([[0], np.cumsum(np.minimum(np.diff(found.starts), k))])
    return found._replace(starts=starts, subscriptions=found.subscriptions[order], scores=scores[order])
