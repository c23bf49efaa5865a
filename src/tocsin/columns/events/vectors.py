"""Encoding of Arrow's list columns to sets and boxes, a whole column's elements at a time."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.events.scalars import ScalarColumn, encode_scalars, has_scalars
from tocsin.columns.events.store import ValueStore
from tocsin.columns.payloads import numbers_of
from tocsin.kernels import codes
from tocsin.kernels.distinct import order_runs
from tocsin.model.values import EDGES


def has_scalar_lists(kind: pa.DataType) -> bool:
    """Whether `encode_lists` takes columns of this type."""
    return is_list(kind) and has_scalars(kind.value_type)


def is_list(kind: pa.DataType) -> bool:
    """Whether values of this type are lists, of variable or fixed size."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def encode_lists(column: pa.Array, store: ValueStore) -> ScalarColumn:
    """Encode a column of lists of scalars.

    Null elements are skipped; an element without a type makes its list UNTYPED.
    """
    count = len(column)
    present = pc.is_valid(column).to_numpy(zero_copy_only=False)
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    owners = np.repeat(np.arange(count), np.where(present, lengths, 0))
    elements = encode_scalars(column.flatten(), store.dictionary)
    problems = [(int(owners[place]), reason) for place, reason in elements.problems]
    untyped = np.zeros(count, bool)
    untyped[owners[elements.present & (elements.types == codes.UNTYPED)]] = True
    types, payloads = elements.types, elements.payloads
    if untyped.any() or not elements.present.all():
        keep = elements.present & ~untyped[owners]
        owners, types, payloads = owners[keep], types[keep], payloads[keep]
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
    """Store many lists, given as elements in order with the number of their list; returns their numbers."""
    boxes = _boxes(len(valid), owners, types, payloads, store)
    return _add_sets(valid, owners, types, payloads, boxes, store)


def _boxes(
    count: int,
    owners: NDArray[np.int64],
    types: NDArray[np.uint8],
    payloads: NDArray[np.int64],
    store: ValueStore,
) -> NDArray[np.int64]:
    """The box number of each list of numbers that is a point or a box, else -1."""
    boxes = np.full(count, -1, np.int64)
    lengths = np.bincount(owners, minlength=count)
    starts = np.cumsum(lengths) - lengths
    strange = np.bincount(owners, weights=types != codes.NUMBER, minlength=count)
    for size, edges in EDGES.items():
        chosen = np.flatnonzero((lengths == size) & (strange == 0))
        if not len(chosen):
            continue
        bounds = numbers_of(payloads[starts[chosen][:, None] + np.array(edges)])
        ordered = (bounds[:, 0] <= bounds[:, 2]) & (bounds[:, 1] <= bounds[:, 3])
        if not ordered.all():
            ordered |= (
                (bounds[:, 1] <= bounds[:, 3]) & (bounds[:, 0] <= 180.0) & (bounds[:, 2] >= -180.0)
            )  # across the antimeridian
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
    lengths = np.bincount(owners, minlength=len(valid))
    ascends = (owners[1:] > owners[:-1]) | ((types[1:] == types[:-1]) & (payloads[1:] > payloads[:-1]))
    if not ascends.all():  # points are usually ascending
        lengths, types, payloads = _distinct(lengths, owners, types, payloads)
    numbers = len(store.list_lengths) + np.cumsum(valid) - 1
    store.extend("list_lengths", lengths[valid])
    store.extend("list_types", types)
    store.extend("list_payloads", payloads)
    store.extend("list_boxes", boxes[valid])
    return numbers


def _distinct(
    lengths: NDArray[np.int64], owners: NDArray[np.int64], types: NDArray[np.uint8], payloads: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """The distinct elements of each list by type and payload, and their count."""
    if types.min() == types.max() and payloads.min() >= 0 and payloads.max() < _FITS:  # numbers of strings
        lengths, payloads = lengths.copy(), payloads.copy()
        kept = order_runs(lengths, payloads, np.zeros(int(payloads.max()) // 64 + 1, np.uint64))
        return lengths, types[:kept], payloads[:kept]
    if lengths.max() <= 2:
        return _distinct_of_two(lengths, types, payloads)
    order = np.lexsort((payloads, types, owners))
    owners, types, payloads = owners[order], types[order], payloads[order]
    first = np.ones(len(owners), bool)
    first[1:] = (owners[1:] != owners[:-1]) | (types[1:] != types[:-1]) | (payloads[1:] != payloads[:-1])
    return np.bincount(owners[first], minlength=len(lengths)), types[first], payloads[first]


def _distinct_of_two(
    lengths: NDArray[np.int64], types: NDArray[np.uint8], payloads: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """`_distinct` for lists of at most two elements, such as points, in a fifth of the time."""
    firsts = (np.cumsum(lengths) - lengths)[lengths == 2]
    one, other = (types[firsts], payloads[firsts]), (types[firsts + 1], payloads[firsts + 1])
    is_same = (one[0] == other[0]) & (one[1] == other[1])
    descends = (one[0] > other[0]) | ((one[0] == other[0]) & (one[1] > other[1]))
    order = np.arange(len(types))
    order[firsts] += descends
    order[firsts + 1] -= descends
    keep = np.ones(len(types), bool)
    keep[firsts + 1] = ~is_same
    lengths = lengths.copy()
    lengths[lengths == 2] -= is_same
    return lengths, types[order[keep]], payloads[order[keep]]


_FITS: Final = 1 << 22
"""A bitmap of the numbers below it takes half a megabyte."""
