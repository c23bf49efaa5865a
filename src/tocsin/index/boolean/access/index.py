"""The access index: the Matcher that follows access keys to candidates, and verifies them.

Every expression is placed under the cheapest cover of access keys: ranges of an attribute, members of a set, keywords,
or an attribute's presence. A conjunction of ranges lies in a list of its key's field, sorted by operand, together with
its predicates. Anything else is verified by walking its program. If events have most of the attributes that are asked
for, keys of several attributes leave fewer candidates (`compounds`).

Cost: O(sum over the event's attributes of log(list) + candidates), plus sorting the matches. About 55 bytes for a
conjunction of four ranges. `candidates_examined` counts what the keys (and the filter of a conjunction) leave.

Source: access predicates and multi-attribute hashing as in Fabret et al. 2001; lists by attribute, operator and operand
as in OpIndex (Zhang et al. 2014, section 4). Departs: any expression, by covers; keys are chosen by share times
selectivity.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.binding import Binder
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions, expression_sizes
from tocsin.forking import renewed
from tocsin.index.alive import Alive, everyone
from tocsin.index.boolean.access.best_first import CURSORS_FROM, BestFirst, describe_order, mean_length
from tocsin.index.boolean.access.building import build_layout
from tocsin.index.boolean.access.checks import check_layout
from tocsin.index.boolean.access.compounds import count_compound, lookups, new_hashing
from tocsin.index.boolean.access.decoding import decoded
from tocsin.index.boolean.access.describing import describe
from tocsin.index.boolean.access.kernels.activation import widest_activation
from tocsin.index.boolean.access.kernels.best import PUTTING, put_the_best
from tocsin.index.boolean.access.kernels.compounds import TAKING, take_compounds
from tocsin.index.boolean.access.kernels.directory import INDEX, Index
from tocsin.index.boolean.access.kernels.events import match_access
from tocsin.index.boolean.access.kernels.layouts import SCRATCH, Scratch, Wants
from tocsin.index.boolean.access.layout import AccessLayout, make_directory
from tocsin.index.fields.kernels.layouts import CELL
from tocsin.index.found import ROOM, Found, Room, collect
from tocsin.index.protocols import Arrays, Best
from tocsin.index.statistics import Statistics
from tocsin.index.tables import bytes_of_table, grown, new_table
from tocsin.jit.views import Packed
from tocsin.kernels.answers.ordering import BUCKETS
from tocsin.kernels.codes import LANES
from tocsin.kernels.programs.blocks import widest_block
from tocsin.kernels.programs.layouts import EXPRESSIONS, VERIFIER, Bound, Verifier
from tocsin.kernels.programs.loading import load_part
from tocsin.kernels.programs.memory import new_block, new_verifier
from tocsin.kernels.programs.parts import BEST, OWN, PARTS

_NONE = frozen(np.empty(0), np.float64)
_UNCHOSEN = (frozen(np.zeros(1), np.int64), frozen(np.empty(0), np.int32), _NONE, _NONE)
_ALL = (0, _NONE, _NONE, *_UNCHOSEN)
"""`Wants` of all matches, without the bitmap of live subscriptions."""

_FEW = 1024
"""Room for the entries of a small batch; it is allocated without counting them."""
_PLENTY = 1 << 16
"""Pairs that take a megabyte."""


@dataclass(frozen=True, slots=True)
class AccessBuilder:
    """Builds an access index. It finds the best by cursors if the average single's list has `cursors_from` entries."""

    cursors_from: int = CURSORS_FROM

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> Access:
        """Place each expression under its cheapest keys, by the statistics or else by estimates."""
        return Access.build(compiled, statistics, self.cursors_from)

    def load(self, arrays: Arrays) -> Access:
        """Restore a saved index; raises `CorruptIndex`."""
        return Access.load(arrays, self.cursors_from)


class Access:
    """The Matcher over access keys."""

    def __init__(self, layout: AccessLayout, cursors_from: int = CURSORS_FROM, room: Room = ROOM) -> None:
        self._layout = layout
        self._room = room
        self._cursors_from = cursors_from
        self._binder = Binder(layout.programs_of)
        self._wants_all = Wants(frozen(everyone(layout.subscriptions), np.uint64), *_ALL, PARTS)
        self._threads = threading.local()
        self._directory = make_directory(layout.lists)
        hashed = new_hashing(layout.lists.sure), new_hashing(layout.lists.likely)
        self._index = Packed(Index(layout.lists, self._directory, *hashed), INDEX)
        self._expressions = Packed(layout.programs_of.arrays, EXPRESSIONS) if layout.has_programs else None
        self._best_first: BestFirst | None = None
        self._has_compounds = len(layout.lists.sure.sorted_by) + len(layout.lists.likely.sorted_by) > 0
        self._is_ordered = mean_length(layout.lists) >= cursors_from
        self.renew_locks()
        renewed(self)
        self._nulls = len(self._directory.nulls) // 2
        fields = layout.lists.fields
        self._most_fields = int(np.diff(fields.starts).max(initial=0))
        self._cells = int(np.diff(fields.operand_starts)[fields.kinds == CELL].sum())

    def renew_locks(self) -> None:
        self._ordering = threading.Lock()

    @classmethod
    def build(
        cls,
        compiled: CompiledExpressions,
        statistics: Statistics | None = None,
        cursors_from: int = CURSORS_FROM,
        room: Room = ROOM,
    ) -> Access:
        return cls(build_layout(compiled, statistics), cursors_from, room)

    @classmethod
    def load(cls, arrays: Arrays, cursors_from: int = CURSORS_FROM) -> Access:
        layout = AccessLayout.restored(arrays)
        check_layout(layout)
        return cls(layout, cursors_from)

    @property
    def attributes(self) -> Sequence[str]:
        return self._layout.programs_of.attributes

    def __len__(self) -> int:
        return self._layout.subscriptions

    def arrays(self) -> Arrays:
        return self._layout.arrays()

    def sizes(self) -> dict[str, int]:
        """Operands count as dictionaries, like the strings that they stand for."""
        sizes = expression_sizes(self._layout.programs_of)
        operands = self._layout.lists.fields.operands.nbytes
        lists = bytes_of_table(self._index.table)
        return {
            "structure": sizes["structure"] + lists - operands + self._binder.nbytes,
            "dictionaries": sizes["dictionaries"] + operands,
        }

    def places(self) -> dict[str, int]:
        lists = self._layout.lists
        compound = count_compound(lists)
        found = {
            "one range": len(lists.singles.owners),
            "conjunctions of ranges": len(lists.conjunctions.owners),
            "several attributes at once": compound,
            "other expressions": len(lists.programs.owners) - len(lists.programs.uncovered) - compound,
            "verified on every event": len(lists.programs.uncovered),
        }
        return found | {"never satisfied": len(self) - sum(found.values())}

    def held(self) -> NDArray[np.bool_]:
        """(S,) whether each subscription lies in any list."""
        lists = self._layout.lists
        held = np.zeros(len(self), bool)
        for table in (lists.singles, lists.conjunctions, lists.programs, lists.sure.postings):
            held[table.owners] = True
        return held

    def best_first(self) -> str:
        return describe_order(self._layout.lists, self._cursors_from)

    def place(self, number: int) -> str:
        return describe(self._layout, number)

    def expressions(self) -> CompiledExpressions:
        return decoded(self._layout)

    def match(self, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        batch.require_values()
        bound = self._binder.bind_to_walk(batch)
        if self._has_compounds:
            load_part(OWN, take_compounds, TAKING)
        if best is not None:
            load_part(BEST, put_the_best, PUTTING)
        scratch, verifier = self._memory(batch, bound)
        expressions = walking = None
        if self._expressions is not None:
            expressions, walking = self._expressions.places, verifier.places
        wants, examined = self._wants(batch, bound, alive, best)
        counts = np.zeros(2, np.int64)
        index, memory, events = self._index.places, scratch.places, batch.arrays
        starts, found = collect(
            len(batch),
            lambda first, ends, out: match_access(
                index, memory, expressions, walking, events, bound, wants, first, ends, out, counts
            ),
            self._room,
        )
        return Found(starts, found, int(counts[0]) + examined, int(counts[1]))

    def _wants(self, batch: EventBatch, bound: Bound, alive: Alive, best: Best | None) -> tuple[Wants, int]:
        """What is wanted of a batch's matches, and the number of intervals examined to determine it."""
        if alive is None and best is None:
            return self._wants_all, 0
        living = self._wants_all.alive if alive is None else frozen(alive, np.uint64)
        if best is None:
            return Wants(living, *_ALL, PARTS), 0
        ranked = best.k, frozen(best.scores, np.float64), frozen(best.maxima, np.float64)
        ordered = self._in_order(best)
        if ordered is None:
            return Wants(living, *ranked, *_UNCHOSEN, PARTS), 0
        chosen = ordered.choose(batch, bound, living, best)
        floors = frozen(chosen.floors, np.float64), frozen(chosen.list_maxima, np.float64)
        found = frozen(chosen.starts, np.int64), frozen(chosen.subscriptions, np.int32)
        return Wants(living, *ranked, *found, *floors, PARTS), chosen.examined

    def _in_order(self, best: Best) -> BestFirst | None:
        """The singles in order of the base scores, if that pays; rebuilt if there is another base."""
        if not self._is_ordered or best.base is None:
            return None
        with self._ordering:
            if self._best_first is None or self._best_first.base is not best.base:
                self._best_first = BestFirst(self._layout.lists, len(self), best.base)
            return self._best_first

    def _memory(self, batch: EventBatch, bound: Bound) -> tuple[Packed[Scratch], Packed[Verifier]]:
        """This thread's memory, with room for what the events of a block activate."""
        kept = getattr(self._threads, "kept", None)
        if kept is None:
            scratch, verifier = self._new_scratch(_FEW), self._new_verifier(_FEW)
        else:
            scratch, verifier = kept[0].table, kept[1].table
        of_each = self._most_pairs(batch)
        if not self._surely_fits(batch, bound, of_each, scratch, verifier):
            scratch, verifier = self._with_room(scratch, verifier, *self._needed(batch, bound, of_each))
        if kept is None or scratch is not kept[0].table or verifier is not kept[1].table:
            kept = self._threads.kept = (Packed(scratch, SCRATCH), Packed(verifier, VERIFIER))
        return kept

    def _surely_fits(self, batch: EventBatch, bound: Bound, of_each: int, scratch: Scratch, verifier: Verifier) -> bool:
        """Whether a batch without fitting patterns is so small that nothing needs to be counted.

        An entry activates `of_each` pairs at most.
        """
        entries = len(batch.arrays.attributes)
        pairs = entries * of_each + len(batch) * self._nulls
        return not len(bound.fits) and entries < len(verifier.block.lanes) and pairs <= len(scratch.fields)

    def _needed(self, batch: EventBatch, bound: Bound, of_each: int) -> tuple[int, int]:
        """The room for a block's pairs and for its entries. Pairs are counted if the estimate is large.

        It is twice that of one block: a block may begin anywhere, where the previous output was full, and span two.
        """
        entries = 2 * widest_block(batch.arrays.starts, LANES)
        pairs = entries * of_each + 2 * LANES * self._nulls
        if len(bound.fits) or pairs > _PLENTY:
            pairs = 2 * widest_activation(self._layout.lists.fields, batch.arrays, bound, LANES)
        return pairs, entries if self._layout.has_programs else 0

    def _most_pairs(self, batch: EventBatch) -> int:
        """The most pairs that an entry of a batch without fitting patterns activates.

        Many entries may share a list or box, so each entry is assumed to have the longest list.
        """
        arrays = batch.arrays
        longest = int(np.diff(arrays.list_starts).max()) if len(arrays.list_types) else 0
        return (1 + longest) * self._most_fields + (self._cells if len(arrays.boxes) else 0)

    def _with_room(self, scratch: Scratch, verifier: Verifier, pairs: int, entries: int) -> tuple[Scratch, Verifier]:
        """The same memory, or a larger one, for that many pairs and entries of a block."""
        if len(scratch.fields) < pairs:
            lists = self._layout.lists
            scratch = grown(scratch, pairs=pairs, lookups=lookups((lists.sure, lists.likely), lists.fields, pairs))
        if len(verifier.block.lanes) <= entries:
            verifier = verifier._replace(block=new_block(len(self.attributes), entries))
        return scratch, verifier

    def _new_scratch(self, pairs: int) -> Scratch:
        lists = self._layout.lists
        conjunctions, postings = len(lists.conjunctions.owners), len(lists.program_postings.owners)
        programs = len(lists.programs.owners)
        entries = len(lists.singles.owners) + conjunctions + programs + len(lists.sure.postings.owners)
        postings += len(lists.likely.postings.owners)
        return new_table(
            Scratch,
            pairs=pairs,
            lookups=lookups((lists.sure, lists.likely), lists.fields, pairs),
            fields=len(lists.fields.kinds),
            attributes=len(self.attributes),
            conjunctions=conjunctions,
            programs=programs,
            entries=entries,
            postings=postings,
            words=self._layout.subscriptions // 64 + 1,
            lanes=LANES,
            buckets=BUCKETS,
        )

    def _new_verifier(self, entries: int) -> Verifier:
        return new_verifier(len(self._layout.programs_of.arrays.leaf_kinds), len(self.attributes), entries)
