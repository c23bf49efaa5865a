"""The result of matching: a table of matches, the rejected records, the cost, and whether the answer is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from tocsin.encoding import Points, checked_points
from tocsin.encoding.points import points_of
from tocsin.errors import InvalidInput, MissingExtra
from tocsin.language.showing import table_html
from tocsin.model.python_values import python_rows
from tocsin.model.subscription import Notice, Reject, summary_of
from tocsin.records import ObjectChunk, TableChunk, as_records, read_events
from tocsin.records.chunks import SparseChunk
from tocsin.records.csv_files import ColumnType
from tocsin.records.events import Events

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_AT_ONCE: Final = 8192


@dataclass(slots=True)
class Stats:
    """What an answer cost.

    Attributes
    ----------
    subscriptions : int
        The number of subscriptions that were matched against.
    events : int
        The number of events, rejected ones included.
    matches : int
        The number of matches.
    candidates_examined : int
        Pairs of event and subscription that no index ruled out.
    verified : int
        Candidates whose expression was evaluated.
    unanswered : int
        Subscriptions that the ranking cannot score: `Similar` needs a region and keywords.
    seconds : float
        Wall time.
    phases : dict of str to float
        Seconds by phase (compile, read, encode, match), summed over threads.
    """

    subscriptions: int = 0
    events: int = 0
    matches: int = 0
    candidates_examined: int = 0
    verified: int = 0
    unanswered: int = 0
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)

    def add_time(self, phase: str, seconds: float) -> None:
        """Add to the time of a phase.

        Parameters
        ----------
        phase : str
            The phase.
        seconds : float
            The time.
        """
        self.phases[phase] = self.phases.get(phase, 0.0) + seconds

    def add(self, part: Stats) -> None:
        """Add the cost of a part of the events, except `seconds`: parts may overlap in time.

        Parameters
        ----------
        part : Stats
            The cost of the part.
        """
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

    `len(answer)` is the number of rows; iteration gives each row as a dict. Anything that reads Arrow takes an answer:
    `pa.table(answer)`, `polars.DataFrame(answer)`.

    Attributes
    ----------
    table : pyarrow.Table
        One row per match: `event` (row number, int64), `subscription`, and `score` if a ranking was given. With
        `lists=True` one row per event, with lists, which are null for a rejected event. Rows are ordered by event, then
        id; with a ranking by event, score descending, then id. `Fences.push_batch` has other columns.
    event_errors, subscription_errors : list of Reject
        The rejected events, and the rejected subscriptions.
    stats : Stats
        The cost.
    complete : bool
        Whether the table has every match.
    noticing : callable
        Computes `warnings`.
    lost : frozenset of int
        The rows of the events that could not be matched. Other errors of events are about single values.

    Notes
    -----
    String ids are a dictionary column, which pandas and Polars read as plain ids. To sort in Arrow, use
    `table["subscription"].cast("large_string")`.
    """

    table: pa.Table
    event_errors: list[Reject]
    subscription_errors: list[Reject]
    stats: Stats
    complete: bool = True
    noticing: Callable[[], list[Notice]] = field(default=list, repr=False, compare=False)
    lost: frozenset[int] = frozenset()

    @property
    def warnings(self) -> list[Notice]:
        """Warnings about conditions that none of these events satisfied, or that no event can; empty if there are none.

        A warning names an attribute that no event has, perhaps with a similar one. Or it names a type that no value
        had, or a condition that is never or always true.

        Notes
        -----
        Warnings are computed on each access, from the subscriptions that the answer keeps in memory. Cost: linear in
        the subscriptions.
        """
        return self.noticing()

    def __reduce__(self) -> tuple[Any, ...]:
        noticing: Callable[[], list[Notice]] = partial(list, self.warnings)
        errors = self.event_errors, self.subscription_errors
        return Answer, (self.table, *errors, self.stats, self.complete, noticing, self.lost)

    @property
    def errors(self) -> list[Reject]:
        """All rejected records, subscriptions first."""
        return self.subscription_errors + self.event_errors

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows of the table, each as a dict."""
        for batch in self.table.to_batches(_AT_ONCE):
            yield from batch.to_pylist()

    def documents(
        self,
        events: Events,
        *,
        schema: Mapping[str, ColumnType] | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
    ) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """The matched events, each with its matches; reads the source once more.

        Parameters
        ----------
        events : source of events
            The source that was matched.
        schema
            As in `tocsin.match`.
        delimiter
            As in `tocsin.match`.
        points : mapping of str to pair of str, optional
            Attributes to add to the events, as lists of two numbers: `{"location": ("lon", "lat")}`.

        Returns
        -------
        iterator of (dict, list of dict)
            Each event that has a match, as a dict, and its rows of the table.

        Raises
        ------
        InvalidInput
            If the answer has lists, or the events are `SparseEvents`.

        Examples
        --------
        >>> import tocsin
        >>> events = [{"order": "x1", "price": 5}, {"order": "x2", "price": 9}]
        >>> answer = tocsin.match({"id": "s", "where": "price < 6"}, events)
        >>> [(event["order"], len(matches)) for event, matches in answer.documents(events)]
        [('x1', 1)]
        """
        return documents(self.table, events, schema, delimiter, checked_points(points))

    def _repr_html_(self) -> str:
        return table_html(self.table, repr(self))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            The same columns, with plain ids.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        try:
            return self.table.to_pandas()
        except ImportError:
            raise MissingExtra("pandas is not installed: pip install 'pandas>=2.2,<3'") from None

    def to_polars(self) -> pl.DataFrame:
        """The table as a Polars data frame.

        Returns
        -------
        polars.DataFrame
            The same columns.

        Raises
        ------
        MissingExtra
            If Polars is not installed.
        """
        try:
            import polars
        except ImportError:
            raise MissingExtra("polars is not installed: pip install polars") from None
        return polars.from_arrow(self.table)

    def __repr__(self) -> str:
        rows = "changes" if "change" in self.table.column_names else "matches"  # of fences
        return (
            f"Answer({self.stats.matches} {rows} of {self.stats.events} events and "
            f"{self.stats.subscriptions} subscriptions, {summary_of(self.errors)}, complete={self.complete})"
        )


def documents(
    table: pa.Table,
    events: Events,
    schema: Mapping[str, ColumnType] | None = None,
    delimiter: str | None = None,
    points: Points | None = None,
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The matched events as dicts, each with its matches: rows of the answer's table."""
    if pa.types.is_list(table.schema.field("subscription").type):
        raise InvalidInput("documents need an answer with a row for each match; leave lists=True out")
    numbers = table["event"].to_numpy()
    matched, starts = np.unique(numbers, return_index=True)
    stops = np.append(starts[1:], len(numbers))
    for given in read_events(events, schema=schema, delimiter=delimiter):
        if isinstance(given, SparseChunk):
            raise InvalidInput(
                "SparseEvents cannot be returned as objects; use the answer's column event, their row numbers"
            )
        for row, record in _records(as_records(given), matched):
            at = int(np.searchsorted(matched, row))
            if points:
                record.update(points_of(record, points))
            yield record, table.slice(starts[at], stops[at] - starts[at]).to_pylist()


def _records(chunk: ObjectChunk | TableChunk, matched: np.ndarray) -> Iterator[tuple[int, dict[str, Any]]]:
    if isinstance(chunk, ObjectChunk):
        wanted = set(matched.tolist())
        yield from ((row, dict(record)) for row, record in chunk.records if row in wanted)
        return
    places = np.flatnonzero(np.isin(chunk.rows, matched))
    try:
        records = python_rows(chunk.table.take(pa.array(places)))
    except pa.ArrowNotImplementedError:  # Arrow takes no rows of some types, such as run-end encoded columns
        every = python_rows(chunk.table)
        records = [every[place] for place in places.tolist()]
    yield from zip(chunk.rows[places].tolist(), records, strict=True)
