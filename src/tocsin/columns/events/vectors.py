"""How do Arrow's list columns become sets and boxes? A whole column's elements at a time."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.events.batch import ValueStore
from tocsin.columns.events.scalars import ScalarColumn, encode_scalars, has_scalars
from tocsin.columns.numbers import numbers_of
from tocsin.kernels import codes


def has_scalar_lists(kind: pa.DataType) -> bool:
    """Whether `encode_lists` takes columns of this type."""
    return is_list(kind) and has_scalars(kind.value_type)


def is_list(kind: pa.DataType) -> bool:
    """Whether values of this type are lists, with offsets or of one size."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def encode_lists(column: pa.Array, store: ValueStore) -> ScalarColumn:
    """Encode a column of lists of scalars. Null elements are skipped; one without a type leaves its list without."""
    count = len(column)
    present = pc.is_valid(column).to_numpy(zero_copy_only=False)
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    owners = np.repeat(np.arange(count), np.where(present, lengths, 0))
    elements = encode_scalars(column.flatten(), store.dictionary)
    problems = [(int(owners[place]), reason) for place, reason in elements.problems]
    untyped = np.zeros(count, bool)
    untyped[owners[elements.present & (elements.types == codes.UNTYPED)]] = True
    keep = elements.present & ~untyped[owners]
    owners, types, payloads = owners[keep], elements.types[keep], elements.payloads[keep]
    numbers = add_lists(present & ~untyped, owners, types, payloads, store)
    return ScalarColumn(
        present,
        np.where(untyped, codes.UNTYPED, codes.LIST).astype(np.uint8),
        np.where(untyped, 0, numbers),
        sorted(set(problems)),
    )


def add_lists(
    valid: NDArray[np.bool_],
    owners: NDArray[np.int64],
    types: NDArray[np.uint8],
    payloads: NDArray[np.int64],
    store: ValueStore,
) -> NDArray[np.int64]:
    """Store many lists: the elements in order, each with the number of its list; returns their numbers in the store."""
    boxes = _boxes(len(valid), owners, types, payloads, store)
    return _add_sets(valid, owners, types, payloads, boxes, store)


def _boxes(
    count: int,
    owners: NDArray[np.int64],
    types: NDArray[np.uint8],
    payloads: NDArray[np.int64],
    store: ValueStore,
) -> NDArray[np.int64]:
    """The box number of each list that two or four numbers make a point or a box, else -1."""
    boxes = np.full(count, -1, np.int64)
    lengths = np.bincount(owners, minlength=count)
    starts = np.cumsum(lengths) - lengths
    strange = np.bincount(owners, weights=types != codes.NUMBER, minlength=count)
    for size in (2, 4):
        chosen = np.flatnonzero((lengths == size) & (strange == 0))
        numbers = numbers_of(payloads[starts[chosen][:, None] + np.arange(size)])
        bounds = np.concatenate([numbers, numbers], axis=1) if size == 2 else numbers
        ordered = (bounds[:, 0] <= bounds[:, 2]) & (bounds[:, 1] <= bounds[:, 3])
        boxes[chosen[ordered]] = store.boxes + np.arange(int(ordered.sum()))
        store.extend("bounds", bounds[ordered])
    return boxes


def _add_sets(
    valid: NDArray[np.bool_],
    owners: NDArray[np.int64],
    types: NDArray[np.uint8],
    payloads: NDArray[np.int64],
    boxes: NDArray[np.int64],
    store: ValueStore,
) -> NDArray[np.int64]:
    """Store each list as its sorted distinct elements; returns the list numbers."""
    distinct = np.ones(len(owners), bool)
    ascends = (owners[1:] > owners[:-1]) | ((types[1:] == types[:-1]) & (payloads[1:] > payloads[:-1]))
    if not ascends.all():  # points mostly do
        owners, types, payloads = _sorted(owners, types, payloads)
        distinct[1:] = (owners[1:] != owners[:-1]) | (types[1:] != types[:-1]) | (payloads[1:] != payloads[:-1])
    lengths = np.bincount(owners[distinct], minlength=len(valid))
    numbers = len(store.list_lengths) + np.cumsum(valid) - 1
    store.extend("list_lengths", lengths[valid])
    store.extend("list_types", types[distinct])
    store.extend("list_payloads", payloads[distinct])
    store.extend("list_boxes", boxes[valid])
    return numbers


def _sorted(
    owners: NDArray[np.int64], types: NDArray[np.uint8], payloads: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Elements by list, type and payload. Strings, and whatever else is numbered, are one number with their list."""
    if len(owners) and types.min() == types.max() and payloads.min() >= 0 and payloads.max() < _FITS > owners.max():
        packed = np.sort(owners * _FITS + payloads)  # ten times as fast as an order of three keys
        return packed // _FITS, types, packed % _FITS
    order = np.lexsort((payloads, types, owners))
    return owners[order], types[order], payloads[order]


_FITS: Final = 1 << 31
