"""Kernels that read and write beyond arrays, for a process that checks every index."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.intrinsics import load_word
from tocsin.jit.views import Packed, kind_of, view, viewed


class Inside(NamedTuple):
    """A nested table."""

    numbers: NDArray[np.int64]


class Table(NamedTuple):
    """A table that kernels view."""

    inside: Inside
    bytes: NDArray[np.uint8]
    pairs: Annotated[NDArray[np.float64], 2]


TABLE = kind_of(Table)


@inlined
def _item(table: Any, place: int) -> int:
    return table.inside.numbers[place]


@inner
def _put(table: Any, place: int) -> None:
    table.bytes[place] = 1


@kernel
def read(table: Table, place: int) -> int:
    return _item(viewed(table), place)


@kernel
def read_packed(places: NDArray[np.int64], place: int) -> int:
    return _item(view(places, TABLE), place)


@kernel
def write(table: Table, place: int) -> None:
    _put(viewed(table), place)


@kernel
def read_pair(table: Table, place: int) -> float:
    return viewed(table).pairs[place, 1]


@kernel
def read_word(table: Table, place: int) -> int:
    return np.int64(load_word(viewed(table).bytes, place))


@kernel
def read_array(numbers: NDArray[np.int64], place: int) -> int:
    return numbers[np.uint64(place)]


def main() -> None:
    table = Table(Inside(np.zeros(4, np.int64)), np.zeros(16, np.uint8), np.zeros((3, 2)))
    packed = Packed(table, TABLE)
    calls: list[tuple[Any, Any, int]] = [
        (read, table, 4),
        (read_packed, packed.places, 4),
        (write, table, 16),
        (read_pair, table, 3),
        (read_word, table, 9),
        (read_array, table.inside.numbers, 4),
    ]
    for call, given, first in calls:
        call(given, first - 1)
        for place in (first, first + 1_000_000):
            try:
                call(given, place)
            except IndexError as error:
                print(call.__name__, place, error)
            else:
                print(call.__name__, place, "was not refused")


if __name__ == "__main__":
    main()
