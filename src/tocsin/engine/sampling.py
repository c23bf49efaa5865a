"""Statistics for indexes, counted on a sample of events: how often each attribute and value occurs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.encoding import Points, checked_points, encode_chunk
from tocsin.engine.loading import require_some
from tocsin.errors import InvalidInput
from tocsin.index import Statistics, sampled
from tocsin.index.texts import with_texts
from tocsin.model.subscription import Reject
from tocsin.records import read_events
from tocsin.records.csv_files import ColumnType
from tocsin.records.events import Events
from tocsin.spelling import option

_FEW: Final = 10_000
_ALL: Final = Wanted(None)


def sample(
    events: Events,
    *,
    limit: int = _FEW,
    schema: Mapping[str, ColumnType] | None = None,
    delimiter: str | None = None,
    points: Points | None = None,
) -> Statistics:
    """Count on a sample of events how often they have each attribute and value.

    Give the result as `statistics` to `Engine` or `tocsin.spark.compile`, which then find subscriptions by rarer keys.

    Parameters
    ----------
    events : source of events
        Any that `tocsin.match` accepts.
    limit : int
        About how many events to read, from the first on.
    schema
        As in `tocsin.match`.
    delimiter
        As in `tocsin.match`.
    points
        As in `tocsin.match`.

    Returns
    -------
    Statistics
        The shares of attributes, and the sampled values.

    Raises
    ------
    InvalidInput
        If there are no events, or the source cannot be read.
    RecordError
        If no event can be read.

    Examples
    --------
    >>> sample([{"a": 1, "b": 2}, {"a": 3}]).shares
    {'a': 1.0, 'b': 0.5}
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InvalidInput(f"limit is {limit!r}; it must be an integer of at least 1")
    refused: list[Reject] = []
    batches = [
        with_texts(batch, _ALL) for batch in first_batches(events, _ALL, limit, schema, delimiter, points, refused)
    ]
    if not any(len(batch) for batch in batches):
        require_some(0, refused, "event")
        raise InvalidInput(
            f"there is no event to count; leave {option('statistics')} out to estimate them from the subscriptions"
        )
    return sampled(batches)


def first_batches(
    events: Events,
    wanted: Wanted,
    limit: int = _FEW,
    schema: Mapping[str, ColumnType] | None = None,
    delimiter: str | None = None,
    points: Points | None = None,
    refused: list[Reject] | None = None,
) -> list[EventBatch]:
    """The wanted attributes of about the first `limit` events of a source. Adds the rejected ones to `refused`."""
    points = checked_points(points)
    batches: list[EventBatch] = []
    for chunk in read_events(events, schema=schema, delimiter=delimiter):
        left = limit - sum(len(batch) for batch in batches)
        if left <= 0:
            break
        part = chunk if len(chunk) <= left else chunk.part(0, left)
        encoded, rejects = encode_chunk(part, wanted, schema, points)
        batches.extend(encoded)
        if refused is not None:
            refused += rejects
    return batches
