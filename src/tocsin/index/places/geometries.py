"""The geometries in conditions, made with shapely from their texts when first needed, then kept.

Facts about all of them are taken from temporary pieces: as shapely objects, a million polygons fill a machine's memory,
and few are ever asked about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from tocsin.errors import SegmentError
from tocsin.index.once import Once
from tocsin.index.places.areas import Rings
from tocsin.index.places.forms import begin_of
from tocsin.language.operators.spatial import of_bounds
from tocsin.model.shapes import shapely

_AT_ONCE: Final = 4096


class Geometries:
    """The geometries in the conditions of these names. Threads may share it."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._free: list[Prepared] = []
        self._tree: Once[Any] = Once()

    def rings(self, begins: NDArray[np.int64]) -> Iterator[Rings]:
        """The rings of all of them in order, in pieces. `begins` is where in each name its geometry begins."""
        return (_rings(self._names[piece], begins[piece].tolist()) for piece in self._pieces())

    @contextmanager
    def lent(self) -> Iterator[Prepared]:
        """Prepared geometries for exclusive use. There are as many sets as threads ever use at once."""
        try:
            own = self._free.pop()
        except IndexError:
            own = Prepared(self._names)
        try:
            yield own
        finally:
            self._free.append(own)

    def tree(self) -> Any:
        """shapely's tree of them all. Threads may share it."""
        names = self._names
        return self._tree.get(lambda: shapely().STRtree(np.concatenate([_read(names[one]) for one in self._pieces()])))

    def _pieces(self) -> Iterator[slice]:
        return (slice(first, first + _AT_ONCE) for first in range(0, len(self._names), _AT_ONCE))


class Prepared:
    """The geometries that one thread has asked for. GEOS writes into prepared geometries without a lock."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._kept = np.full(len(names), None, object)
        self._are_kept = np.zeros(len(names), bool)

    def of(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Some of them. Cost: each text is read on the first request."""
        missing = np.unique(numbers[~self._are_kept[numbers]])
        if len(missing):
            made = _read([self._names[number] for number in missing.tolist()])
            shapely().prepare(made)
            self._kept[missing] = made
            self._are_kept[missing] = True
        found: NDArray[Any] = self._kept[numbers]
        return found


def _rings(names: Sequence[str], begins: Sequence[int]) -> Rings:
    texts = [name[begin:-1] for name, begin in zip(names, begins, strict=True)]
    return Rings.of_texts(texts, lambda rest: _read([names[one] for one in rest]))


def _read(names: Sequence[str]) -> NDArray[Any]:
    """The geometries of names: well-known text, and boxes. Raises `SegmentError`."""
    texts = [name[begin_of(name) : -1] for name in names]
    boxes = {place: text for place, text in enumerate(texts) if text.startswith("BBOX(")}
    library = shapely()
    try:
        found: NDArray[Any] = library.from_wkt(
            ["POINT(0 0)" if place in boxes else text for place, text in enumerate(texts)]
        )
        for place, text in boxes.items():
            found[place] = of_bounds(cast(Any, tuple(map(float, text[5:-1].split(",")))))
    except (ValueError, library.errors.ShapelyError) as error:
        raise SegmentError(f"a spatial predicate was changed on disk: {error}. Compile it again.") from None
    return found
