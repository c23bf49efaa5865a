"""Encoding of parallel lists of names and values, without a Python object for each value."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.elements import list_elements
from tocsin.columns.events.readings import with_readings
from tocsin.columns.events.scalars import encode_scalars
from tocsin.columns.events.store import Dictionary, ValueStore, build_events
from tocsin.columns.events.tables import encode_table
from tocsin.columns.events.wanted import Wanted
from tocsin.kernels.distinct import repeated
from tocsin.model.elements import ELEMENT
from tocsin.model.expression import EVERYTHING
from tocsin.model.subscription import Reject


def encode_sparse(names: pa.Array, values: pa.Array, rows: NDArray[np.int64], wanted: Wanted) -> EventBatch:
    """Encode events; row i has `names[i][j]` = `values[i][j]`.

    An event is rejected if its lists differ in length, it is null, a name is null, or a wanted attribute occurs twice.
    """
    count = len(rows)
    lengths, other = _lengths(names), _lengths(values)
    refused = {
        int(i): "its names and values differ in length, or are null"
        for i in np.flatnonzero((lengths != other) | (lengths < 0))
    }
    good = np.ones(count, bool)
    good[list(refused)] = False
    if refused:
        names, values = names.filter(pa.array(good)), values.filter(pa.array(good))
    owners = np.repeat(np.flatnonzero(good), lengths[good])
    attributes, texts = _numbered(names.flatten(), wanted)
    for row in np.unique(owners[attributes == _NULL]).tolist():
        refused[row] = "a name is null"
    column = encode_scalars(values.flatten(), Dictionary())
    keep = column.present & (attributes >= 0)
    given = _places(keep)
    for row, attribute in _doubles(owners[given], attributes[given], len(texts)):
        refused.setdefault(row, f"{texts[attribute]}: the attribute comes twice")
    good[list(refused)] = False
    keep &= good[owners]
    rejects = [Reject(int(rows[row]), None, "", reason) for row, reason in refused.items()]
    rejects += [
        Reject(int(rows[owners[i]]), None, texts[attributes[i]], reason) for i, reason in column.problems if keep[i]
    ]
    kept = _places(keep)
    entries = np.bincount(owners[kept], minlength=count)[good]
    starts = np.concatenate([[0], np.cumsum(entries)])
    events = build_events(starts, attributes[kept], column.types[kept], column.payloads[kept], ValueStore())
    elements = {}
    if EVERYTHING in wanted.elements:
        own = np.flatnonzero(column.present)
        all_values = encode_table(pa.table({ELEMENT: values.flatten().take(own)}), wanted.elements[EVERYTHING])
        places = np.where(good, np.cumsum(good) - 1, -1)
        elements = {EVERYTHING: list_elements(np.arange(int(good.sum())), places[owners[own]], all_values)}
    in_order = sorted(rejects, key=lambda reject: reject.row)
    batch = EventBatch(events, texts, [], rows[good], in_order, elements)
    return with_readings(batch, wanted) if wanted.readings else batch


_UNWANTED, _NULL = -1, -2


def _lengths(lists: pa.Array) -> NDArray[np.int64]:
    """The length of each list, -1 for null."""
    lengths: NDArray[np.int64] = pc.fill_null(pc.list_value_length(lists), -1).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64)


def _places(mask: NDArray[np.bool_]) -> Any:
    """The selection of a mask; a full slice, which makes no copy, if everything is selected."""
    return slice(None) if mask.all() else mask


class _Names(NamedTuple):
    """A dictionary of names, and the number of each among the names wanted at that time."""

    dictionary: pa.Array
    wanted: int  # their count; `Wanted.add` adds a name last, so no name is counted before it is there
    table: NDArray[np.int64]  # the number of each name; the last entry, found by index -1, is for null
    texts: list[str]


def _numbered(names: pa.Array, wanted: Wanted) -> tuple[NDArray[np.int64], list[str]]:
    """The number of each name among the wanted names present, and these. Chunks of one table share a dictionary."""
    if not pa.types.is_dictionary(names.type):
        names = names.dictionary_encode()
    known = wanted.kept.get("sparse")
    if known is None or known.wanted != len(wanted.names or ()) or not known.dictionary.equals(names.dictionary):
        known = wanted.kept["sparse"] = _names(names.dictionary, wanted)
    places = pc.fill_null(names.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    return known.table[places], known.texts


def _names(dictionary: pa.Array, wanted: Wanted) -> _Names:
    numbers: dict[str, int] = {}  # a dictionary may hold a name twice
    count = len(wanted.names or ())
    table = [
        _NULL if name is None else numbers.setdefault(name, len(numbers)) if name in wanted else _UNWANTED
        for name in dictionary.to_pylist()
    ]
    return _Names(dictionary, count, np.array([*table, _NULL], np.int64), list(numbers))


def _doubles(owners: NDArray[np.int64], attributes: NDArray[np.int64], count: int) -> list[tuple[int, int]]:
    """The pairs of event and attribute that occur more than once; `owners` are ascending."""
    again = repeated(owners, attributes, np.full(count, -1, np.int64))
    return list(zip(owners[again].tolist(), attributes[again].tolist(), strict=True))
