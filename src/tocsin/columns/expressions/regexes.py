"""Regular expressions: which are asked of which strings of a batch, and the trial of those that may fit.

A trial takes 1 us if the expression stays compiled, and 15 to 1,000 us if Arrow compiles it. So in a small batch, as of
one event, an expression is tried on the strings of the attributes that conditions compare with it, and on no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Events, Expressions
from tocsin.language.regexes import search_of_few

Regexes: TypeAlias = Sequence[tuple[str, int]]
"""Regular expressions, each with the number of the transform that its text goes through."""

AskedOfStrings: TypeAlias = list[frozenset[int]]
"""The regular expressions that are asked of each string of a small batch."""

FEW_STRINGS: Final = 64
"""A batch with at most so many strings is small."""

_NONE: Final[frozenset[int]] = frozenset()


class RegexLeaves:
    """The regular expressions that conditions compare with each attribute. Threads may share it.

    It is made anew with each change of recent subscriptions. So the sets are made when an event needs them.
    """

    def __init__(self, leaves: Expressions) -> None:
        own = np.flatnonzero(leaves.leaf_kinds == codes.REGEX)
        self._attributes = leaves.leaf_attributes[own]
        self._regexes = leaves.leaf_others[own]
        self._count = int(self._attributes.max(initial=-1)) + 1
        self._of_attributes: dict[int, frozenset[int]] = {}  # those that events had so far

    def asked_of(self, arrays: Events, numbers: NDArray[np.int32], regexes: int) -> NDArray[np.bool_]:
        """Which regular expressions are about an attribute that some event has. `numbers` are those of attributes."""
        is_there = np.zeros(max(self._count, int(numbers.max(initial=-1)) + 1) + 1, np.bool_)  # the last: no attribute
        is_there[numbers[arrays.attributes]] = True
        is_asked = np.zeros(regexes, np.bool_)
        is_asked[self._regexes[is_there[self._attributes]]] = True
        return is_asked

    def asked_of_strings(self, arrays: Events, numbers: NDArray[np.int32], strings: int) -> AskedOfStrings | None:
        """The regular expressions asked of each string; None if the batch is large, or has strings within lists."""
        if strings > FEW_STRINGS or len(arrays.types) > 4 * FEW_STRINGS:
            return None
        asked = [_NONE] * strings
        entries = zip(numbers[arrays.attributes].tolist(), arrays.types.tolist(), arrays.payloads.tolist(), strict=True)
        for attribute, kind, payload in entries:
            if kind == codes.STRING:
                asked[payload] = asked[payload] | self._of_attribute(attribute)
            elif kind == codes.LIST:
                return None
        return asked

    def _of_attribute(self, attribute: int) -> frozenset[int]:
        known = self._of_attributes.get(attribute)
        if known is None:
            known = frozenset(self._regexes[self._attributes == attribute].tolist())
            self._of_attributes[attribute] = known
        return known


def fits_of_few(
    texts: Texts, regexes: Regexes, asked: AskedOfStrings, candidates: Iterable[tuple[int, int]], loose: frozenset[int]
) -> Iterator[tuple[int, int]]:
    """The (text, regular expression) pairs that fit, in a small batch.

    `candidates` are pairs of which the text has the expression's literal. `loose` expressions have none.
    """
    distinct = len(asked)
    for text, number in candidates:
        transform, string = divmod(text, distinct)
        if number in asked[string] and regexes[number][1] == transform and _is_found(texts, text, regexes[number][0]):
            yield text, number
    for string, numbers in enumerate(asked):
        for number in numbers & loose:
            pattern, transform = regexes[number]
            text = transform * distinct + string
            if _is_found(texts, text, pattern):
                yield text, number


def _is_found(texts: Texts, text: int, pattern: str) -> bool:
    search = search_of_few(pattern)
    if search is None:
        return bool(pc.match_substring_regex(texts.arrow().slice(text, 1), pattern)[0].as_py())
    return search(texts.data[texts.starts[text] : texts.starts[text + 1]].tobytes()) is not None


def fits_of_many(
    texts: Texts,
    distinct: int,
    regexes: Regexes,
    candidates: tuple[NDArray[np.int64], NDArray[np.int32]],
    loose: Iterable[int],
) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Places of texts, and the number of a regular expression that fits each; like `fits_of_few`."""
    every = texts.arrow()
    for number, places in _texts_by_regex(distinct, regexes, *candidates):
        yield _tried(every.take(pa.array(places)), regexes[number][0], number, places)
    for number in loose:
        pattern, transform = regexes[number]
        first = transform * distinct
        yield _tried(every.slice(first, distinct), pattern, number, np.arange(first, first + distinct))


def _texts_by_regex(
    distinct: int, regexes: Regexes, places: NDArray[np.int64], numbers: NDArray[np.int32]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Each regular expression whose literal was found, and the texts, under its transform, that contain it."""
    order = np.argsort(numbers, kind="stable")
    edges = np.flatnonzero(np.diff(numbers[order], prepend=-1, append=-1))
    for first, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        number = int(numbers[order[first]])
        own = places[order[first:stop]]
        own = own[own // max(distinct, 1) == regexes[number][1]]
        if len(own):
            yield number, own


def _tried(
    texts: pa.Array, pattern: str, number: int, places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of the texts that a regular expression is found in, and its number for each."""
    matched = pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)
    found = places[matched.astype(bool)]
    return found, np.full(len(found), number, np.int64)
