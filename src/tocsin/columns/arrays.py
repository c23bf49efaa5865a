"""Conversion of lists of Python values to the frozen arrays that kernels read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, TypeVar, overload

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from tocsin.kernels.text.strings import heads_of, locate, locate_by_heads

_FEW_TEXTS: Final = 64
"""Up to this many texts, as in one event, the overhead of Arrow and NumPy would dominate."""

_CACHE_LINE: Final = 64

T = TypeVar("T", bound=tuple[Any, ...])


def frozen(values: Any, dtype: DTypeLike) -> NDArray[Any]:
    """A read-only, C-contiguous array. Kernels thus see one kind of array, whether it is mapped or made."""
    if type(values) is list:
        array = np.array(values, dtype)
        array.setflags(write=False)
        return array
    array = np.ascontiguousarray(values, dtype)
    if array.flags.writeable:
        if array is values:
            array = array.view()
        array.flags.writeable = False
    return array


def frozen_table(table: T) -> T:
    """Freeze every array of a named tuple."""
    return type(table)(*(frozen(array, array.dtype) for array in table))


def on_cache_line(count: int, dtype: DTypeLike) -> NDArray[Any]:
    """`count` zeros aligned to a cache line. Accesses that cross cache lines take nearly twice as long."""
    size = count * np.dtype(dtype).itemsize
    room = np.zeros(size + 2 * _CACHE_LINE, np.uint8)  # lines are fetched in pairs
    first = -room.ctypes.data % (2 * _CACHE_LINE)
    found: NDArray[Any] = room[first : first + size].view(dtype)
    return found


def starts_of(lengths: Iterable[int] | NDArray[Any], count: int) -> NDArray[np.int64]:
    """The CSR offsets of runs with these lengths."""
    if count <= _FEW_TEXTS and not isinstance(lengths, np.ndarray):
        return frozen(list(accumulate(lengths, initial=0)), np.int64)
    starts = np.zeros(count + 1, np.int64)
    if not isinstance(lengths, np.ndarray):
        lengths = np.fromiter(lengths, np.int64, count)
    np.cumsum(lengths, out=starts[1:])
    starts.flags.writeable = False
    return starts


def empty_runs(count: int) -> NDArray[np.int64]:
    """The CSR offsets of `count` empty runs."""
    return _few_empty_runs(count) if count <= _FEW_TEXTS else frozen(np.zeros(count + 1), np.int64)


@lru_cache(_FEW_TEXTS + 1)
def _few_empty_runs(count: int) -> NDArray[np.int64]:
    return frozen(np.zeros(count + 1), np.int64)


def inverse(order: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    """The position of each number in a permutation."""
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


def together(numbers: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """An order that brings equal, or nearby, numbers below `count` together, for locality of later reads.

    Cost: linear, since only 16 bits are sorted.
    """
    shift = max(count.bit_length() - 16, 0)
    order: NDArray[np.int64] = np.argsort((numbers >> shift).astype(np.uint16), kind="stable")
    return order


def gathered(starts: NDArray[np.int64], chosen: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The members of chosen runs, end to end, and the index of the chosen run that each belongs to."""
    begins = starts[chosen]
    lengths = starts[1:][chosen] - begins
    owners = np.repeat(np.arange(len(chosen)), lengths)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return begins[owners] + within, owners


@dataclass(frozen=True, slots=True)
class Texts:
    """Strings as UTF-8: string i is `data[starts[i]:starts[i + 1]]`."""

    starts: NDArray[np.int64]
    data: NDArray[np.uint8]

    @classmethod
    def of(cls, strings: Sequence[str]) -> Texts:
        if type(strings) is DecodedTexts:  # isinstance takes a microsecond
            return strings.texts
        if len(strings) > _FEW_TEXTS:
            return cls.of_arrow(pa.array(strings, pa.large_string()))
        texts = [text.encode() for text in strings]
        starts = frozen([0, *accumulate(map(len, texts))], np.int64)
        return cls(starts, np.frombuffer(b"".join(texts), np.uint8))

    @classmethod
    def within(cls, text: bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Texts:
        """Copies of the parts text[starts[i]:stops[i]], which follow each other in a text."""
        if not len(starts):
            return cls.of([])
        bounds = np.column_stack([starts, stops]).ravel()  # of the parts, and of what lies between them
        pieces = pa.LargeStringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), pa.py_buffer(text))
        return cls.of_arrow(pieces.take(pa.array(np.arange(0, len(bounds), 2))))

    @classmethod
    def of_arrow(cls, array: pa.Array) -> Texts:
        """From an Arrow array of strings without nulls."""
        array = array if array.type == pa.large_string() else array.cast(pa.large_string())
        if not len(array):
            return cls(empty_runs(0), frozen(np.empty(0), np.uint8))
        if array.offset:
            array = pa.concat_arrays([array])  # drops what lies before the offset
        _, offsets, data = array.buffers()
        starts = np.frombuffer(offsets, np.int64, len(array) + 1)
        text = np.frombuffer(data, np.uint8) if data else np.empty(0)
        return cls(frozen(starts, np.int64), frozen(text, np.uint8)[: starts[-1]])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def arrow(self) -> pa.Array:
        """The strings as an Arrow array over the same memory."""
        buffers = [None, pa.py_buffer(self.starts), pa.py_buffer(self.data)]
        return pa.LargeStringArray.from_buffers(len(self), buffers[1], buffers[2])

    def rank_codes(self, others: Texts, heads: NDArray[np.uint64] | None = None) -> NDArray[np.int32]:
        """The rank of each of `others` among these sorted texts: 2 r + 1 is the r-th text, 2 r lies just before it.

        `heads` are the heads of these texts, if the caller has them; they make it more than twice as fast.
        """
        codes = np.empty(len(others), np.int32)
        if len(others) and heads is not None:
            locate_by_heads(heads, self.starts, self.data, others.starts, others.data, codes)
        elif len(others):
            locate(self.starts, self.data, others.starts, others.data, codes)
        return codes

    def heads(self) -> NDArray[np.uint64]:
        """The first bytes of each text as a number, for `rank_codes`. Cost: linear."""
        return frozen(heads_of(self.starts, self.data), np.uint64)

    def to_list(self) -> list[str]:
        strings: list[str] = self.arrow().to_pylist()
        return strings

    def text(self, number: int) -> str:
        return bytes(self.data[self.starts[number] : self.starts[number + 1]]).decode()


class DecodedTexts(Sequence[str]):
    """Texts as Python strings, which are all made when the first of them is asked for. Often none is."""

    __slots__ = ("_strings", "texts")

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self._strings: list[str] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        return self._all()[place]

    def _all(self) -> list[str]:
        if self._strings is None:
            self._strings = self.texts.to_list()
        return self._strings


def numbered(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The distinct keys, ascending, and the index of each given key among them. Expected cost: linear."""
    encoded = pa.array(keys).dictionary_encode()
    distinct = encoded.dictionary.to_numpy()
    order = np.argsort(distinct)
    numbers: NDArray[np.int32] = inverse(order).astype(np.int32)[encoded.indices.to_numpy()]
    return distinct[order], numbers
