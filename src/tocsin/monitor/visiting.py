"""Events as visits: each event of a chunk once for each object that it is about, with its instant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.encoding import Points, encode_chunk, with_coordinates
from tocsin.model.change import Identity
from tocsin.model.elements import within
from tocsin.model.event import Problem
from tocsin.model.fence import plain_key, problem_of
from tocsin.model.instants import MICROSECONDS, read_instant
from tocsin.model.subscription import Reject
from tocsin.model.values import LAST_INSTANT, Instant
from tocsin.monitor.objects import Objects
from tocsin.records.chunks import Chunk, LinesChunk, ObjectChunk
from tocsin.records.json_lines import parse_lines
from tocsin.records.keys import key_values, keys_at

_PLAIN: Final = frozenset((str, int, float, bool, type(None)))
_FARTHEST: Final = 1e19
_EARLIEST: Final = Instant.of(datetime.min).microseconds


class Reading(NamedTuple):
    """How events are read: the options of a call."""

    schema: Mapping[str, Any] | None = None
    points: Points | None = None


class Visiting(NamedTuple):
    """The visits of a chunk, in order. V visits of E events."""

    objects: NDArray[np.int32]  # (V,)
    keys: NDArray[np.int64]  # (V,) the number of the key
    instants: NDArray[np.int64]  # (V,)
    events: NDArray[np.int64]  # (V,) positions in the batch

    def only(self, chosen: NDArray[Any]) -> Visiting:
        """Some of the visits."""
        return Visiting(*(column[chosen] for column in self))


def encoded(
    chunk: Chunk, wanted: Wanted, texts: Mapping[str, Any], how: Reading
) -> tuple[EventBatch, Chunk, list[Reject]]:
    """A chunk as one batch of events, in order; the chunk, perhaps parsed; and the events that could not be read."""
    schema, wanted = {**texts, **(how.schema or {})}, with_coordinates(wanted, how.points or {})
    batches, rejects = encode_chunk(chunk, wanted, schema, how.points)
    if isinstance(chunk, LinesChunk) and sum(1 for one in batches if len(one)) > 1:
        chunk = parse_lines(chunk)
        batches, rejects = encode_chunk(chunk, wanted, schema, how.points)
    batch = next((one for one in batches if len(one)), batches[0])
    return batch, chunk, [*rejects, *(reject for one in batches for reject in one.rejects)]


def identities_of(
    chunk: Chunk, rows: NDArray[np.int64], names: Sequence[str]
) -> tuple[list[Identity | None], list[Problem | None]]:
    """The identity of the object of each row by a key, None if it has none; and the reason."""
    columns = [_values_at(chunk, rows, name) for name in names]
    found: list[Identity | None] = []
    problems: list[Problem | None] = []
    single, first = columns[0], names[0]
    if len(columns) == 1:
        for value in single:
            is_plain = type(value) is str or type(value) is int
            reason = "" if is_plain else problem_of(value, first)
            found.append(None if reason else value if is_plain else plain_key(value))
            problems.append(Problem(first, reason) if reason else None)
        return found, problems
    for values in zip(*columns, strict=True):
        reasons = ((name, problem_of(value, name)) for value, name in zip(values, names, strict=True))
        problem = next((Problem(name, reason) for name, reason in reasons if reason), None)
        found.append(None if problem else tuple(map(plain_key, values)))
        problems.append(problem)
    return found, problems


def instants_of(chunk: Chunk, rows: NDArray[np.int64], time: str, unit: str) -> list[int | None]:
    """The instant of each row in microseconds; None if it has none that can be read."""
    return [microseconds_of(value, unit) for value in _values_at(chunk, rows, time)]


def _values_at(chunk: Chunk, rows: NDArray[np.int64], name: str) -> list[Any]:
    """The values of an attribute at some rows. Those of plain objects do not pass through Arrow."""
    if isinstance(chunk, ObjectChunk) and len(rows) == len(chunk.records):
        values = [within(record, name) for _, record in chunk.records]
        if _PLAIN.issuperset(map(type, values)):
            return values
    return key_values(keys_at(chunk, rows, name))


def microseconds_of(value: Any, unit: str = "s") -> int | None:
    """An instant as microseconds since 1970: a date, a text that is one, or a number in the unit."""
    if isinstance(value, str):
        read = read_instant(value)
        return None if read is None else read.microseconds
    if isinstance(value, date):
        return Instant.of(value).microseconds
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < _FARTHEST:
        return None
    found = round(value * MICROSECONDS[unit])
    return found if _EARLIEST <= found <= LAST_INSTANT.microseconds else None


def numbered(objects: Objects, key: int, identities: Sequence[Identity | None]) -> NDArray[np.int64]:
    """(E,) the number of each event's object by a key; -1 if it has none."""
    number_of = objects.number_of
    return np.array([-1 if one is None else number_of(key, one) for one in identities], np.int64)
