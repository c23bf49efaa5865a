"""The attributes of events and their types, recorded during matching for warnings."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.decoding import values_of
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.payloads import key_of
from tocsin.encoding import Points, checked_points, encode_chunk, with_coordinates
from tocsin.engine.coordinates import beyond_globe, edges_of, system_of, systems_of
from tocsin.kernels import codes
from tocsin.kernels.reading.seen import LARGE, note_types
from tocsin.model.elements import Values, within
from tocsin.model.expression import EVERYTHING
from tocsin.model.python_values import python_rows
from tocsin.model.readings import attribute_of
from tocsin.model.subscription import Reject
from tocsin.model.values import LARGEST_INTEGER
from tocsin.records import Chunk, TableChunk, as_records, read_events
from tocsin.records.chunks import SparseChunk
from tocsin.records.csv_values import convert_column

_FIRST: Final = 256
_LEAST, _MOST = key_of(-float(LARGEST_INTEGER)), key_of(float(LARGEST_INTEGER))
_PLACES = 1 << codes.GEOMETRY | 1 << codes.SHAPE
_STRING, _WORDS = np.uint32(1 << codes.STRING), np.uint32(1 << codes.LIST)
"""A string, and the list of words that it becomes if it is said to be a text."""


class Seen:
    """The observed attributes of events and their types. Many threads may add."""

    def __init__(self, of: tuple[Seen, str] | None = None) -> None:
        self.events = 0
        self._of = of  # for elements: the outer `Seen`, and the attribute of the lists
        self.types: dict[str, int] = {}  # one bit per type, by attribute or reading
        self.items: dict[str, int] = {}  # the same for the items of lists
        self.no_places: dict[str, int] = {}  # number of lists that are not places, by attribute
        self.elements: dict[str, Seen] = {}  # the same for elements of lists, by attribute of the lists
        self.refused: list[Reject] = []  # rejected events and values of a sample
        self.lost: set[int] = set()  # rows of the rejected events of a sample
        self.with_key = self.without_key = 0  # matched events with and without the `event_key` attribute
        self.texts: set[str] = set()  # attributes whose strings became lists of words
        self.large: set[str] = set()  # attributes with numbers of 2**53 or more
        self.singles: set[str] = set()  # columns of floats of 32 bits or less
        self.systems: dict[str, str] = {}  # reference systems of geometry columns, if not longitude and latitude
        self.edges: dict[str, str] = {}  # kinds of edges of geometry columns, if not straight on the plane
        self.beyond_globe: dict[str, int] = {}  # points beyond longitude 180 or latitude 90, by attribute
        self.tells_nulls = False  # whether some events can have nulls, which columns of a table cannot
        self.first: Chunk | None = None  # the first events, for the names of attributes in no subscription
        self._schema: pa.Schema | None = None  # of the last table
        self._lock = threading.Lock()
        self._pending: tuple[list[str], NDArray[np.uint32]] = [], np.empty(0, np.uint32)

    def add(self, chunk: Chunk, batches: Sequence[EventBatch]) -> None:
        """Record a chunk, and the batches made from it. Cost: a nanosecond per value."""
        if self.first is None and any(map(len, batches)):
            self.first = chunk
        if not isinstance(chunk, TableChunk | SparseChunk):
            self.tells_nulls = True
        if isinstance(chunk, TableChunk):
            self._add_systems(chunk.table.schema)
        for batch in batches:
            self._add(batch)

    def _add_systems(self, schema: pa.Schema) -> None:
        """Record the properties of a table's columns. Most chunks have the schema of the previous one."""
        if self._schema is None or not schema.equals(self._schema, check_metadata=True):
            self._schema = schema
            self.systems.update(systems_of(schema))
            self.edges.update(edges_of(schema))
            self.singles.update(name for field in schema for name in _singles(field))

    def add_keys(self, with_key: int, without_key: int) -> None:
        """Record how many events have the `event_key` attribute, and how many do not."""
        with self._lock:
            self.with_key += with_key
            self.without_key += without_key

    def _add(self, batch: EventBatch) -> None:
        for name, lists in list(batch.elements.items()):
            if len(lists.events):
                with self._lock:
                    own = self.elements.setdefault(name, Seen((self, name)))
                own._add(lists.batch)
        beyond = beyond_globe(batch) if len(batch.arrays.boxes) else {}
        items = _types_in_lists(batch) if len(batch.arrays.list_types) else {}
        no_places = _lists_without_place(batch) if len(batch.arrays.list_boxes) else {}
        with self._lock:
            self.events += len(batch)
            self.texts.update(batch.texts)
            for name, bits in (*items.items(), *((name, 1 << codes.STRING) for name in batch.texts)):
                self.items[name] = self.items.get(name, 0) | bits
            for counts, more in ((self.beyond_globe, beyond), (self.no_places, no_places)):
                for name, count in more.items():
                    counts[name] = counts.get(name, 0) + count
            names, found = self._pending
            if names is not batch.attributes:
                self._fold()
                found = np.zeros(len(batch.attributes), np.uint32)
            elif len(found) < len(names):  # batches share this list, and it grows
                found = np.concatenate([found, np.zeros(len(names), np.uint32)])
            entries = batch.arrays
            note_types(entries.attributes, entries.types, entries.payloads, _LEAST, _MOST, found)
            for number in [batch.attributes.index(name) for name in batch.texts if name in batch.attributes]:
                if found[number] & _STRING:
                    found[number] = found[number] & ~_STRING | _WORDS
            self._pending = batch.attributes, found

    def _fold(self) -> None:
        names, found = self._pending
        for number in np.flatnonzero(found).tolist():
            self.types[names[number]] = self.types.get(names[number], 0) | int(found[number]) & ~(1 << LARGE)
            if found[number] >> LARGE:
                self.large.add(names[number])
        self._pending = [], np.empty(0, np.uint32)

    def finish(self) -> None:
        """Update `types` with all batches, and `systems` with what the first geometries name."""
        with self._lock:
            self._fold()
        places = [name for name, bits in self.types.items() if bits & _PLACES and name not in self.systems]
        if places and self.first is not None and not isinstance(self.first, SparseChunk):
            records = self._first_records()
            named = {name: {system_of(within(record, name)) for record in records} for name in places}
            self.systems.update({name: max(systems) for name, systems in named.items() if any(systems)})
        for own in self.elements.values():
            own.finish()

    def names(self) -> list[str]:
        """The observed attributes; those in no subscription only from the first events."""
        found = set(map(attribute_of, self.types)).union(self.elements)
        if self.first is not None:
            first = self.first.part(0, min(len(self.first), _FIRST))
            found.update(name for batch in encode_chunk(first, Wanted(None))[0] for name in batch.attributes)
            found.update(first.others if isinstance(first, TableChunk) else ())
        if self._of is not None:
            outer, prefix = self._of[0], f"{self._of[1]}."
            found.update(name.removeprefix(prefix) for name in outer.names() if name.startswith(prefix))
        return sorted(found - {EVERYTHING})

    def first_strings(self, attributes: Collection[str]) -> dict[str, list[str]]:
        """The strings of each of some attributes in the first events."""
        if self.first is None:
            return {name: [] for name in attributes}
        batches = encode_chunk(self.first.part(0, min(len(self.first), _FIRST)), Wanted(attributes))[0]
        return {name: [text for batch in batches for text in _texts_of(batch, name)] for name in attributes}

    def first_values(self, attributes: Sequence[str], most: int) -> list[Values]:
        """The values of some attributes in each of the first events."""
        if self.first is None:
            return []
        first = self.first.part(0, min(len(self.first), most))
        batches = encode_chunk(first, Wanted(attributes))[0]
        return [values_of(batch, place) for batch in batches for place in range(len(batch))]

    def unreadable(self, attribute: str, kind: str) -> str | None:
        """A text of the attribute that is not a value of a type, if most of its first texts are not."""
        texts = self.first_strings([attribute])[attribute]
        _, problems = convert_column(pa.array([text.encode() for text in texts], pa.binary()), kind)
        return texts[problems[0][0]] if 2 * len(problems) > len(texts) else None

    def untyped(self, attribute: str) -> str:
        """What the values of an attribute are that have no type, in words, by the first events."""
        if self.first is None or isinstance(self.first, SparseChunk):
            return "an object or unreadable"
        values = [within(record, attribute) for record in self._first_records()]
        found = {"an object": Mapping, "a list of objects or lists": list}
        return " or ".join(word for word, kind in found.items() if any(isinstance(one, kind) for one in values)) or (
            "unreadable"
        )

    def _first_records(self) -> list[Mapping[str, Any]]:
        """The first events as objects."""
        assert self.first is not None
        first = as_records(self.first.part(0, min(len(self.first), _FIRST)))
        if isinstance(first, TableChunk):
            return [*python_rows(first.table)]
        return [record for _, record in first.records]


def _texts_of(batch: EventBatch, attribute: str) -> list[str]:
    """The strings of an attribute, in the order of the events."""
    if attribute not in batch.attributes:
        return []
    arrays = batch.arrays
    own = (arrays.attributes == batch.attributes.index(attribute)) & (arrays.types == codes.STRING)
    return [batch.strings[number] for number in arrays.payloads[own].tolist()]


def _singles(field: pa.Field) -> Iterator[str]:
    """The attributes of a column, or of the structs in it, that are floats of 32 bits or less."""
    if pa.types.is_struct(field.type):
        yield from (f"{field.name}.{name}" for inner in field.type for name in _singles(inner))
    elif pa.types.is_floating(field.type) and not pa.types.is_float64(field.type):
        yield field.name


def _lists_without_place(batch: EventBatch) -> dict[str, int]:
    """The number of lists that are neither a point nor a box, by attribute."""
    arrays = batch.arrays
    lists = np.flatnonzero(arrays.types == codes.LIST)
    lists = lists[arrays.list_boxes[arrays.payloads[lists]] < 0]
    counts = np.bincount(arrays.attributes[lists], minlength=1)
    return {batch.attributes[number]: int(counts[number]) for number in np.flatnonzero(counts).tolist()}


def _types_in_lists(batch: EventBatch) -> dict[str, int]:
    """The types of the items of lists, one bit each, by attribute. Cost: some nanoseconds per value."""
    arrays = batch.arrays
    is_list = arrays.types == codes.LIST
    own = np.zeros(len(batch.attributes), np.int64)
    lowest, highest = int(arrays.list_types.min()), int(arrays.list_types.max())
    if lowest == highest:
        own[arrays.attributes[is_list]] = 1 << lowest
    else:
        bits = np.int64(1) << arrays.list_types.astype(np.int64)
        filled = np.flatnonzero(np.diff(arrays.list_starts))
        found = np.zeros(len(arrays.list_starts) - 1, np.int64)
        found[filled] = np.bitwise_or.reduceat(bits, arrays.list_starts[filled])
        np.bitwise_or.at(own, arrays.attributes[is_list], found[arrays.payloads[is_list]])
    return {batch.attributes[number]: int(own[number]) for number in np.flatnonzero(own).tolist()}


def seen_in(
    events: Any,
    wanted: Wanted,
    schema: Mapping[str, Any] | None = None,
    delimiter: str | None = None,
    points: Points | None = None,
    texts: Mapping[str, Any] | None = None,
) -> Seen:
    """The wanted attributes in a source of events, with their types; `texts` are further types."""
    seen, points = Seen(), checked_points(points)
    wanted = with_coordinates(wanted, points)
    types = {**(texts or {}), **(schema or {})}
    for chunk in read_events(events, wanted.inside, schema, delimiter=delimiter):
        batches, rejects = encode_chunk(chunk, wanted, types, points)
        seen.add(chunk, batches)
        refused = [*rejects, *(reject for batch in batches for reject in batch.rejects)]
        seen.refused += refused
        seen.lost |= {reject.row for reject in refused}.difference(*(batch.rows.tolist() for batch in batches))
    return seen
