"""How is an engine checked against its reference? The same is asked of both, in every form, and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import tocsin
from tests.engine.relaxed_samples import Asked
from tests.naive.engine import Reference
from tests.naive.flatten import flatten

Question: TypeAlias = tocsin.Top | Asked | None
"""What the reference is asked; `made` makes it tocsin's."""


def made(question: Question) -> Any:
    """What tocsin takes for what the reference was asked."""
    return question.ranking() if isinstance(question, Asked) else question


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, or the kind of error that it raises."""
    try:
        return call()
    except KeyError:
        return "unknown"
    except tocsin.DuplicateSubscription:
        return "taken"
    except tocsin.InvalidInput:
        return "bad"


def is_good(event: Any) -> bool:
    """Whether an event can be used."""
    try:
        flatten(event)
    except tocsin.RecordError:
        return False
    return True


def listed(engine: Any, events: Any, question: Question) -> list[list[Any] | None]:
    """What `match_batch` gives for each event as lists: tuples of id and, when ranked, score; None for a bad one."""
    table = engine.match_batch(events, ranking=made(question), lists=True).table
    assert table["event"].to_pylist() == list(range(table.num_rows))
    columns = [table[name].to_pylist() for name in table.column_names[1:]]
    return [None if lists[0] is None else list(zip(*lists, strict=True)) for lists in zip(*columns, strict=True)]


def flat(engine: Any, events: Any, question: Question) -> list[tuple[Any, ...]]:
    """What `match_batch` gives as rows: the event's number, the id and, when ranked, the score."""
    answer = engine.match_batch(events, ranking=made(question))
    assert answer.subscription_errors == []
    assert answer.complete
    return [tuple(row.values()) for row in answer.table.to_pylist()]


def expected(reference: Reference, events: Sequence[Any], question: Question) -> list[list[Any] | None]:
    """The lists that the reference gives."""
    width = 1 if question is None else 2
    return [None if m is None else [match[:width] for match in m] for m in reference.match_batch(events, question)]


def check_batch(
    engine: Any, reference: Reference, events: Sequence[Any], question: Question, source: Any = None
) -> None:
    """Rows and lists of a batch are the reference's; `source` is another form of the events."""
    source = events if source is None else source
    lists = expected(reference, events, question)

    assert listed(engine, source, question) == lists
    assert flat(engine, source, question) == [(row, *match) for row, some in enumerate(lists) for match in some or ()]
