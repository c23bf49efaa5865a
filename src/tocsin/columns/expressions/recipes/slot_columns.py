"""The slots of all instances of a chunk end to end, as columns from which leaves gather their values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, gathered, inverse, starts_of
from tocsin.columns.expressions.recipes.names import Name
from tocsin.columns.expressions.recipes.recipe import Recipe
from tocsin.columns.expressions.recipes.slots import FIXED, INSTANT_SLOT, NEGATED_SLOT, STRING_SLOT, Operand
from tocsin.columns.payloads import keys_of, string_payload
from tocsin.language.templates import Values


class SlotColumns:
    """The slots of all instances end to end: numbers, instants, or indices of names and of strings."""

    def __init__(self, recipes: Sequence[Recipe], given: Sequence[Values]) -> None:
        letters = np.frombuffer("".join([recipe.kinds for recipe in recipes]).encode(), np.uint8)
        values: list[Any] = [value for one in given for value in one]
        self.values = values
        self.starts = starts_of([len(one) for one in given], len(given))
        self.numbers = np.zeros(len(values))
        self.places = np.zeros(len(values), np.int64)
        at = np.flatnonzero(letters == ord("n"))
        self.numbers[at] = [values[i] for i in at.tolist()]
        self.instants = np.zeros(len(values), np.int64)
        at = np.flatnonzero(letters == ord("i"))
        self.instants[at] = [values[i].microseconds for i in at.tolist()]
        self._names = self._distinct(np.flatnonzero(letters == ord("a")))
        strings = np.flatnonzero(letters == ord("s"))
        distinct = self._distinct(strings)
        order = pc.sort_indices(distinct).to_numpy()
        self.places[strings] = inverse(order)[self.places[strings]]
        self.vocabulary = Texts.of_arrow(distinct.take(order))

    def _distinct(self, at: NDArray[np.int64]) -> pa.Array:
        encoded = _encoded([self.values[i] for i in at.tolist()])
        self.places[at] = encoded.indices.to_numpy(zero_copy_only=False)
        return encoded.dictionary

    def texts(self, at: NDArray[np.int64]) -> list[str]:
        """The strings in some slots."""
        return [self.values[i] for i in at.tolist()]

    def payloads(
        self, owners: NDArray[np.int64], operands: Sequence[Operand], which: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The payload of operand `which[i]` for instance `owners[i]`."""
        sources, values, sides = columns_of(operands, 3, which)
        slots = np.where(sources == FIXED, 0, values) + self.starts[owners]
        slots = np.minimum(slots, len(self.numbers) - 1)
        numbers = np.where(sources == NEGATED_SLOT, -self.numbers[slots], self.numbers[slots])
        strings = string_payload(self.places[slots], sides)
        found = np.where(sources == STRING_SLOT, strings, keys_of(numbers) + sides)
        found = np.where(sources == INSTANT_SLOT, self.instants[slots] + sides, found)
        payloads: NDArray[np.int64] = np.where(sources == FIXED, values, found)
        return payloads

    def attributes(
        self, recipes: Sequence[Recipe], kinds: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
        """The attribute of each name of each instance, in CSR form, and the distinct names. Instance i has a recipe."""
        lengths = np.array([len(recipe.names) for recipe in recipes], np.int64)
        which, owners = gathered(starts_of(lengths, len(recipes)), kinds)
        names = [name for recipe in recipes for name in recipe.names]
        first = np.array([name.slots[0].number for name in names], np.int64)[which]
        numbers = self.places[self.starts[owners] + first]
        texts = self._names.to_pylist()
        is_plain = np.array([name.is_plain for name in names], bool)[which]
        made = np.flatnonzero(~is_plain)
        if len(made):
            made = made[np.argsort(which[made], kind="stable")]
            edges = np.flatnonzero(np.diff(which[made], prepend=-1, append=-1))
            runs = [made[start:stop] for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
            encoded = _encoded(text for run in runs for text in self._written(names[which[run[0]]], owners[run]))
            numbers[made] = len(texts) + encoded.indices.to_numpy(zero_copy_only=False)
            texts += encoded.dictionary.to_pylist()
        used, numbers = np.unique(numbers, return_inverse=True)
        return starts_of(lengths[kinds], len(kinds)), numbers, [texts[number] for number in used.tolist()]

    def _written(self, name: Name, owners: NDArray[np.int64]) -> Iterable[str]:
        """A name for some instances."""
        firsts, values = self.starts[owners].tolist(), self.values
        columns = [[write(values[first + number]) for first in firsts] for number, write in name.slots]
        return [name.form % row for row in zip(*columns, strict=True)]


def _encoded(texts: Iterable[str]) -> pa.DictionaryArray:
    return pa.array(texts if isinstance(texts, list) else list(texts), pa.large_string()).dictionary_encode()


def columns_of(rows: Sequence[Sequence[int]], width: int, which: NDArray[np.int64]) -> NDArray[np.int64]:
    """The chosen rows of a table, as columns."""
    return np.ascontiguousarray(np.array(rows, np.int64).reshape(-1, width).T)[:, which]
