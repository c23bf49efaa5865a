"""Who is concerned? Every subscription against every event; a bad event concerns nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from tests.naive.flatten import flatten
from tests.naive.truth import concerns
from tocsin.errors import RecordError
from tocsin.model.expression import Expression
from tocsin.model.values import Value

Id = TypeVar("Id", str, int)


def match(
    subscriptions: Sequence[tuple[Id, Expression]], events: Sequence[Mapping[str, object]]
) -> list[tuple[int, Id]]:
    """The pairs (row of the event, id) of which the expression can be TRUE, ordered by row, then id."""
    pairs = [
        (row, name)
        for row, values in _good(events)
        for name, expression in subscriptions
        if concerns(expression, values)
    ]
    return sorted(pairs)


def top(
    subscriptions: Sequence[tuple[Id, Expression, float]], events: Sequence[Mapping[str, object]], k: int
) -> list[tuple[int, Id, float]]:
    """The k best matches of each event as (row, id, score): rows ascending, scores descending, then ids."""
    scores = {name: score for name, _, score in subscriptions}
    pairs = match([(name, expression) for name, expression, _ in subscriptions], events)
    best: list[tuple[int, Id, float]] = []
    for row in range(len(events)):
        ranked = sorted(((-scores[name], name) for at, name in pairs if at == row))
        best += [(row, name, -negative) for negative, name in ranked[:k]]
    return best


def _good(events: Sequence[Mapping[str, object]]) -> Iterator[tuple[int, dict[str, Value]]]:
    for row, event in enumerate(events):
        try:
            values, _ = flatten(event)
        except RecordError:
            continue
        yield row, values
