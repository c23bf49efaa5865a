"""Which rectangles cover this point? Those made of the virtual construct rectangles that do: the paper's index.

A rectangle is decomposed into VCRs, whose sides are powers of two, and its subscription is put on the list of each. The
VCRs that may cover a point have numbers at fixed distances from that of its pivot; so one table of distances walks
them, whatever the point.

Cost: O(Lx Ly) lists an event, and what is on them; memory O(VCRs a rectangle), and an array of all VCRs of the map, or
a hash table of those that are used. `candidates_examined` counts what meets in its rectangle.

Source: Wu, Chen and Yu 2004, sections 2.1 to 2.3. Departs: the integer grid is that of the operands, in order, so that
any domain has one; unit cells are covered, not points; a margin takes the place of boundary conditions; an event that
is a box is compared with all rectangles. See docs/papers/vcr.md.
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
    """Builds a VCR index of sides up to `lx` and `ly`; 0 takes the power of two that is nearest to the average.

    `overlapped` 1 decomposes into VCRs of one size; `hashed` 1 keeps a hash table, 0 an array, -1 the one that is
    smaller. Raises `InvalidInput` for sides that are no powers of two.
    """

    lx: int = 0
    ly: int = 0
    overlapped: int = 0
    hashed: int = -1

    def __post_init__(self) -> None:
        self._sides()

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> FilterAndRefine[Held]:
        """Decompose every rectangle; statistics are of no use. Raises `UnsuitableIndex`."""
        held = Held.of(compiled)
        return FilterAndRefine(held, build_vcrs(held, self._sides()), stamps=bool(self.overlapped))

    def _sides(self) -> Sides:
        return Sides(self.lx, self.ly, self.overlapped, self.hashed)
