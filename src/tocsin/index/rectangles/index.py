"""What do structures of rectangles have in common? All but how they find what an event meets on two axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.index.found import Found, collect
from tocsin.index.narrowing import Narrowing
from tocsin.index.narrowing.kernels import Coming
from tocsin.index.rectangles.kernels.layouts import Seen
from tocsin.index.rectangles.kernels.matching import match_rectangles
from tocsin.index.rectangles.rectangles import Held, attributes_of
from tocsin.index.tables import bytes_of_table, new_table
from tocsin.kernels.answers.ordering import BUCKETS
from tocsin.kernels.compacting import AT_ONCE
from tocsin.language.canonical import name_text
from tocsin.model.readings import attribute_of


class OverRectangles(Narrowing):
    """The Matcher over a structure that has a `find` in `kernels.matching`, as a table.

    `has_stamps` says that it asks for `Seen.stamps`.
    """

    def __init__(self, held: Held, structure: Any, *, has_stamps: bool) -> None:
        own = bytes_of_table(structure)
        super().__init__(held.expressions, held.asks_more, own + held.nbytes(), held.dictionary_bytes())
        self._held = held
        self._structure = structure
        self._has_stamps = has_stamps

    @property
    def held(self) -> Held:
        """The rectangles."""
        return self._held

    def finds(self) -> NDArray[np.bool_]:
        """(S,) which subscriptions it finds: the others never hold."""
        mask = np.zeros(len(self), bool)
        mask[self._held.groups.members] = True
        return mask

    @property
    def structure(self) -> Any:
        """What finds them, as a table."""
        return self._structure

    def places(self) -> dict[str, int]:
        groups, more = self._held.groups, self._held.asks_more
        asks_more = int(more[groups.members].sum())
        found = {"one rectangle": len(groups.members) - asks_more, "a rectangle and more": asks_more}
        return found | {"never satisfied": len(self) - len(groups.members)}

    def place(self, number: int) -> str:
        """The attributes whose ranges or box its rectangle is. Cost: linear in the rectangles."""
        groups, group = self._held.groups, self.pair_of(number)
        if group is None:
            return "never satisfied"
        names = [self._name(int(axes[group])) for axes in (groups.axes, groups.seconds)]
        more = "; the rest is verified" if self._held.asks_more[number] else ""
        return f"in a rectangle of {' and '.join(dict.fromkeys(name for name in names if name))}{more}"

    def pair_of(self, number: int) -> int | None:
        """The pair of axes that a subscription's rectangle is on; None where it is never satisfied. Cost: linear."""
        groups = self._held.groups
        places = np.flatnonzero(groups.members == number)
        return int(np.searchsorted(groups.starts, places[0], side="right")) - 1 if len(places) else None

    def _name(self, axis: int) -> str:
        attribute = int(attributes_of(self._held.axes)[axis])
        return "" if attribute < 0 else name_text(attribute_of(self.attributes[attribute]))

    def find(self, coming: Coming, seen: Seen) -> Found:
        """What meets in its rectangle, and is alive."""
        held, counts = self._held, np.zeros(1, np.int64)
        starts, found = collect(
            len(coming.events.starts) - 1,
            lambda first, ends, out: match_rectangles(
                self._structure, held.axes, held.groups, coming, seen, first, ends, out, counts
            ),
        )
        return Found(starts, found, int(counts[0]), 0)

    def new_memory(self) -> Seen:
        count = len(self)
        stamped, words = count if self._has_stamps else 0, count // 64 + 1
        lengths = {"axes": len(self._held.sizes), "subscriptions": count, "words": words, "stamped": stamped}
        seen = new_table(Seen, **lengths, spare=AT_ONCE, buckets=BUCKETS)
        seen.lows[-1] = 0
        return seen
