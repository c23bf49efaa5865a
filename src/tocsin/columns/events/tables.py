"""Encoding of Arrow tables, column by column, without a Python object for each value if the type allows.

Struct columns flatten to dotted attributes, and so do maps with string keys, which are sparse attributes. Other types
(lists of objects, decimals, nested lists) go through the same code as objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import starts_of
from tocsin.columns.events.batch import EventBatch, ListElements
from tocsin.columns.events.elements import GatheredLists, list_elements
from tocsin.columns.events.extensions import plain_column
from tocsin.columns.events.geoarrow import encodings_of
from tocsin.columns.events.geometries import encode_degrees, encode_geometries, encode_native, is_binary
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.readings import with_readings
from tocsin.columns.events.scalars import ScalarColumn, encode_scalars, has_scalars, is_given, is_text, texts_of
from tocsin.columns.events.sparse_columns import Entries, encode_together, entries_of, without_nulls
from tocsin.columns.events.store import ValueStore, build_events
from tocsin.columns.events.vectors import encode_lists, has_scalar_lists, is_list
from tocsin.columns.events.wanted import Wanted
from tocsin.errors import RecordError
from tocsin.kernels import codes
from tocsin.model.elements import ELEMENT, as_record, elements_in, every_value
from tocsin.model.event import flatten, is_wkb_struct, names_of_degrees, wkb_bytes
from tocsin.model.expression import EVERYTHING
from tocsin.model.python_values import python_values
from tocsin.model.subscription import Reject
from tocsin.model.values import UNTYPED


def encode_table(
    table: pa.Table | pa.RecordBatch,
    wanted: Wanted,
    rows: NDArray[np.int64] | None = None,
    misfits: Mapping[str, NDArray[np.bool_]] | None = None,
) -> EventBatch:
    """Encode a table. `rows` are the row numbers in the source (from 0 if None).

    Values marked by `misfits[column]` are present but have no type.
    """
    wanted = wanted.also(_clashing(table.schema))
    encoder = _TableEncoder(table.num_rows, wanted, np.arange(table.num_rows) if rows is None else rows)
    given = zip(table.column_names, table.columns, strict=True)
    columns = [(name, _one_array(column)) for name, column in given if wanted.inside(name)]
    encodings = encodings_of(table.schema, [name for name, _ in columns])
    columns = [column for column in columns if not encoder.add_native(*column, encodings.get(column[0]))]
    encoder.add_columns(columns)
    for name, where in (misfits or {}).items():
        if name in wanted:
            encoder.add_untyped(name, np.flatnonzero(where))
    if EVERYTHING in wanted.elements:
        encoder.add_everything(table)
    batch = encoder.finish()
    return with_readings(batch, wanted) if wanted.readings else batch


def _clashing(schema: pa.Schema) -> set[str]:
    """The attributes that occur in two columns. A row with both is rejected, even if nobody asks for the attribute."""
    counts = Counter(name for field in schema for name in _leaf_names(field, ""))
    return {name for name, count in counts.items() if count > 1}


def _is_geojson(kind: pa.StructType) -> bool:
    """Whether the objects of a column may be GeoJSON geometries: each of them says."""
    names = {field.name for field in kind}
    return "type" in names and not names.isdisjoint(("coordinates", "geometries"))


def _is_variant(kind: pa.StructType) -> bool:
    """Whether the objects of a column are values of Spark's type VARIANT."""
    return any(field.metadata is not None and b"variant" in field.metadata for field in kind)


_VARIANT: Final = "values of the type VARIANT have no type here; give variant_get(...) of them, or to_json(...) as JSON"


def _from_base64(texts: pa.Array) -> pa.Array:
    """Decode base64 texts; a text that is not base64 gives empty bytes, which are not a geometry."""
    found: list[bytes | None] = []
    for text in texts.to_pylist():
        try:
            found.append(None if text is None else wkb_bytes(text))
        except ValueError:
            found.append(b"")
    return pa.array(found, pa.binary())


def _leaf_names(field: pa.Field, prefix: str) -> Iterator[str]:
    if not pa.types.is_struct(field.type) or _is_geojson(field.type):
        yield prefix + field.name
    if not pa.types.is_struct(field.type):
        return
    for inner in field.type:
        yield from _leaf_names(inner, f"{prefix}{field.name}.")


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


_SHORT: Final = 1 << 16
"""Rows of shorter tables are sorted as 16-bit integers, which NumPy does in linear time."""


class _TableEncoder:
    def __init__(self, count: int, wanted: Wanted, rows: NDArray[np.int64]) -> None:
        self.count = count
        self.wanted = wanted
        self.rows = rows
        self.store = ValueStore()
        self.columns: list[tuple[str, Entries]] = []
        self.bad_rows: dict[int, Reject] = {}
        self.rejects: list[Reject] = []
        self.elements: dict[str, ListElements] = {}
        self.from_maps: set[str] = set()  # attributes that a row may give twice
        self.objects: list[
            tuple[str, NDArray[np.int64]]
        ] = []  # rows that have an object, or a list of objects, under a name

    def add_columns(self, columns: Sequence[tuple[str, pa.Array]]) -> None:
        """Add whole columns."""
        together = encode_together([column for _, column in columns], self.store.dictionary)
        for number, (name, column) in enumerate(columns):
            if number not in together:
                self.add(name, column)
            elif name in self.wanted:
                self._add_entries(name, *together[number])

    def add_native(self, name: str, column: pa.Array, encoding: str | None) -> bool:
        """Add a column of geometries in an encoding of GeoArrow; False if it is to be added in another way, too."""
        if encoding is None:
            return False
        if name in self.wanted:
            self._add_column(name, np.arange(self.count), encode_native(column, self.store, encoding))
        return not pa.types.is_struct(column.type)  # members of a struct are attributes

    def add(self, name: str, column: pa.Array) -> None:
        """Add a column, or the columns within it."""
        column = plain_column(column)
        if isinstance(column, pa.ExtensionArray):
            if name in self.wanted:
                reason = f"values of the Arrow extension type {column.type.extension_name} have no type here"
                self._add_without_type(name, column.storage, reason)
            return
        if is_list(column.type) and name in self.wanted.elements:
            self._add_elements(name, column)
            if not self.wanted.holds(name):
                return
        if pa.types.is_struct(column.type) and _is_variant(column.type):
            self._add_without_type(name, column, _VARIANT)
        elif pa.types.is_struct(column.type) and not _is_geojson(column.type):
            self._add_object(name, column)
            if is_wkb_struct(field.name for field in column.type):
                self._add_wkb(name, column)
            if name in self.wanted and (degrees := names_of_degrees(field.name for field in column.type)):
                y, x = (column.flatten()[column.type.get_field_index(part)] for part in degrees)
                self._add_column(name, np.arange(self.count), encode_degrees(y, x, self.store))
            for inner, child in zip(column.type, column.flatten(), strict=True):
                if self.wanted.inside(f"{name}.{inner.name}"):
                    self.add(f"{name}.{inner.name}", child)
        elif pa.types.is_map(column.type) and _has_text_keys(column.type):
            self._add_object(name, column)
            self._add_map(name, column)
        else:
            self._add_values(name, column)

    def _add_values(self, name: str, column: pa.Array) -> None:
        """Add a column of scalars, lists of scalars or geometries; values of other types are added one by one."""
        encoders: tuple[tuple[Callable[..., bool], Callable[..., ScalarColumn], Any], ...] = (
            (has_scalars, encode_scalars, self.store.dictionary),
            (has_scalar_lists, encode_lists, self.store),
            (is_binary, encode_geometries, self.store),
        )
        for takes, encode, keeps in encoders:
            if takes(column.type):
                if name in self.wanted:
                    rows, given = without_nulls(column)
                    self._add_column(name, rows, encode(given, keeps))
                return
        self._add_objects(name, column)

    def _add_elements(self, name: str, column: pa.Array) -> None:
        """Add the elements of a column of lists: structs form a table, other elements its only column."""
        present = is_given(column)
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        owners = np.repeat(np.arange(self.count), np.where(present, lengths, 0))
        flat = column.flatten()
        wanted = self.wanted.elements[name]
        if not pa.types.is_struct(flat.type):
            batch = encode_table(pa.table({ELEMENT: flat}), wanted)
        elif _is_geojson(flat.type):
            batch = encode_objects(enumerate(map(as_record, python_values(flat))), wanted, tells_nulls=False)
        else:
            table = pa.Table.from_arrays(flat.flatten(), names=[field.name for field in flat.type])
            batch = encode_table(table if len(flat.type) else pa.table({ELEMENT: pa.nulls(len(flat))}), wanted)
        self.elements.setdefault(name, list_elements(np.flatnonzero(present), owners, batch))

    def _gather_elements(self, name: str, rows: Iterable[int], values: Iterable[object]) -> None:
        """Add the elements of lists inside values of other types."""
        inside = [one for one in self.wanted.elements.copy() if one == name or one.startswith(f"{name}.")]
        lists = {one: GatheredLists(self.wanted.elements[one]) for one in inside if one not in self.elements}
        if not lists:
            return
        for row, value in zip(rows, values, strict=True):
            for one, gathered in lists.items():
                found = elements_in({name: value}, one)
                if found is not None:
                    gathered.add(row, found)
        encode = partial(encode_objects, tells_nulls=False)
        self.elements |= {one: gathered.finish(encode) for one, gathered in lists.items()}

    def add_everything(self, table: pa.Table | pa.RecordBatch) -> None:
        """Add all values of each row as elements of one list; those of types that Python cannot read are left out."""
        lists = GatheredLists(self.wanted.elements[EVERYTHING])
        columns = [python_values(_one_array(column)) for column in table.columns]
        for row in range(self.count):
            lists.add(row, [one for column in columns for one in every_value(column[row])])
        self.elements[EVERYTHING] = lists.finish(partial(encode_objects, tells_nulls=False))

    def _add_column(self, name: str, rows: NDArray[np.int64], column: ScalarColumn) -> None:
        self._add_entries(name, *entries_of(rows, column))

    def _add_entries(self, name: str, entries: Entries, problems: Sequence[tuple[int, str]]) -> None:
        self.columns.append((name, entries))
        self.rejects.extend(Reject(int(self.rows[row]), None, name, reason) for row, reason in problems)

    def _add_without_type(self, name: str, column: pa.Array, reason: str) -> None:
        """Add values that are present but have no type: user-defined Arrow types, and Spark's VARIANT."""
        rows = np.flatnonzero(is_given(column))
        if name in self.wanted:
            self.add_untyped(name, rows)
        self.rejects.extend(Reject(int(self.rows[row]), None, name, reason) for row in rows.tolist())

    def _add_wkb(self, name: str, column: pa.StructArray) -> None:
        """Add the places of structs with well-known binary, under their own name."""
        if name not in self.wanted:
            return
        place = column.type.get_field_index("wkb")
        data = column.flatten()[place]
        if is_text(data.type):
            data = _from_base64(data)
        if is_binary(data.type):
            self._add_column(name, np.arange(self.count), encode_geometries(data, self.store))

    def add_untyped(self, name: str, rows: NDArray[np.int64]) -> None:
        """Add values that are present but have no type."""
        kinds = np.full(len(rows), codes.UNTYPED, np.uint8)
        self.columns.append((name, Entries(rows, kinds, np.zeros(len(rows), np.int64))))

    def _add_object(self, name: str, column: pa.Array) -> None:
        """Record which rows have an object."""
        if name in self.wanted:
            self.objects.append((name, np.flatnonzero(is_given(column))))

    def _add_map(self, name: str, column: pa.MapArray) -> None:
        """Add a map: each key becomes an attribute, with its entries grouped."""
        offsets = column.offsets.to_numpy()
        lengths = np.where(is_given(column), np.diff(offsets), 0)
        rows = np.repeat(np.arange(self.count), lengths)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        entries = pa.array(np.repeat(offsets[:-1], lengths) + within)
        keys, items = _plain_text(column.keys).take(entries), column.items.take(entries)
        groups = keys.dictionary_encode()
        places = groups.indices.to_numpy(zero_copy_only=False)
        order = np.argsort(places, kind="stable")
        bounds = np.searchsorted(places[order], np.arange(len(groups.dictionary) + 1))
        for number, key in enumerate(texts_of(groups.dictionary)):
            chosen = order[bounds[number] : bounds[number + 1]]
            if isinstance(key, bytes):
                reason = f"the key {key!r:.40} is not valid UTF-8"
                self.rejects.extend(Reject(int(self.rows[row]), None, name, reason) for row in rows[chosen].tolist())
                continue
            attribute = f"{name}.{key}"
            if not self.wanted.inside(attribute):
                continue
            values = items.take(pa.array(chosen))
            self.from_maps.add(attribute)
            if has_scalars(values.type) and attribute in self.wanted:
                self._add_column(attribute, rows[chosen], encode_scalars(values, self.store.dictionary))
            elif has_scalar_lists(values.type) and attribute in self.wanted:
                self._add_column(attribute, rows[chosen], encode_lists(values, self.store))
            else:
                self._add_objects(attribute, values, rows[chosen])

    def _add_objects(self, name: str, column: pa.Array, rows: NDArray[np.int64] | None = None) -> None:
        """Add values of other types, one Python object each."""
        found: dict[str, tuple[list[int], list[int], list[int]]] = {}
        objects: dict[str, list[int]] = {}
        places = range(self.count) if rows is None else rows.tolist()
        python = python_values(column)
        self._gather_elements(name, places, python)
        for row, value in zip(places, python, strict=True):
            try:
                values, problems = flatten({name: value})
            except RecordError as error:
                self._refuse(row, error.field, error.reason)
                continue
            reported = {problem.field for problem in problems}
            for attribute, one in values.items():
                if one is UNTYPED and attribute not in reported:
                    objects.setdefault(attribute, []).append(row)
                elif attribute in self.wanted:
                    kind, payload = self.store.entry(one)
                    for part, item in zip(found.setdefault(attribute, ([], [], [])), (row, kind, payload), strict=True):
                        part.append(item)
            self.rejects.extend(Reject(int(self.rows[row]), None, p.field, p.reason) for p in problems)
        for attribute, (at, types, payloads) in found.items():
            entries = Entries(np.array(at, np.int64), np.array(types, np.uint8), np.array(payloads, np.int64))
            self.columns.append((attribute, entries))
        if rows is not None:
            self.from_maps |= found.keys()
        self.objects += [(attribute, np.array(at, np.int64)) for attribute, at in objects.items()]

    def _refuse(self, row: int, field: str, reason: str) -> None:
        self.bad_rows.setdefault(row, Reject(int(self.rows[row]), None, field, reason))

    def _add_objects_themselves(self) -> None:
        """Add objects under their own name, without a type, unless another value has that name."""
        rows_of: dict[str, list[NDArray[np.int64]]] = {}
        for name, rows in self.objects:
            if name in self.wanted:
                rows_of.setdefault(name, []).append(rows)
        for name, parts in rows_of.items():
            given = [column.rows for other, column in self.columns if other == name]
            rows = np.unique(np.concatenate(parts))
            self.add_untyped(name, np.setdiff1d(rows, np.concatenate(given)) if given else rows)

    def finish(self) -> EventBatch:
        self._add_objects_themselves()
        self._find_doubles()
        good = np.ones(self.count, bool)
        good[list(self.bad_rows)] = False
        numbers: dict[str, int] = {}
        given = [numbers.setdefault(name, len(numbers)) for name, _ in self.columns]
        attributes = np.repeat(np.array(given, np.int32), [len(column.rows) for _, column in self.columns])
        nothing = Entries(np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.int64))
        rows, types, payloads = map(np.concatenate, zip(nothing, *(column for _, column in self.columns), strict=True))
        if self.bad_rows:
            keep = good[rows]
            attributes, rows, types, payloads = attributes[keep], rows[keep], types[keep], payloads[keep]
        starts = starts_of(np.bincount(rows, minlength=self.count)[good], int(good.sum()))
        order = np.argsort(rows.astype(np.uint16) if self.count <= _SHORT else rows, kind="stable")
        events = build_events(starts, attributes[order], types[order], payloads[order], self.store)
        return EventBatch(
            events,
            list(numbers),
            self.store.dictionary.texts(),
            self.rows[good],
            sorted(self.rejects + list(self.bad_rows.values()), key=lambda reject: reject.row),
            {name: _of_good(lists, good) for name, lists in self.elements.items()},
            self.store.shapes,
        )

    def _find_doubles(self) -> None:
        """Reject the rows that give one attribute twice."""
        seen: dict[str, NDArray[np.int64]] = {}
        counts = Counter(name for name, _ in self.columns)
        for name, column in self.columns:
            if counts[name] == 1 and name not in self.from_maps:
                continue
            before = seen.get(name)
            repeated = () if before is None else np.intersect1d(before, column.rows).tolist()
            twice = column.rows[1:][column.rows[1:] == column.rows[:-1]].tolist()  # a map may repeat a key
            for row in (*repeated, *twice):
                self._refuse(row, name, "the attribute comes twice")
            seen[name] = column.rows if before is None else np.union1d(before, column.rows)


def _of_good(lists: ListElements, good: NDArray[np.bool_]) -> ListElements:
    """The lists of accepted rows, by positions among these."""
    places = np.where(good, np.cumsum(good) - 1, -1)
    events = places[lists.events]
    return ListElements(events[events >= 0], places[lists.owners], lists.batch)


def _has_text_keys(kind: pa.MapType) -> bool:
    keys = kind.key_type
    return is_text(keys.value_type if pa.types.is_dictionary(keys) else keys)


def _plain_text(texts: pa.Array) -> pa.Array:
    """Strings of any kind as large_string, which every Arrow function accepts."""
    return texts.cast(pa.large_string()) if texts.type != pa.large_string() else texts
