"""Binding of a batch to compiled expressions: its attributes and strings are mapped to theirs, once a batch.

Transformed strings are computed only if CASEI or ACCENTI is used, and their bytes only for LIKE. An order among the
batch's strings is computed only for comparisons of two attributes. Matching patterns, and the boxes that shapes
intersect, are found only if there are any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, empty_runs, frozen
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.patterns import PatternFinder
from tocsin.columns.expressions.regexes import AskedOfStrings, RegexLeaves
from tocsin.columns.meeting import BoxFinder
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Bound
from tocsin.kernels.programs.loading import load, parts_of
from tocsin.kernels.programs.parts import RANGED
from tocsin.language.operators.operands import transformed


class Binder:
    """Binds batches to one set of compiled expressions. Threads may share it.

    `numbers` gives the attributes' numbers, if the caller has them; those from `count` on are not valid yet. `places`
    gives the position of each attribute in a list that the batches' readers share. `finder` finds patterns of older
    expressions; patterns added after it are tried one by one.
    """

    def __init__(
        self,
        compiled: CompiledExpressions,
        numbers: Mapping[str, int] | None = None,
        count: int | None = None,
        places: tuple[list[str], NDArray[np.int32]] | None = None,
        finder: PatternFinder | None = None,
    ) -> None:
        self._compiled = compiled
        self._attributes = (
            {name: number for number, name in enumerate(compiled.attributes)} if numbers is None else numbers
        )
        self._count = len(compiled.attributes) if count is None else count
        self._parts = parts_of(compiled.arrays.leaf_kinds)
        self._boxes = BoxFinder(compiled.arrays.boxes)
        self._needs_orders = bool(self._parts >> codes.COMPARE & 1)
        self._places = places
        self._finder = PatternFinder(compiled) if finder is None else finder
        listed = np.zeros(len(compiled.arrays.pattern_starts) - 1, np.uint8)
        self._asks_fits = bool(len(listed) or compiled.regexes)
        self._regex_leaves = RegexLeaves(compiled.arrays)
        listed[: len(self._finder.listed)] = self._finder.listed
        self._listed = frozen(listed, np.uint8)
        self._heads: NDArray[np.uint64] | None = None
        self._is_plain = self._compiled.transforms == [""] and not self._asks_fits and not self._needs_orders
        self._known: dict[str, int] = {}  # rank codes of strings in small batches
        self._seen: tuple[list[str], NDArray[np.int32]] = [], np.empty(0, np.int32)
        self._without_strings = self._bind([], np.empty(0, np.int32))

    @property
    def nbytes(self) -> int:
        """Bytes used in addition to the compiled expressions."""
        return self._finder.nbytes

    def bind(self, batch: EventBatch) -> Bound:
        """Map a batch's attributes and strings. Cost: linear in its distinct strings, logarithmic in the operands."""
        numbers = self._numbers(batch.attributes)
        if not batch.strings:
            bound = self._without_strings._replace(attributes=numbers)
        elif self._is_plain and len(batch.strings) <= _FEW:
            ranks = self._ranks_of_few(batch.strings)
            bound = self._without_strings._replace(attributes=numbers, ranks=ranks, orders=ranks)
        else:
            bound = self._bind(batch.strings, numbers, self._asked_regexes(batch, numbers))
        if not batch.shapes:
            return bound
        starts, meets = self._boxes.find(batch.shapes)
        return bound._replace(meet_starts=starts, meets=meets)

    def bind_to_walk(self, batch: EventBatch) -> Bound:
        """Like `bind`, for kernels that walk programs. Loads the code for all kinds of leaves."""
        load(self._parts | (1 << RANGED if len(batch.arrays.ranges) else 0))
        return self.bind(batch)

    def _asked_regexes(
        self, batch: EventBatch, numbers: NDArray[np.int32]
    ) -> NDArray[np.bool_] | AskedOfStrings | None:
        """Which regular expressions are asked of the batch, or of each of its strings; None if there are none."""
        regexes = len(self._compiled.regexes)
        if not regexes:
            return None
        asked = self._regex_leaves.asked_of_strings(batch.arrays, numbers, len(batch.strings))
        return self._regex_leaves.asked_of(batch.arrays, numbers, regexes) if asked is None else asked

    def _bind(
        self,
        strings: Sequence[str],
        numbers: NDArray[np.int32],
        asked: NDArray[np.bool_] | AskedOfStrings | None = None,
    ) -> Bound:
        texts = [[transformed(s, t) for s in strings] if t else strings for t in self._compiled.transforms]
        count = len(strings)
        all_texts = Texts.of(texts[0] if len(texts) == 1 else [text for variant in texts for text in variant])
        ranks = self._compiled.vocabulary.rank_codes(all_texts, self._heads_for(count)).reshape(len(texts), count)
        fits = empty_runs(len(all_texts)), _NO_FITS
        if self._asks_fits and count:
            fits = self._finder.find(all_texts, count, self._compiled.regexes, asked)
        ranks.setflags(write=False)
        return Bound(
            attributes=numbers,
            ranks=ranks,
            orders=frozen(_orders(texts), np.int32) if self._needs_orders else ranks,  # nothing reads them otherwise
            text_starts=all_texts.starts,
            text_bytes=all_texts.data,
            fit_starts=fits[0],
            fits=fits[1],
            listed=self._listed,
            meet_starts=_NO_SHAPES,
            meets=_NO_MEETS,
        )

    def _ranks_of_few(self, strings: Sequence[str]) -> NDArray[np.int32]:
        """The rank codes of a few strings without transforms. Nothing else is asked of them: events repeat strings."""
        known = self._known
        found = [known.get(text, -1) for text in strings]
        if -1 in found:
            found = self._compiled.vocabulary.rank_codes(Texts.of(strings)).tolist()
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known.update(zip(strings, found, strict=True))
        return frozen([found], np.int32)

    def _heads_for(self, count: int) -> NDArray[np.uint64] | None:
        """The heads that speed up the search for strings, made when the first batch comes that is large enough."""
        if self._heads is None and _PAYS * count >= len(self._compiled.vocabulary) > 0:
            self._heads = self._compiled.vocabulary.heads()
        return self._heads

    def _numbers(self, names: list[str]) -> NDArray[np.int32]:
        """The numbers of a batch's attributes. Batches of one reader share a list that only grows."""
        seen, before = self._seen
        count = len(names)
        if seen is names and len(before) == count:
            return before
        if self._places is not None and self._places[0] is names:
            whole = np.full(count, -1, np.int32)
            whole[self._places[1]] = np.arange(len(self._places[1]))
            self._seen = names, frozen(whole, np.int32)
            return self._seen[1]
        first = len(before) if seen is names and len(before) < count else 0
        known = self._attributes
        numbers = np.array([known.get(name, -1) for name in names[first:count]], np.int32)
        numbers[numbers >= self._count] = -1
        whole = frozen(np.concatenate([before[:first], numbers]), np.int32)
        self._seen = names, whole
        return whole


_PAYS: Final = 16
"""Heads pay off for a batch with at least 1/16 as many strings as the vocabulary."""

_FEW: Final = 16
"""Up to this many strings, as in one event, are looked up in a dictionary."""
_MOST_KNOWN: Final = 4096

_NO_SHAPES = empty_runs(0)
_NO_MEETS = _NO_FITS = frozen(np.empty(0), np.int32)


def _orders(texts: Sequence[Sequence[str]]) -> NDArray[np.int32]:
    """The rank of each string among all of them; equal strings share a rank."""
    places = {text: place for place, text in enumerate(sorted({t for variant in texts for t in variant}))}
    return np.array([[places[t] for t in variant] for variant in texts], np.int32).reshape(len(texts), -1)
