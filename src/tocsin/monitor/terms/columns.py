"""Values of attributes as a memory keeps them: numbers by their keys, all else by codes that never change meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.payloads import numbers_of
from tocsin.kernels import codes
from tocsin.model.values import UNTYPED, Instant, Value
from tocsin.monitor.terms.memory.layouts import DISTINCT, PREVIOUS


class Codes:
    """Values and their codes, which are numbers in the order of arrival."""

    def __init__(self) -> None:
        self._codes: dict[tuple[int, str | int], int] = {}
        self._values: list[tuple[int, str | int]] = []

    def code_of(self, kind: int, value: str | int) -> int:
        """The code of a value of a type."""
        known = self._codes.get((kind, value))
        if known is None:
            known = self._codes[kind, value] = len(self._values)
            self._values.append((kind, value))
        return known

    def value(self, code: int) -> str | int:
        """The value of a code."""
        return self._values[code][1]

    def pair(self, code: int) -> tuple[int, str | int]:
        """The type and the value of a code."""
        return self._values[code]

    def decoded(self, kind: int, payload: int) -> Value:
        """The value that a memory has as a type and a payload."""
        if kind == codes.STRING:
            return str(self.value(payload))
        if kind == codes.BOOLEAN:
            return bool(payload)
        if kind == codes.INSTANT:
            return Instant(payload)
        return float(numbers_of(np.array([payload], np.int64))[0]) if kind == codes.NUMBER else UNTYPED

    def __len__(self) -> int:
        return len(self._values)


class Columns(NamedTuple):
    """Attributes of all events of a batch. C attributes of E events, and a last row and column for none."""

    types: NDArray[np.uint8]  # (C + 1, E)
    payloads: NDArray[np.int64]  # (C + 1, E) keys of numbers, codes of texts
    distinct: NDArray[np.int64]  # (C + 1, E) codes of all

    def at(
        self, columns: NDArray[np.int64], events: NDArray[np.int64], distinct: NDArray[np.bool_]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The types and payloads of attributes of events; codes where `distinct`."""
        types, payloads = self.types[columns, events], self.payloads[columns, events]
        if distinct.any():
            payloads = np.where(distinct, self.distinct[columns, events], payloads)
        return types, payloads

    @staticmethod
    def fits(kinds: NDArray[np.int64], types: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Whether a value of a type counts for a kind of term."""
        scalar = types <= codes.INSTANT
        previous, distinct = kinds == PREVIOUS, kinds == DISTINCT
        return np.where(previous, types != _ABSENT, np.where(distinct, scalar, types == codes.NUMBER))


_ABSENT = 255


def columns_of(batch: EventBatch, names: Mapping[str, int], known: Codes) -> Columns:
    """Some attributes of all events of a batch, which are numbered in the order of `names`."""
    shape = len(names) + 1, len(batch)
    columns = Columns(np.full(shape, _ABSENT, np.uint8), np.zeros(shape, np.int64), np.zeros(shape, np.int64))
    if not names:
        return columns
    arrays, numbers = batch.arrays, batch.present()
    for place, name in enumerate(names):
        if name not in numbers:
            continue
        own = np.flatnonzero(arrays.attributes == numbers[name])
        owners = np.searchsorted(arrays.starts, own, side="right") - 1
        types, payloads = arrays.types[own].copy(), arrays.payloads[own].copy()
        types[types > codes.INSTANT] = codes.UNTYPED
        payloads[types == codes.UNTYPED] = 0
        distinct, which = np.unique(np.stack([types.astype(np.int64), payloads]), axis=1, return_inverse=True)
        coded = np.array([_code(batch, known, *pair) for pair in distinct.T.tolist()], np.int64)[which.reshape(-1)]
        is_text = types == codes.STRING
        payloads[is_text] = coded[is_text]
        columns.types[place, owners], columns.payloads[place, owners] = types, payloads
        columns.distinct[place, owners] = coded
    return columns


def _code(batch: EventBatch, known: Codes, kind: int, payload: int) -> int:
    return known.code_of(kind, batch.strings[payload] if kind == codes.STRING else payload)
