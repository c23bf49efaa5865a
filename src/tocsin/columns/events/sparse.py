"""How do parallel lists of names and values become a batch? Without a Python object per value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.events.batch import Dictionary, EventBatch, ValueStore, Wanted, build_events
from tocsin.columns.events.scalars import encode_scalars
from tocsin.model.subscription import Reject


def encode_sparse(names: pa.Array, values: pa.Array, rows: NDArray[np.int64], wanted: Wanted) -> EventBatch:
    """Encode events whose row i has `names[i][j]` = `values[i][j]`.

    An event whose lists differ in length, that is null, lacks a name, or gives a wanted attribute twice is refused.
    """
    count = len(rows)
    lengths, other = _lengths(names), _lengths(values)
    refused = {
        int(i): "names and values differ in length, or are null"
        for i in np.flatnonzero((lengths != other) | (lengths < 0))
    }
    good = np.ones(count, bool)
    good[list(refused)] = False
    names, values = names.filter(pa.array(good)), values.filter(pa.array(good))
    owners = np.repeat(np.flatnonzero(good), lengths[good])
    attributes, texts = _numbered(names.flatten(), wanted)
    for row in np.unique(owners[attributes == _NULL]).tolist():
        refused[row] = "a name is null"
    column = encode_scalars(values.flatten(), Dictionary())
    keep = column.present & (attributes >= 0)
    for row, attribute in _doubles(owners[keep], attributes[keep]):
        refused.setdefault(row, f"{texts[attribute]}: the attribute comes twice")
    good[list(refused)] = False
    keep &= good[owners]
    rejects = [Reject(int(rows[row]), None, "", reason) for row, reason in refused.items()]
    rejects += [
        Reject(int(rows[owners[i]]), None, texts[attributes[i]], reason) for i, reason in column.problems if keep[i]
    ]
    entries = np.bincount(owners[keep], minlength=count)[good]
    starts = np.concatenate([[0], np.cumsum(entries)])
    events = build_events(starts, attributes[keep], column.types[keep], column.payloads[keep], ValueStore())
    return EventBatch(events, texts, [], rows[good], sorted(rejects, key=lambda reject: reject.row))


_UNWANTED, _NULL = -1, -2


def _lengths(lists: pa.Array) -> NDArray[np.int64]:
    """The length of each list, -1 for null."""
    lengths: NDArray[np.int64] = pc.fill_null(pc.list_value_length(lists), -1).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64)


def _numbered(names: pa.Array, wanted: Wanted) -> tuple[NDArray[np.int64], list[str]]:
    """The number of each name among the wanted ones that come, and those."""
    if not pa.types.is_dictionary(names.type):
        names = names.dictionary_encode()
    texts: list[str] = []
    numbers: dict[str, int] = {}
    table = [_NULL]  # the last place, which index -1 finds, is for null
    for name in reversed(names.dictionary.to_pylist()):
        if name is None or name not in wanted:
            table.append(_NULL if name is None else _UNWANTED)
            continue
        if name not in numbers:  # a dictionary may hold a name twice
            numbers[name] = len(texts)
            texts.append(name)
        table.append(numbers[name])
    places = pc.fill_null(names.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    return np.array(table[::-1], np.int64)[places] if len(places) else np.empty(0, np.int64), texts


def _doubles(owners: NDArray[np.int64], attributes: NDArray[np.int64]) -> list[tuple[int, int]]:
    """The events and attributes of which an event has several."""
    order = np.lexsort((attributes, owners))
    owners, attributes = owners[order], attributes[order]
    again = (owners[1:] == owners[:-1]) & (attributes[1:] == attributes[:-1])
    return list(zip(owners[1:][again].tolist(), attributes[1:][again].tolist(), strict=True))
