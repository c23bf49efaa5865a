"""The objects that a monitor follows: their numbers, their latest instants, and which were unseen for longest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.model.change import Identity

LONG_AGO: Final = -(2**62)


class Objects:
    """Objects by number. The numbers of dropped ones are given again."""

    def __init__(self) -> None:
        self.latest: NDArray[np.int64] = np.full(64, LONG_AGO, np.int64)
        self.keys: NDArray[np.int64] = np.zeros(64, np.int64)
        self._numbers: OrderedDict[tuple[int, Identity], int] = OrderedDict()  # the latest seen last
        self._identities: list[tuple[int, Identity] | None] = []
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[tuple[int, Identity]]:
        """The objects that were unseen for longest first, each by key number and identity."""
        return iter(self._numbers)

    def numbers(self) -> list[int]:
        """The numbers of the objects in this order."""
        return list(self._numbers.values())

    @property
    def count(self) -> int:
        """All numbers are below it."""
        return len(self._identities)

    def number_of(self, key: int, identity: Identity) -> int:
        """The number of an object, which is added if it is new; it was seen last."""
        known = self._numbers.get((key, identity))
        if known is not None:
            self._numbers.move_to_end((key, identity))
            return known
        return self._add((key, identity))

    def find(self, key: int, identity: Identity) -> int | None:
        """The number of an object; None if it is not known."""
        return self._numbers.get((key, identity))

    def _add(self, one: tuple[int, Identity]) -> int:
        if self._free:
            number = self._free.pop()
            self._identities[number] = one
        else:
            number = len(self._identities)
            self._identities.append(one)
            if number >= len(self.latest):
                self.latest = np.concatenate([self.latest, np.full(len(self.latest), LONG_AGO, np.int64)])
                self.keys = np.concatenate([self.keys, np.zeros(len(self.keys), np.int64)])
        self.latest[number], self.keys[number] = LONG_AGO, one[0]
        self._numbers[one] = number
        return number

    def identity(self, number: int) -> tuple[int, Identity]:
        """The key number and the identity of an object."""
        one = self._identities[number]
        assert one is not None
        return one

    def oldest(self) -> int:
        """The number of the object that was unseen for longest."""
        return next(iter(self._numbers.values()))

    def drop(self, number: int) -> None:
        """Forget an object."""
        del self._numbers[self.identity(number)]
        self._identities[number] = None
        self._free.append(number)
