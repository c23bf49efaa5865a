"""Growth of arrays that kernels write to. Python doubles them between two calls, and keeps their contents."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tocsin.index.tables import new_table
from tocsin.index.window.kernels.layouts import Lists
from tocsin.index.window.kernels.lists import pack_lists, put_all_behind

T = TypeVar("T", bound=tuple[Any, ...])

_LEAST = 64


def power_of_two(count: int, least: int = _LEAST) -> int:
    """The smallest power of two that is at least `count` and at least `least`.

    >>> power_of_two(65), power_of_two(3)
    (128, 64)
    """
    return max(1 << max(count - 1, 0).bit_length(), least)


def longer(array: NDArray[Any], length: int, filled: Any = 0) -> NDArray[Any]:
    """A longer copy; the new part is `filled`."""
    grown = np.empty((length, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    grown[len(array) :] = filled
    return grown


def no_lists(words: int, places: int = 1024) -> Lists:
    """Empty lists."""
    return new_table(Lists, words=words, places=places)


def with_room(lists: Lists, needed: int) -> Lists:
    """The lists in a new pool, with room for twice what they hold plus what is needed."""
    words = len(lists.starts)
    room = 4 * int(lists.counts.sum(dtype=np.int64)) + 2 * needed + 8 * int(np.count_nonzero(lists.counts)) + 1024
    packed = no_lists(words, room)
    pack_lists(lists, packed)
    return packed


def put_behind_all(
    lists: Lists, numbers: NDArray[np.int32], starts: NDArray[np.int64], words: NDArray[np.int32]
) -> Lists:
    """Append each number to the lists of its words; returns the lists, perhaps in another pool."""
    done = put_all_behind(lists, numbers, starts, words)
    while done < len(numbers):
        numbers, starts = numbers[done:], starts[done:]
        lists = with_room(lists, int(starts[-1] - starts[0]) * 4)
        done = put_all_behind(lists, numbers, starts, words)
    return lists
