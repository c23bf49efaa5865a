"""Routing events to the parts of an index that may match them: parts without keys, or with a key of the event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table
from tocsin.columns.events.batch import EventBatch
from tocsin.kernels import codes
from tocsin.placement.assigning import LOCATION, Placement
from tocsin.placement.hashing import Hashes, hashes_of, keys_of
from tocsin.placement.kernels.keys import PRESENCE
from tocsin.placement.kernels.routing import Hashed, Signposts, point, route

_TRUTHS: Final = ((PRESENCE, 0), (codes.BOOLEAN, 0), (codes.BOOLEAN, 1))
"""The keys of a condition, as kinds and values."""


class Router:
    """The keys of some parts; immutable. `places` are the attributes looked up on the map that `splits` divides.

    Cost: one look-up per value, element of a list, and leaf of the map.
    """

    def __init__(self, keys: Sequence[Hashes | None], splits: NDArray[np.float64], places: Sequence[str] = ()) -> None:
        self._splits = frozen(splits, np.float64)
        self._places = frozenset(places)
        self._always = frozen([own is None for own in keys], np.bool_)
        words = (len(keys) + 63) // 64 or 1
        total = sum(len(own) for own in keys if own is not None)
        slots = 1 << (2 * total + 1).bit_length()
        signposts = Signposts(np.zeros(slots, np.uint64), np.zeros(slots * words, np.uint64), np.array([words]))
        for part, own in enumerate(keys):
            if own is not None:
                point(signposts, frozen(own, np.uint64), part)
        self._signposts = frozen_table(signposts)

    @classmethod
    def of(cls, placement: Placement, keys: Sequence[Hashes | None]) -> Router:
        """A router for the parts of a placement."""
        return cls(keys, placement.splits, placement.places if placement.name == LOCATION else ())

    @property
    def parts(self) -> int:
        return len(self._always)

    def leads(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """(N,) which of some conditions, attributes that are TRUE or FALSE, lead to any part."""
        hashes, led = np.repeat(hashes_of(names), len(_TRUTHS)), self._signposts.keys
        kinds, values = np.tile(_TRUTHS, (len(names), 1)).T
        keys = keys_of(hashes, kinds, values.astype(np.uint64))
        ways: NDArray[np.bool_] = np.isin(keys, led).reshape(len(names), len(_TRUTHS)).sum(axis=1) > 0
        return ways

    def visits(self, batch: EventBatch) -> NDArray[np.bool_]:
        """(E, parts) the parts that each event visits; its conditions must be known (`index.elements`).

        Events with ranges or shapes have several values of an attribute, and visit all parts.
        """
        words = int(self._signposts.words[0])
        found = np.zeros((len(batch), words), np.uint64)
        is_place = np.array([name in self._places for name in batch.attributes], np.uint8)
        hashed = Hashed(hashes_of(batch.attributes), hashes_of(batch.strings), is_place, self._splits)
        route(self._signposts, batch.arrays, frozen_table(hashed), found)
        bits = np.unpackbits(found.view(np.uint8), axis=1, bitorder="little", count=self.parts)
        visits: NDArray[np.bool_] = bits.view(np.bool_) | self._always
        visits[batch.with_extents()] = True
        return visits
