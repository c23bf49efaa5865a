"""Names of messages in a window: either all have keys, or all are numbered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.errors import RecordError
from tocsin.model.subscription import shown
from tocsin.model.window import MessageKey


class Keys:
    """The keys of recent messages; `kind` is str, int, or None if messages have no keys. The first message decides."""

    def __init__(self) -> None:
        self.kind: type | None = None
        self.is_decided = False
        self._first = 0
        self._keys: list[MessageKey] = []

    @classmethod
    def of_kind(cls, kind: type | None) -> Keys:
        """Keys with a kind that is known before the first message."""
        keys = cls()
        keys.decide(kind)
        return keys

    def decide(self, kind: type | None) -> None:
        """Fix the kind before the first message."""
        self.kind, self.is_decided = kind, True

    def check(self, key: MessageKey | None) -> None:
        """Raise `RecordError` for a key of another kind than earlier ones."""
        kind = None if key is None else type(key)
        if not self.is_decided:
            self.kind, self.is_decided = kind, True
        elif kind is not self.kind:
            before = {str: "have strings for keys", int: "have integers for keys"}.get(self.kind or bool, "have no key")
            raise RecordError(
                f"it is {shown(key)}, but the messages before {before}; give all messages one kind", "key"
            )

    def add(self, keys: Sequence[MessageKey], taken: int) -> None:
        """Add the keys of accepted messages, the first of which gets the number `taken`.

        If that push failed, the next one replaces them.
        """
        if self.kind is not None:
            self._keys[taken - self._first :] = keys

    def forget(self, first: int, taken: int) -> None:
        """Drop the keys of messages with smaller numbers."""
        if self.kind is None:
            self._first = taken
        elif first - self._first > len(self._keys) // 2:
            self._keys, self._first = self._keys[first - self._first :], first

    def of(self, numbers: NDArray[np.int64]) -> list[MessageKey]:
        """The keys of messages."""
        if self.kind is None:
            return numbers.tolist()  # type: ignore[no-any-return]
        return [self._keys[number - self._first] for number in numbers.tolist()]

    def column(self, numbers: NDArray[np.int64]) -> pa.Array:
        """The keys of messages as a column; strings become a dictionary column."""
        if self.kind is None:
            return pa.array(numbers)
        distinct, places = np.unique(numbers, return_inverse=True)
        keys = pa.array(self.of(distinct), pa.string() if self.kind is str else pa.int64())
        if self.kind is int:
            return keys.take(pa.array(places))
        return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), keys)

    def numbers_of(self, key: MessageKey, first: int, taken: int) -> list[int]:
        """The messages with a key, from a number on, oldest first."""
        if self.kind is None:
            return [key] if isinstance(key, int) and first <= key < taken else []
        own = self._keys[first - self._first :]
        return [first + at for at, other in enumerate(own) if type(other) is type(key) and other == key]
