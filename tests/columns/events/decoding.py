"""A batch as plain values, so that two encodings can be compared."""

from __future__ import annotations

import numpy as np

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.payloads import numbers_of
from tocsin.kernels import codes

EVERYTHING = Wanted(None)


def decoded(batch: EventBatch) -> list[dict[str, object]]:
    """A batch as plain values, with lists as sorted sets, so that two encodings can be compared."""
    arrays = batch.arrays

    def scalar(kind: int, payload: int) -> object:
        if kind == codes.NUMBER:
            return "number", float(numbers_of(np.array([payload]))[0])
        return int(kind), batch.strings[payload] if kind == codes.STRING else int(payload)

    def value(i: int) -> object:
        kind, payload = arrays.types[i], arrays.payloads[i]
        if kind == codes.GEOMETRY:
            return "geometry", tuple(arrays.boxes[payload].tolist())
        if kind != codes.LIST:
            return scalar(kind, payload)
        first, last = arrays.list_starts[payload], arrays.list_starts[payload + 1]
        elements = {scalar(arrays.list_types[j], arrays.list_payloads[j]) for j in range(first, last)}
        box = arrays.list_boxes[payload]
        return "list", frozenset(elements), None if box < 0 else tuple(arrays.boxes[box].tolist())

    return [
        {batch.attributes[arrays.attributes[i]]: value(i) for i in range(arrays.starts[e], arrays.starts[e + 1])}
        for e in range(len(batch))
    ]


def problems(batch: EventBatch) -> set[tuple[int, str]]:
    return {(reject.row, reject.field) for reject in batch.rejects}
