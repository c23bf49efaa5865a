"""Search for the patterns that each text fits: one automaton over a literal of each pattern, then a check.

A LIKE pattern that is a prefix, a suffix, a whole text or a substring is decided by its literal. For other patterns the
longest piece is searched, and the pattern is tried if it is found. Regular expressions are treated like this by RE2;
one without a literal is tried on every text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.kernels.text.automaton import build_automaton
from tocsin.kernels.text.literals import Literals, find_patterns, write_pieces
from tocsin.language.strings import regex_literal

_FITS_PER_TEXT = 4
"""The initial room for fits per text."""

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
        self._loose: list[int] = []
        self.listed = frozen(np.empty(0), np.uint8)
        if self._count:
            self._make(compiled)

    def _make(self, compiled: CompiledExpressions) -> None:
        tokens = compiled.arrays.pattern_starts, compiled.arrays.pattern_tokens
        starts, data, whole = write_pieces(*tokens)
        self.listed = frozen(np.diff(starts) > 0, np.uint8)
        literals = [regex_literal(pattern).encode() for pattern, _ in compiled.regexes]
        self._loose = [number for number, literal in enumerate(literals) if not literal]
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
        regexes: Sequence[tuple[str, int]],
        is_asked: NDArray[np.bool_] | None = None,
    ) -> Fits:
        """The patterns that each text fits. Text t * distinct + u is string u under transform t.

        `regexes` are all regular expressions and their transforms. Those added after the finder are tried on every
        text. With `is_asked`, regular expressions for which it is False are left out.
        """
        starts, found = self._by_literals(texts)
        loose = [*self._loose, *range(self._regexes, len(regexes))]
        if is_asked is not None:
            loose = [number for number in loose if is_asked[number]]
        if not loose and not (len(found) and (found & 1).any()):
            return Fits(frozen(starts, np.int64), frozen(found, np.int32))
        owners = np.repeat(np.arange(len(texts)), np.diff(starts))
        by_regex = found & 1 == 1
        pairs = [(owners[~by_regex], found[~by_regex])]
        if is_asked is not None:
            by_regex[by_regex] = is_asked[found[by_regex] >> 1]
        every = texts.arrow()
        pairs += self._by_regexes(every, distinct, regexes, owners[by_regex], found[by_regex] >> 1)
        for number in loose:
            pattern, transform = regexes[number]
            first = transform * distinct
            pairs.append(_tried(every.slice(first, distinct), pattern, number, np.arange(first, first + distinct)))
        places = np.concatenate([place for place, _ in pairs])
        numbers = np.concatenate([number for _, number in pairs])
        order = np.lexsort([numbers, places])
        counts = np.bincount(places, minlength=len(texts))
        return Fits(frozen(starts_of(counts, len(texts)), np.int64), frozen(numbers[order], np.int32))

    def _by_literals(self, texts: Texts) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The LIKE patterns that texts fit, and the candidate regular expressions."""
        starts = np.zeros(len(texts) + 1, np.int64)
        if self._literals is None:
            return starts, np.empty(0, np.int32)
        count = len(self._literals.owners)
        out = np.empty(count + _FITS_PER_TEXT * len(texts), np.int32)
        stamps, held = np.zeros(count, np.int64), np.empty(count, np.int32)
        text = 0
        while True:
            text = find_patterns(self._literals, texts.starts, texts.data, text, stamps, held, starts, out)
            if text == len(texts):
                return starts, out[: starts[-1]]
            stamps[:] = 0  # the text that exceeded the room is searched again
            out = np.concatenate([out, np.empty_like(out)])

    def _by_regexes(
        self,
        texts: pa.Array,
        distinct: int,
        regexes: Sequence[tuple[str, int]],
        places: NDArray[np.int64],
        numbers: NDArray[np.int32],
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Try each regular expression on the texts that contain its literal."""
        order = np.argsort(numbers, kind="stable")
        edges = np.flatnonzero(np.diff(numbers[order], prepend=-1, append=-1))
        for first, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            number = int(numbers[order[first]])
            pattern, transform = regexes[number]
            own = places[order[first:stop]]
            own = own[own // max(distinct, 1) == transform]
            if len(own):
                yield _tried(texts.take(own), pattern, number, own)


def _count(compiled: CompiledExpressions) -> int:
    return len(compiled.arrays.pattern_starts) - 1 + len(compiled.regexes)


def _tried(
    texts: pa.Array, pattern: str, number: int, places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of the texts that a regular expression is found in, and its number for each."""
    matched = pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)
    found = places[matched.astype(bool)]
    return found, np.full(len(found), 2 * number + 1, np.int64)
