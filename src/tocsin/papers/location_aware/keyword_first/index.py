"""The keyword-first baseline for regions with keywords: inverted lists and counting, then a test of the region.

Cost: O(entries of the message's keywords), wherever on the map they are; 4 bytes a keyword of a subscription. Built in
O(n log n). `candidates_examined` counts the subscriptions with all of their keywords in the message.

Source: Yan and Garcia-Molina 1994, the counting method; Yu et al. 2015, section 2.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tocsin.columns.arrays import frozen, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.expressions import RebuiltOnLoad
from tocsin.index.filtering import FilterAndRefine
from tocsin.index.spatial_text.kernels.resembling import Weighed
from tocsin.index.spatial_text.linear import build_everyone
from tocsin.index.spatial_text.regions import Held
from tocsin.index.statistics import Statistics
from tocsin.papers.location_aware.keyword_first.kernels.alike import WeighedLists
from tocsin.papers.location_aware.keyword_first.kernels.counting import Inverted


@dataclass(frozen=True, slots=True)
class KeywordFirstBuilder(RebuiltOnLoad):
    """Builds inverted lists of keywords."""

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> FilterAndRefine[Held]:
        """Sort by keyword. Statistics are ignored. Raises `UnsuitableIndex`."""
        held = Held.of(compiled)
        return FilterAndRefine(held, invert(held), stamps=True)

    def alike(self, held: Held, weighed: Weighed) -> WeighedLists:
        """The structure that finds subscriptions similar enough to a message."""
        return WeighedLists(invert(held), build_everyone(held, weighed))


def invert(held: Held) -> Inverted:
    """The lists of all places and tokens."""
    regions, tokens = held.regions, len(held.counts)
    owners = np.repeat(np.arange(len(regions.owners)), np.diff(regions.token_starts))
    keys = regions.owners[owners].astype(np.int64) * tokens + regions.tokens
    lengths = np.bincount(keys, minlength=held.places * tokens)
    entries = owners[np.argsort(keys, kind="stable")]
    return Inverted(frozen([tokens], np.int64), starts_of(lengths, len(lengths)), frozen(entries, np.int32))
