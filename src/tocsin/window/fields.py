"""Parsing fields of records into arrays. Arrow columns of the expected type are converted at once.

Other columns, doubtful values and all fields of objects are checked one by one, and accepted or rejected with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.errors import RecordError
from tocsin.language.segmenting import words_of, words_of_all
from tocsin.model.python_values import Unreadable, python_values
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.model.texts import Text
from tocsin.model.values import class_of
from tocsin.model.window import Bounds, checked_seconds, checked_words
from tocsin.records import Chunk, LinesChunk, ObjectChunk, TableChunk, parse_lines

Column: TypeAlias = pa.Array | list[Any]
_PER_SECOND: Final = {"s": 1.0, "ms": 1e3, "us": 1e6}


class WordLists(NamedTuple):
    """The words of records, concatenated. R records of N words, D distinct."""

    starts: NDArray[np.int64]  # (R + 1,)
    numbers: NDArray[np.int64]  # (N,) into `distinct`
    distinct: Sequence[str]


class Fields:
    """The records of a chunk, and the first problem found in each."""

    def __init__(self, chunk: Chunk) -> None:
        if isinstance(chunk, LinesChunk):
            chunk = parse_lines(chunk)
        assert isinstance(chunk, ObjectChunk | TableChunk)
        self._table = chunk.table if isinstance(chunk, TableChunk) else None
        self.objects = [record for _, record in chunk.records] if isinstance(chunk, ObjectChunk) else []
        self.rows = (
            chunk.rows if isinstance(chunk, TableChunk) else np.array([row for row, _ in chunk.records], np.int64)
        )
        self.problems: dict[int, RecordError] = {}
        self._early = self._of_records(chunk.rejects) if chunk.rejects else []
        refused = {reject.row for reject in self._early}
        for at in [at for at, row in enumerate(self.rows.tolist()) if row in refused] if refused else []:
            self.problems[at] = RecordError("")
        for at, record in enumerate(self.objects):
            if not hasattr(record, "get"):
                self.problems[at] = RecordError(f"a record is an object, not {class_of(record)}")
                self.objects[at] = {}

    def _of_records(self, rejects: Sequence[Reject]) -> list[Reject]:
        """The rejects of whole records. That of a field is of the whole record if the chunk has none in its row."""
        rows = set(self.rows.tolist())
        return [reject for reject in rejects if not reject.field or reject.row not in rows]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> list[str]:
        """The columns, if the records are a table."""
        return [] if self._table is None else list(self._table.schema.names)

    def column(self, name: str) -> Column | None:
        """A field of all records; None if no record has it."""
        if self._table is None:
            values = [record.get(name) for record in self.objects]
            return values if any(value is not None for value in values) else None
        if name not in self._table.schema.names:
            return None
        column = self._table[name]
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    def refuse(self, at: int, error: RecordError) -> None:
        """Record a problem of a record."""
        self.problems.setdefault(at, error)

    def each(self, column: Column | None, places: Sequence[int], check: Callable[[Any], Any]) -> list[tuple[int, Any]]:
        """Check some records' values one by one; returns those accepted, with the parsed values."""
        taken = []
        for at in places:
            try:
                taken.append((at, check(None if column is None else value_of(column, at))))
            except RecordError as error:
                self.refuse(at, error)
        return taken

    def good(self) -> NDArray[np.int64]:
        """The places of records without problems."""
        is_good = np.ones(len(self), bool)
        is_good[list(self.problems)] = False
        return np.flatnonzero(is_good)

    def rejects(self, names: Callable[[int], SubscriptionId | None] = lambda _: None) -> list[Reject]:
        """All problems as rejects, by row."""
        own = [
            Reject(int(self.rows[at]), names(at), error.field, error.reason)
            for at, error in self.problems.items()
            if error.reason
        ]
        return sorted([*self._early, *own], key=lambda one: one.row)


def value_of(column: Column, at: int) -> Any:
    """One value of a column; raises `RecordError` for one that Python does not represent."""
    if isinstance(column, list):
        return column[at]
    (value,) = python_values(column.slice(at, 1))
    if isinstance(value, Unreadable):
        raise RecordError(f"it cannot be read: {value.reason}")
    return value


def places_in(fields: Fields, bounds: Bounds) -> NDArray[np.float64]:
    """The locations of the records."""
    column = fields.column("location")
    places, is_good = _pairs(column, len(fields))
    x, y = places[:, 0], places[:, 1]
    is_good &= (bounds.left <= x) & (x <= bounds.right) & (bounds.lower <= y) & (y <= bounds.upper)
    for at, place in fields.each(column, np.flatnonzero(~is_good).tolist(), bounds.place):
        places[at] = place
    return places


def _pairs(column: Column | None, count: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Lists of two numbers, and which of them are certainly valid."""
    places, is_good = np.zeros((count, 2)), np.zeros(count, bool)
    if isinstance(column, pa.Array) and _is_list(column.type) and _is_number(column.type.value_type):
        lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        if (lengths == 2).all():
            flat = column.flatten()
            has_null = flat.is_null(nan_is_null=True).to_numpy(zero_copy_only=False).reshape(-1, 2)
            places[:] = flat.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False).reshape(-1, 2)
            is_good = ~has_null.any(1)
    return places, is_good


def seconds_in(fields: Fields) -> NDArray[np.float64]:
    """The times of the records."""
    column = fields.column("time")
    times, is_good = np.zeros(len(fields)), np.zeros(len(fields), bool)
    if isinstance(column, pa.Array) and (_is_number(column.type) or pa.types.is_timestamp(column.type)):
        if pa.types.is_timestamp(column.type):
            ticks = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
            times[:] = ticks // 1000 / 1e6 if column.type.unit == "ns" else ticks / _PER_SECOND[column.type.unit]
        else:
            times[:] = column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        is_good = np.isfinite(times) & column.is_valid().to_numpy(zero_copy_only=False)
    for at, time in fields.each(column, np.flatnonzero(~is_good).tolist(), checked_seconds):
        times[at] = time
    return times


def words_in(fields: Fields, how: Text) -> WordLists:
    """The words of the records, given as lists or texts; may repeat within a record."""
    words, texts = fields.column("words"), fields.column("text")
    if isinstance(words, pa.Array) and texts is None and _is_list(words.type) and _is_text(words.type.value_type):
        flat = words.flatten()
        if not words.null_count and not flat.null_count:
            return _encoded(words, flat)
    if isinstance(texts, pa.Array) and words is None and _is_text(texts.type) and not texts.null_count:
        told = words_of_all(texts.to_pylist(), how)
        return WordLists(told.starts, told.numbers, told.distinct)
    return _one_by_one(fields, words, texts, how)


def _encoded(words: pa.Array, flat: pa.Array) -> WordLists:
    lengths = pc.list_value_length(words).to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    encoded = flat if pa.types.is_dictionary(flat.type) else flat.dictionary_encode()
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return WordLists(starts, numbers, encoded.dictionary.to_pylist())


def _one_by_one(fields: Fields, words: Column | None, texts: Column | None, how: Text) -> WordLists:
    found: list[list[str]] = [[] for _ in range(len(fields))]
    numbers: dict[str, int] = {}
    for at in range(len(fields)):
        given = None if words is None else value_of(words, at)
        text = None if texts is None else value_of(texts, at)
        try:
            found[at] = chosen_words(given, text, how)
        except RecordError as error:
            fields.refuse(at, error)
    flat = [numbers.setdefault(word, len(numbers)) for own in found for word in own]
    starts = np.concatenate([[0], np.cumsum([len(own) for own in found], dtype=np.int64)])
    return WordLists(starts, np.array(flat, np.int64), list(numbers))


def chosen_words(words: Any, text: Any, how: Text) -> list[str]:
    """The words of one record, which may repeat; raises `RecordError`."""
    if words is not None and text is not None:
        raise RecordError("give words or a text, not both", "words")
    if text is None:
        if words is None:
            raise RecordError("they are missing; give a list of strings, or a text under 'text'", "words")
        return checked_words(words)
    if not isinstance(text, str):
        raise RecordError(f"it is {class_of(text)}; a text is a string", "text")
    return list(words_of(text, how))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_text(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))
