"""The ids of a segment: sorted, and found by bisection."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen
from tocsin.kernels.answers.columns import counted_on, looked_up
from tocsin.kernels.text.strings import locate
from tocsin.model.subscription import SubscriptionId

Ids: TypeAlias = Texts | NDArray[np.int64]


def as_ids(ids: pa.Array) -> Ids:
    """Ids in the form that a segment keeps."""
    return frozen(ids.to_numpy(), np.int64) if pa.types.is_integer(ids.type) else Texts.of_arrow(ids)


def as_arrow(ids: Ids) -> pa.Array:
    """Ids as an Arrow array over the same memory."""
    return ids.arrow() if isinstance(ids, Texts) else pa.array(ids)


def ids_at(ids: Ids, numbers: NDArray[Any]) -> pa.Array:
    """The ids with some numbers. Consecutive integers are computed instead of looked up."""
    if isinstance(ids, Texts):
        return pc.take(as_arrow(ids), pa.array(numbers), boundscheck=False)
    places = numbers.astype(np.int32, copy=False)
    if len(ids) and int(ids[-1]) - int(ids[0]) < len(ids):
        return pa.array(counted_on(places, int(ids[0])))
    return pa.array(looked_up(ids, places))


def id_of(ids: Ids, number: int) -> SubscriptionId:
    """The id with a number."""
    return ids.text(number) if isinstance(ids, Texts) else int(ids[number])


def find_ids(ids: Ids, others: Ids) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each of `others`, the number of smaller `ids` (its own number if it is one of them), and whether it is."""
    if isinstance(ids, Texts) and isinstance(others, Texts):
        codes = ids.rank_codes(others).astype(np.int64)
        return codes >> 1, (codes & 1).astype(bool)
    if isinstance(ids, Texts) or isinstance(others, Texts):
        return np.zeros(len(others), np.int64), np.zeros(len(others), bool)
    below = np.searchsorted(ids, others).astype(np.int64)
    is_known = np.zeros(len(others), bool)
    inside = below < len(ids)
    is_known[inside] = ids[below[inside]] == others[inside]
    return below, is_known


def find_id(ids: Ids, name: SubscriptionId) -> int | None:
    """The number of an id; None if it is not found."""
    if isinstance(ids, Texts):
        if not isinstance(name, str):
            return None
        text = np.frombuffer(name.encode(), np.uint8)
        code = np.empty(1, np.int32)
        locate(ids.starts, ids.data, np.array([0, len(text)]), text, code)
        return int(code[0]) >> 1 if code[0] & 1 else None
    if not isinstance(name, int):
        return None
    place = int(np.searchsorted(ids, name))
    return place if place < len(ids) and ids[place] == name else None
