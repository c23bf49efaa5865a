"""The VCR index of rectangles, which decomposes them into virtual construct rectangles.

The sides of a VCR are powers of two. A rectangle is decomposed into VCRs, and its subscription is put on the list of
each. The VCRs that may cover a point have numbers at fixed distances from the number of the point's pivot. So one table
of distances finds them for any point.

Cost: O(Lx Ly) lists an event, plus their entries; memory O(VCRs a rectangle), plus an array of all VCRs of the map or a
hash table of those in use. `candidates_examined` counts the subscriptions whose rectangle the event meets.

Source: Wu, Chen and Yu 2004, sections 2.1 to 2.3. Departs: the integer grid is the order of the operands, so that any
domain has one. Unit cells are covered, not points, and a margin replaces boundary conditions. An event that is a box
is compared with all rectangles. See docs/papers/vcr.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.expressions import RebuiltOnLoad
from tocsin.index.filtering import FilterAndRefine
from tocsin.index.rectangles.rectangles import Held
from tocsin.index.statistics import Statistics
from tocsin.papers.vcr.vcr.building import Sides, build_vcrs


@dataclass(frozen=True, slots=True)
class VCRBuilder(RebuiltOnLoad):
    """Builds a VCR index with sides up to `lx` and `ly`. 0 takes the power of two nearest to the average.

    `overlapped` 1 decomposes into VCRs of one size. `hashed` 1 keeps a hash table, 0 an array, -1 the smaller one.
    The table has so many `places`, as in Figure 9, or by default (0) about twice as many as activated VCRs.
    Raises `InvalidInput` for sides that are not powers of two, and for too few places.
    """

    lx: int = 0
    ly: int = 0
    overlapped: int = 0
    hashed: int = -1
    places: int = 0

    def __post_init__(self) -> None:
        self._sides()

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> FilterAndRefine[Held]:
        """Decompose every rectangle. Statistics are ignored. Raises `UnsuitableIndex`."""
        held = Held.of(compiled)
        return FilterAndRefine(held, build_vcrs(held, self._sides()), stamps=bool(self.overlapped))

    def _sides(self) -> Sides:
        return Sides(self.lx, self.ly, self.overlapped, self.hashed, self.places)
