"""Append-only arrays that grow while others read them. What a reader has seen never moves or changes."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

Kind = TypeVar("Kind", bound=np.generic)


class Growing(Generic[Kind]):
    """An array with spare room at its end. `view()` is read-only, has the current length, and stays as it is."""

    __slots__ = ("_buffer", "_length", "_view")

    def __init__(self, dtype: DTypeLike, width: int = 0) -> None:
        self._buffer: NDArray[Any] = np.empty((64, width) if width else 64, dtype)
        self._length = 0
        self._view: NDArray[Any] | None = None

    def __len__(self) -> int:
        return self._length

    def extend(self, values: Any) -> None:
        """Append values. Amortised cost: linear in them."""
        end, buffer = self._length + len(values), self._buffer
        if end > len(buffer):
            buffer = np.empty((max(2 * len(buffer), end), *buffer.shape[1:]), buffer.dtype)
            buffer[: self._length] = self._buffer[: self._length]
        buffer[self._length : end] = values
        self._buffer, self._length, self._view = buffer, end, None

    def append(self, value: Any) -> None:
        """Append one value."""
        if self._length < len(self._buffer):
            self._buffer[self._length] = value
            self._length, self._view = self._length + 1, None
        else:
            self.extend([value])

    def cut(self, length: int) -> None:
        """Drop the values from `length` on, if there are any. No view may have them."""
        self._length, self._view = min(length, self._length), None

    def copy(self) -> Growing[Kind]:
        """A copy that shares nothing with the views of readers."""
        twin: Growing[Kind] = Growing(self._buffer.dtype)
        twin._buffer, twin._length = self._buffer.copy(), self._length
        return twin

    def put(self, place: int, value: Any) -> None:
        """Change a value in place. Readers of a view may or may not see the change."""
        self._buffer[place] = value

    def get(self, place: int) -> Any:
        """The value at a place."""
        return self._buffer[place]

    def view(self) -> NDArray[Any]:
        """The values so far, read-only."""
        if self._view is None:
            self._view = self._buffer[: self._length]
            self._view.flags.writeable = False
        return self._view
