"""What does a changing engine answer? A dict of subscriptions, each of them evaluated against each event."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from tests.naive.flatten import flatten
from tests.naive.ranges import Truth
from tests.naive.relaxed import dimensions, score_of
from tests.naive.truth import concerns, truth
from tocsin.errors import DuplicateSubscription, RecordError
from tocsin.language import parse_any
from tocsin.model.expression import Expression, Node, attributes
from tocsin.model.ranking import Top
from tocsin.model.values import Value

Id: TypeAlias = str | int
Pair: TypeAlias = tuple[Id, float]

_FIELDS: Final = {"id", "where", "score", "weights", "payload"}


class Held(NamedTuple):
    """A subscription as it stands."""

    tree: Expression
    score: float
    payload: Any
    weights: dict[str, float]


class Reference:
    """An engine without index, segment or delta. An unknown id is a plain `KeyError`.

    `where` may also be an expression tree, so that an answer need not depend on how text is parsed.
    """

    def __init__(self) -> None:
        self.held: dict[Id, Held] = {}
        self._kind: type | None = None

    def subscribe(
        self,
        name: Id,
        where: Any,
        *,
        score: Any = None,
        payload: Any = None,
        weights: Any = None,
        replace: bool = False,
    ) -> None:
        """Take one subscription, or raise and leave everything as it was."""
        self._check_id(name)
        tree = _tree(where)
        held = Held(tree, _score(score), payload, _weights(weights, tree))
        if name in self.held and not replace:
            raise DuplicateSubscription(f"{name!r} is taken")
        self._kind = type(name)
        self.held[name] = held

    def subscribe_many(
        self, records: Iterable[Any], *, replace: bool = False
    ) -> tuple[list[int], list[tuple[int, Any]]]:
        """Record after record; the rows that were taken, and (row, id) of those that were not."""
        accepted: list[int] = []
        refused: list[tuple[int, Any]] = []
        for row, record in enumerate(records):
            try:
                self._take(record, replace)
            except (RecordError, DuplicateSubscription):
                refused.append((row, _id_or_none(record)))
            else:
                accepted.append(row)
        return accepted, refused

    def _take(self, record: Any, replace: bool) -> None:
        if not isinstance(record, Mapping):
            raise RecordError("no record of a subscription")
        fields = {name: value for name, value in record.items() if name in _FIELDS}
        self.subscribe(fields.pop("id", None), fields.pop("where", None), **fields, replace=replace)

    def unsubscribe(self, name: Id) -> None:
        del self.held[name]

    def rescore(self, name: Id, score: Any) -> None:
        self.held[name] = self.held[name]._replace(score=_score(score))

    def payload(self, name: Id) -> Any:
        return self.held[name].payload

    def explain(self, name: Id, event: Mapping[str, Any]) -> Truth:
        """TRUE, FALSE, UNKNOWN (None) or EITHER."""
        return truth(self.held[name].tree, flatten(event)[0])

    def match(self, event: Any, ranking: Any = None) -> list[Pair]:
        """(id, score) of what can be TRUE, by id; ranked, the k best by score descending, then id.

        A ranking is a `Top`, or a relaxed one: its `k`, `combine` and `drop` are read, and the score is of what holds.
        """
        values, _ = flatten(event)
        found = self._relaxed(values, ranking) if _is_relaxed(ranking) else self._exact(values)
        if ranking is None:
            return sorted(found)
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[: ranking.k]

    def _exact(self, values: Mapping[str, Value]) -> list[Pair]:
        return [(name, held.score) for name, held in self.held.items() if concerns(held.tree, values)]

    def _relaxed(self, values: Mapping[str, Value], ranking: Any) -> list[Pair]:
        scores = [
            (name, score_of(dimensions(held.tree), held.weights, values, ranking.combine, ranking.drop))
            for name, held in self.held.items()
        ]
        return [(name, score) for name, score in scores if score is not None]

    def match_batch(self, events: Iterable[Any], ranking: Any = None) -> list[list[Pair] | None]:
        """What `match` answers to each event; None for a bad one."""
        answers: list[list[Pair] | None] = []
        for event in events:
            try:
                answers.append(self.match(event, ranking))
            except RecordError:
                answers.append(None)
        return answers

    def __len__(self) -> int:
        return len(self.held)

    def __contains__(self, name: object) -> bool:
        return name in self.held

    def _check_id(self, name: object) -> None:
        if type(name) not in (str, int):
            raise RecordError("an id is a string or an integer", "id")
        if self._kind not in (None, type(name)):
            raise RecordError("the ids of an engine are of one kind", "id")
        if isinstance(name, int) and not -(2**63) <= name < 2**63:
            raise RecordError("an integer id has 64 bits", "id")


def _tree(where: Any) -> Expression:
    if isinstance(where, Node):
        return where
    if not isinstance(where, str | Mapping):
        raise RecordError("an expression is text or an object", "where")
    try:
        return parse_any(where)
    except ValueError as error:
        raise RecordError(str(error), "where") from None


def _score(score: Any) -> float:
    if score is None:
        return 1.0
    if type(score) not in (int, float) or not math.isfinite(score):
        raise RecordError("a score is a finite number", "score")
    return float(score)


def _weights(weights: Any, tree: Expression) -> dict[str, float]:
    """The weight of each attribute that was given one; the expression names every one of them."""
    given = dict(weights or {})
    for weight in given.values():
        if type(weight) not in (int, float) or not 0 <= weight < math.inf:
            raise RecordError("a weight is a finite number >= 0", "weights")
    if not given.keys() <= set(attributes(tree)):
        raise RecordError("a weight is of an attribute that the expression names", "weights")
    return {name: float(weight) for name, weight in given.items()}


def _is_relaxed(ranking: Any) -> bool:
    return ranking is not None and not isinstance(ranking, Top)


def _id_or_none(record: Any) -> Any:
    name = record.get("id") if isinstance(record, Mapping) else None
    return name if type(name) in (str, int) else None
