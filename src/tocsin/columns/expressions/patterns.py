"""Search for the patterns that each text fits: one automaton over a literal of each pattern, then a check.

A LIKE pattern that is a prefix, a suffix, a whole text or a substring is decided by its literal. For other patterns the
longest piece is searched, and the pattern is tried if it is found. Regular expressions are treated like this by RE2;
one without a literal is tried on every text.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.regexes import AskedOfStrings, Regexes, fits_of_few, fits_of_many
from tocsin.kernels.text.automaton import build_automaton
from tocsin.kernels.text.literals import Literals, find_patterns, write_pieces
from tocsin.language.regexes import regex_literal

_FITS_AT_FIRST, _FITS_PER_TEXT = 1 << 12, 4
"""The initial room for fits, and for those of each text."""

_FEW_NEW = 16
"""A new automaton is not built for this many new patterns."""


class Fits(NamedTuple):
    """The patterns that texts fit, in CSR form. N texts, M fits."""

    starts: NDArray[np.int64]  # (N + 1,)
    patterns: NDArray[
        np.int32
    ]  # (M,) 2 p for LIKE pattern p, 2 r + 1 for regular expression r; ascending within a text


class PatternFinder:
    """Finds the patterns of the compiled expressions that exist when it is made.

    `listed`: (Q,) 1 for each LIKE pattern that it finds; the others have no literal, and fit nearly everything. Cost of
    building: linear in the patterns' bytes, about 0.5 us a byte. Threads may share it.
    """

    def __init__(self, compiled: CompiledExpressions) -> None:
        self._literals: Literals | None = None
        self._count = _count(compiled)
        self._regexes = len(compiled.regexes)
        self._loose: frozenset[int] = frozenset()
        self._threads = threading.local()
        self.listed = frozen(np.empty(0), np.uint8)
        if self._count:
            self._make(compiled)

    def _make(self, compiled: CompiledExpressions) -> None:
        tokens = compiled.arrays.pattern_starts, compiled.arrays.pattern_tokens
        starts, data, whole = write_pieces(*tokens)
        self.listed = frozen(np.diff(starts) > 0, np.uint8)
        literals = [regex_literal(pattern).encode() for pattern, _ in compiled.regexes]
        self._loose = frozenset(number for number, literal in enumerate(literals) if not literal)
        lengths = np.concatenate([np.diff(starts), np.array([len(one) for one in literals], np.int64)])
        owners = np.concatenate([2 * np.arange(len(starts) - 1), 2 * np.arange(len(literals)) + 1])
        data = np.concatenate([data, np.frombuffer(b"".join(literals), np.uint8)])
        there = lengths > 0
        sure = np.concatenate([whole, np.zeros(len(literals), np.uint8)])[there]
        if not there.any():
            return
        automaton = build_automaton(starts_of(lengths[there], int(there.sum())), data)
        self._literals = Literals(automaton, owners[there].astype(np.int32), sure, *tokens)

    @property
    def nbytes(self) -> int:
        """The bytes of the automaton, without the patterns."""
        if self._literals is None:
            return 0
        known = self._literals
        return sum(array.nbytes for array in (*known.automaton, known.owners, known.sure, self.listed))

    def kept_for(self, compiled: CompiledExpressions) -> PatternFinder:
        """A finder for expressions that grew: this one, until a quarter of the patterns are new to it."""
        return self if 4 * _count(compiled) <= 5 * self._count + 4 * _FEW_NEW else PatternFinder(compiled)

    def find(
        self,
        texts: Texts,
        distinct: int,
        regexes: Regexes,
        asked: NDArray[np.bool_] | AskedOfStrings | None = None,
    ) -> Fits:
        """The patterns that each text fits. Text t * distinct + u is string u under transform t.

        `regexes` are all regular expressions and their transforms. Those added after the finder are tried on every
        text. `asked` says which of them are tried, on all strings or on each; None for all.
        """
        starts, found = self._by_literals(texts)
        later = range(self._regexes, len(regexes))
        by_regex = found & 1 == 1
        if isinstance(asked, list):
            loose = self._loose.union(later) if later else self._loose
            if not by_regex.any() and not any(numbers & loose for numbers in asked):
                return Fits(frozen(starts, np.int64), frozen(found, np.int32))
            at = np.flatnonzero(by_regex)
            owners = np.searchsorted(starts, at, "right") - 1
            candidates = zip(owners.tolist(), (found[at] >> 1).tolist(), strict=True)
            fitting = np.array([*fits_of_few(texts, regexes, asked, candidates, loose)], np.int64).reshape(-1, 2)
            if not len(fitting):
                before = np.concatenate([[0], np.cumsum(by_regex)])[starts]
                return Fits(frozen(starts - before, np.int64), frozen(found[~by_regex], np.int32))
            return _together(starts, found, by_regex, [(fitting[:, 0], fitting[:, 1])])
        tried = [n for n in (*self._loose, *later) if asked is None or asked[n]]
        if not tried and not by_regex.any():
            return Fits(frozen(starts, np.int64), frozen(found, np.int32))
        is_candidate = by_regex if asked is None else by_regex & asked[np.where(by_regex, found >> 1, 0)]
        owners = np.repeat(np.arange(len(texts)), np.diff(starts))
        pairs = owners[is_candidate], found[is_candidate] >> 1
        return _together(starts, found, by_regex, fits_of_many(texts, distinct, regexes, pairs, tried))

    def _by_literals(self, texts: Texts) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The LIKE patterns that texts fit, and the candidate regular expressions."""
        starts = np.zeros(len(texts) + 1, np.int64)
        if self._literals is None:
            return starts, np.empty(0, np.int32)
        stamps, held = self._memory(len(self._literals.owners))
        out = np.empty(_FITS_AT_FIRST + _FITS_PER_TEXT * len(texts), np.int32)
        text = 0
        while True:
            text = find_patterns(self._literals, texts.starts, texts.data, text, stamps, held, starts, out)
            if text == len(texts):
                return starts, out[: starts[-1]]
            out = np.concatenate([out, np.empty(len(out) + len(held), np.int32)])

    def _memory(self, literals: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """This thread's memory for a search: by literal the last text that has it, and the literals of a text."""
        memory: tuple[NDArray[np.int64], NDArray[np.int32]] | None = getattr(self._threads, "memory", None)
        if memory is None:
            memory = self._threads.memory = np.zeros(literals + 1, np.int64), np.empty(literals, np.int32)
        return memory


def _together(
    starts: NDArray[np.int64],
    found: NDArray[np.int32],
    is_regex: NDArray[np.bool_],
    fitting: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> Fits:
    """The LIKE patterns among `found`, and `fitting` pairs of texts and regular expressions, by text and number."""
    texts = len(starts) - 1
    owners = np.repeat(np.arange(texts), np.diff(starts))
    pairs = [(owners[~is_regex], found[~is_regex]), *((places, 2 * numbers + 1) for places, numbers in fitting)]
    places = np.concatenate([place for place, _ in pairs])
    numbers = np.concatenate([number for _, number in pairs])
    order = np.lexsort([numbers, places])
    return Fits(starts_of(np.bincount(places, minlength=texts), texts), frozen(numbers[order], np.int32))


def _count(compiled: CompiledExpressions) -> int:
    return len(compiled.arrays.pattern_starts) - 1 + len(compiled.regexes)
