"""The Matcher over lists under the rarest keyword of each subscription, in blocks of neighbours on the map.

A message reads the lists of its own keywords and, of their blocks, those that it lies in. There it compares boxes and
signatures of 4 bytes each, without a branch. A subscription lies in one list, so it is found at most once. For a long
message all subscriptions around it are searched instead, by their rarest keywords, if that is less work.

Cost: O(blocks of the message's keywords + entries of those that it lies in), less than a nanosecond an entry; 28 bytes
a subscription beside its box and tokens. Built in O(n log n). `candidates_examined` counts the subscriptions whose box
and signature pass.

Source: ours. Under the rarest keyword as in Yan and Garcia-Molina 1994 (ranked key); blocks as leaves of a packed
R-tree. Compared with Yu et al. 2015, a keyword has one short list to read instead of a tree to walk.
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
        """Build by the subscriptions' use of keywords; statistics are not used. Raises `UnsuitableIndex`."""
        held = Held.of(compiled)
        return TokenGrid(held, build_grid(held))

    def load(self, arrays: Arrays) -> TokenGrid:
        """Restore in place, or rebuild if only expressions were saved. Raises `ValueError` or `KeyError`."""
        compiled = restored(arrays)
        return TokenGrid(*restored_grid(compiled, arrays)) if is_stored(arrays) else self.build(compiled)


class TokenGrid(FilterAndRefine[Held]):
    """The Matcher over lists under the rarest keywords."""

    def arrays(self) -> Arrays:
        return {**super().arrays(), **stored_grid(self.held, self.structure)}
