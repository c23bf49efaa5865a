"""What do structures of regions and keywords have in common? All but how they find what a message satisfies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.index.found import Found, collect
from tocsin.index.narrowing import Narrowing
from tocsin.index.narrowing.kernels import Coming
from tocsin.index.protocols import ALL_MATCHES, REGIONS_WITH_KEYWORDS, SIMILAR_ENOUGH, Registration
from tocsin.index.spatial_text.kernels.layouts import ABSENT, Seen
from tocsin.index.spatial_text.kernels.matching import match_messages
from tocsin.index.spatial_text.regions import Held
from tocsin.index.tables import bytes_of_table, new_table
from tocsin.kernels.answers.ordering import BUCKETS
from tocsin.language.canonical import name_text
from tocsin.model.readings import attribute_of


def of_regions(
    name: str, builder: Callable[..., Any], source: str, *, is_baseline: bool = True, **options: int
) -> Registration:
    """What the registry says of a structure of regions with keywords."""
    also = {SIMILAR_ENOUGH: lambda **options: builder(**options).alike}
    return Registration(name, ALL_MATCHES, REGIONS_WITH_KEYWORDS, source, is_baseline, builder, options, also)


class OverRegions(Narrowing):
    """The Matcher over a structure that has a `find` in `kernels.matching`, as a table.

    `counts` says that it asks for `Seen.stamps` and `Seen.counts`.
    """

    def __init__(self, held: Held, structure: Any, *, counts: bool = False) -> None:
        own = bytes_of_table(structure) + held.nbytes()
        super().__init__(held.expressions, held.asks_more, own, held.keywords.operands.nbytes)
        self._held = held
        self._structure = structure
        self._counts = counts

    @property
    def held(self) -> Held:
        """The regions and their tokens."""
        return self._held

    def finds(self) -> NDArray[np.bool_]:
        """(S,) which subscriptions it finds: the others never hold."""
        mask: NDArray[np.bool_] = self._held.regions.owners != ABSENT
        return mask

    def places(self) -> dict[str, int]:
        found = self.finds()
        more = int((found & self._held.asks_more).sum())
        return {
            "a region with keywords": int(found.sum()) - more,
            "a region with keywords and more": more,
            "never satisfied": len(self) - int(found.sum()),
        }

    def place(self, number: int) -> str:
        """The attribute of its region, and how many keywords it has."""
        regions = self._held.regions
        if regions.owners[number] == ABSENT:
            return "never satisfied"
        name = self.attributes[int(np.flatnonzero(regions.places == regions.owners[number])[0])]
        count = int(regions.token_starts[number + 1] - regions.token_starts[number])
        more = "; the rest is verified" if self._held.asks_more[number] else ""
        keywords = f"{count} keyword{'s' if count > 1 else ''}"
        return f"in a region of {name_text(attribute_of(name))} with {keywords}{more}"

    def find(self, coming: Coming, seen: Seen) -> Found:
        """What lies in its region, has its keywords, and is alive."""
        held, counts = self._held, np.zeros(1, np.int64)
        starts, found = collect(
            len(coming.events.starts) - 1,
            lambda first, ends, out: match_messages(
                self._structure, held.keywords, held.regions, coming, seen, first, ends, out, counts
            ),
        )
        return Found(starts, found, int(counts[0]), 0)

    def new_memory(self) -> Seen:
        return new_seen(self._held, counts=self._counts)


def new_seen(held: Held, *, counts: bool) -> Seen:
    """What finding writes to; `counts` says whether it is counted what each subscription has."""
    count = len(held.expressions)
    lengths = {"tokens": len(held.counts), "places": held.places, "subscriptions": count, "words": count // 64 + 1}
    return new_table(Seen, **lengths, counted=count if counts else 0, buckets=BUCKETS)
