"""The tokens of keywords that come one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.spatial_text.kernels.layouts import ABSENT, TYPES, Keywords
from tocsin.kernels import codes
from tocsin.papers.location_aware.growing_trees.kernels.keywords import NumberedKeywords

_Field = tuple[int, int]
"""Attribute, type."""


class GrowingKeywords:
    """Tokens of keywords, in order of arrival. Arrays that `table` gave stay as they are."""

    def __init__(self) -> None:
        self._count = 0
        self._strings = 0  # of the pools' strings, so many have a rank
        self._by_rank: dict[_Field, NDArray[np.int32]] = {}
        self._others: dict[_Field, tuple[NDArray[np.int64], NDArray[np.int32]]] = {}  # payloads ascending, and tokens

    def __len__(self) -> int:
        """The number of tokens."""
        return self._count

    def read(self, keywords: Keywords, compiled: CompiledExpressions, strings: Sequence[str]) -> NDArray[np.int32]:
        """(O,) the token of each keyword of some expressions, whose strings are numbered by rank.

        `strings` are those of all expressions so far in order of arrival. Cost: linear in the strings, for each field.
        """
        self._rank(compiled.vocabulary, strings)
        tokens = np.empty(len(keywords.operands), np.int32)
        for attribute, kind in np.argwhere(keywords.fields != ABSENT).tolist():
            field = int(keywords.fields[attribute, kind])
            own = slice(*keywords.operand_starts[field : field + 2].tolist())
            of_field = self._of_strings if kind == codes.STRING else self._of_others
            tokens[own] = of_field((attribute, kind), keywords.operands[own])
        return tokens

    def _rank(self, vocabulary: Texts, strings: Sequence[str]) -> None:
        """Make places for the strings that are new, which moves the ranks of others."""
        new = strings[self._strings : len(vocabulary)]
        if not new:
            return
        ranks = np.sort(vocabulary.rank_codes(Texts.of(new)) >> 1)
        places = ranks - np.arange(len(ranks))
        self._by_rank = {field: np.insert(row, places, ABSENT) for field, row in self._by_rank.items()}
        self._strings = len(vocabulary)

    def _of_strings(self, field: _Field, operands: NDArray[np.int64]) -> NDArray[np.int32]:
        before, ranks = self._by_rank.get(field), operands >> 1
        row = np.full(self._strings, ABSENT, np.int32) if before is None else before.copy()
        new = ranks[row[ranks] == ABSENT]
        row[new] = self._numbers(len(new))
        self._by_rank[field] = row
        tokens: NDArray[np.int32] = row[ranks]
        return tokens

    def _of_others(self, field: _Field, operands: NDArray[np.int64]) -> NDArray[np.int32]:
        payloads, tokens = self._others.get(field, (np.empty(0, np.int64), np.empty(0, np.int32)))
        new = np.setdiff1d(operands, payloads)
        places = np.searchsorted(payloads, new)
        payloads, tokens = np.insert(payloads, places, new), np.insert(tokens, places, self._numbers(len(new)))
        self._others[field] = payloads, tokens
        return tokens[np.searchsorted(payloads, operands)]

    def _numbers(self, count: int) -> NDArray[np.int32]:
        """New tokens."""
        self._count += count
        return np.arange(self._count - count, self._count, dtype=np.int32)

    def table(self, attributes: int) -> NumberedKeywords:
        """What matching needs."""
        fields = np.full((attributes, TYPES), ABSENT, np.int32)
        for known in (self._by_rank, self._others):
            for number, field in enumerate(known):
                fields[field] = number
        rows = list(self._by_rank.values())
        payloads, tokens = [own[0] for own in self._others.values()], [own[1] for own in self._others.values()]
        return NumberedKeywords(
            frozen(fields, np.int32),
            frozen(np.array(rows).reshape(len(rows), self._strings), np.int32),
            starts_of([len(own) for own in payloads], len(payloads)),
            frozen(np.concatenate([np.empty(0, np.int64), *payloads]), np.int64),
            frozen(np.concatenate([np.empty(0, np.int32), *tokens]), np.int32),
        )
