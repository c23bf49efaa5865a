"""How do JSON-like objects become a batch?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tocsin.columns.batch import EventBatch, ValueStore, Wanted, build_events, number_keys
from tocsin.errors import RecordError
from tocsin.kernels import codes
from tocsin.model.event import flatten
from tocsin.model.subscription import Reject


def encode_objects(rows: Iterable[tuple[int, Mapping[str, Any]]], wanted: Wanted) -> EventBatch:
    """Encode (row number, object) pairs; bad events, and values that cannot be represented, are in `.rejects`.

    Cost: about a microsecond a value, most of it in Python objects.
    """
    encoder = _ObjectEncoder(wanted)
    for row, record in rows:
        try:
            encoder.add(row, record)
        except RecordError as error:
            encoder.rejects.append(Reject(row, None, error.field, error.reason))
    return encoder.finish()


class _ObjectEncoder:
    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.store = ValueStore()
        self.numbers: dict[str, int] = {}
        self.rows: list[int] = []
        self.ends: list[int] = [0]
        self.attributes: list[int] = []
        self.types: list[int] = []
        self.payloads: list[int | float] = []  # a number's payload is the float itself until `finish`
        self.rejects: list[Reject] = []

    def add(self, row: int, record: Mapping[str, Any]) -> None:
        values, problems = flatten(record)
        attributes, types, payloads = self.attributes, self.types, self.payloads
        numbers, wanted, entry = self.numbers, self.wanted, self.store.entry
        for name, value in values.items():
            number = numbers.get(name)
            if number is None:
                if name not in wanted:
                    continue
                number = numbers[name] = len(numbers)
            attributes.append(number)
            if type(value) is float:
                types.append(codes.NUMBER)
                payloads.append(value)
            else:
                kind, payload = entry(value)
                types.append(kind)
                payloads.append(payload)
        self.rows.append(row)
        self.ends.append(len(attributes))
        for problem in problems:
            if wanted.inside(problem.field):
                self.rejects.append(Reject(row, None, problem.field, problem.reason))

    def finish(self) -> EventBatch:
        types = np.array(self.types, np.uint8)
        is_number = types == codes.NUMBER
        payloads = np.zeros(len(types), np.int64)
        payloads[is_number] = number_keys([p for p, t in zip(self.payloads, self.types, strict=True) if t == 0])
        payloads[~is_number] = [p for p, t in zip(self.payloads, self.types, strict=True) if t != 0]
        arrays = build_events(
            np.array(self.ends, np.int64), np.array(self.attributes, np.int32), types, payloads, self.store
        )
        return EventBatch(
            arrays,
            list(self.numbers),
            list(self.store.dictionary.numbers),
            np.array(self.rows, np.int64),
            self.rejects,
        )
