"""What comes back? A table of matches, what was rejected, what it cost, and whether it is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tocsin.errors import InvalidInput, MissingExtra
from tocsin.language.showing import table_html
from tocsin.model.subscription import Notice, Reject, summary_of
from tocsin.records import ObjectChunk, TableChunk, as_records, read_events
from tocsin.records.chunks import SparseChunk
from tocsin.records.events import Events

_AT_ONCE: Final = 8192


@dataclass(slots=True)
class Stats:
    """What an answer cost. Seconds are wall time; those of a phase are of all threads together."""

    subscriptions: int = 0
    events: int = 0
    matches: int = 0
    candidates_examined: int = 0
    verified: int = 0
    unanswered: int = 0  # subscriptions that have no answer to the ranking: `Similar` is about a region and keywords
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)  # seconds by phase: compile, read, encode, match

    def add_time(self, phase: str, seconds: float) -> None:
        self.phases[phase] = self.phases.get(phase, 0.0) + seconds

    def add(self, part: Stats) -> None:
        """Add what a part of the events cost, but for wall time, which parts may share."""
        self.events += part.events
        self.matches += part.matches
        self.candidates_examined += part.candidates_examined
        self.verified += part.verified
        self.unanswered = max(self.unanswered, part.unanswered)
        for phase, seconds in part.phases.items():
            self.add_time(phase, seconds)


@dataclass(frozen=True, slots=True)
class Answer:
    """The matches of a batch of events.

    `table` has a row a match: `event` (row number, int64), `subscription`, and `score` when ranked; or, with
    `lists=True`, a row an event with lists instead (null for an event that was rejected). Order: by event, then id;
    ranked: by score descending, then id. Ids that are strings are a dictionary column, which reads as plain ids, in
    pandas and Polars too; `table["subscription"].cast("large_string")` is a plain one, for sorting in Arrow.

    It exports itself to whatever reads Arrow: `pa.table(answer)`, `polars.DataFrame(answer)`.
    """

    table: pa.Table
    event_errors: list[Reject]
    subscription_errors: list[Reject]
    stats: Stats
    complete: bool = True
    noticing: Callable[[], list[Notice]] = field(default=list, repr=False, compare=False)

    @property
    def warnings(self) -> list[Notice]:
        """What subscriptions ask that none of these events had, or that none can have; empty where all is well.

        An attribute that no event has (and the one that was perhaps meant), a type that no value had, what can never be
        true and what always is. Made when it is asked for, of the subscriptions, which the answer holds until then and
        on. Cost: linear in them.
        """
        return self.noticing()

    def __reduce__(self) -> tuple[Any, ...]:
        noticing: Callable[[], list[Notice]] = partial(list, self.warnings)
        return Answer, (self.table, self.event_errors, self.subscription_errors, self.stats, self.complete, noticing)

    @property
    def errors(self) -> list[Reject]:
        """Everything rejected, the subscriptions first: (row, id, field, reason)."""
        return self.subscription_errors + self.event_errors

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows of the table, each as an object."""
        for batch in self.table.to_batches(_AT_ONCE):
            yield from batch.to_pylist()

    def documents(self, events: Events, **options: Any) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """The events that matched, each with its rows of the table: the source is read again, once.

        `options` are those that say how it is read (`schema`, `delimiter`).
        """
        return documents(self.table, events, **options)

    def _repr_html_(self) -> str:
        return table_html(self.table, repr(self))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """The table as a pandas data frame."""
        try:
            return self.table.to_pandas()
        except ImportError:
            raise MissingExtra("pandas is not installed: pip install 'pandas>=2.2,<3'") from None

    def to_polars(self) -> Any:
        """The table as a Polars data frame."""
        try:
            import polars
        except ImportError:
            raise MissingExtra("polars is not installed: pip install polars") from None
        return polars.from_arrow(self.table)

    def __repr__(self) -> str:
        return (
            f"Answer({self.stats.matches} matches of {self.stats.events} events and "
            f"{self.stats.subscriptions} subscriptions, {summary_of(self.errors)}, complete={self.complete})"
        )


def documents(table: pa.Table, events: Any, **options: Any) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The events that matched, as objects, each with its matches: rows of the answer's table."""
    if pa.types.is_list(table.schema.field("subscription").type):
        raise InvalidInput("documents go with an answer of a row a match; ask without lists=True")
    numbers = table["event"].to_numpy()
    matched, starts = np.unique(numbers, return_index=True)
    stops = np.append(starts[1:], len(numbers))
    for given in read_events(events, **options):
        if isinstance(given, SparseChunk):
            raise InvalidInput("SparseEvents have no objects; look their rows up by the answer's column event")
        for row, record in _records(as_records(given), matched):
            at = int(np.searchsorted(matched, row))
            yield record, table.slice(starts[at], stops[at] - starts[at]).to_pylist()


def _records(chunk: ObjectChunk | TableChunk, matched: np.ndarray) -> Iterator[tuple[int, dict[str, Any]]]:
    if isinstance(chunk, ObjectChunk):
        wanted = set(matched.tolist())
        yield from ((row, dict(record)) for row, record in chunk.records if row in wanted)
        return
    places = np.flatnonzero(np.isin(chunk.rows, matched))
    records = chunk.table.take(pa.array(places)).to_pylist()
    yield from zip(chunk.rows[places].tolist(), records, strict=True)
