"""Which region-and-keyword subscriptions does this message satisfy? Lists under the rarest keyword of each, cut into
blocks of neighbours on the map.

A message looks at the lists of its own keywords, at the blocks that it lies in, and there at boxes and signatures of 4
bytes each, compared without a branch. A subscription lies in one list, so what is found is found once. A long message
looks at all that lies where it is instead, for their rarest keywords, as long as that is less.

Cost: O(blocks of the message's keywords + entries of those that it lies in), less than a nanosecond an entry; 28 bytes
a subscription beside its box and tokens. Built in O(n log n). `candidates_examined` counts what boxes and
signatures let through.

Source: ours. Under the rarest keyword as in Yan and Garcia-Molina 1994 (ranked key); blocks as leaves of a packed
R-tree. Against Yu et al. 2015 it has one short list a keyword to read instead of a tree to walk.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.stored import restored
from tocsin.index.filtering import FilterAndRefine
from tocsin.index.protocols import Arrays
from tocsin.index.spatial_text.regions import Held
from tocsin.index.spatial_text.token_grid.building import build_grid
from tocsin.index.spatial_text.token_grid.layout import is_stored, restored_grid, stored_grid
from tocsin.index.statistics import Statistics


@dataclass(frozen=True, slots=True)
class TokenGridBuilder:
    """Builds lists of packed boxes."""

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> TokenGrid:
        """By what the subscriptions say of keywords; statistics are of no use. Raises `UnsuitableIndex`."""
        held = Held.of(compiled)
        return TokenGrid(held, build_grid(held))

    def load(self, arrays: Arrays) -> TokenGrid:
        """As it was saved, in place; built anew where only expressions were. Raises `ValueError` or `KeyError`."""
        compiled = restored(arrays)
        return TokenGrid(*restored_grid(compiled, arrays)) if is_stored(arrays) else self.build(compiled)


class TokenGrid(FilterAndRefine[Held]):
    """The Matcher over such lists."""

    def arrays(self) -> Arrays:
        return {**super().arrays(), **stored_grid(self.held, self.structure)}
