"""The tables that the leaves of a chunk's instances refer to, filled in columns: a builder for each table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, starts_of
from tocsin.columns.expressions.leaf_kinds import ATTRIBUTES, REGEXES
from tocsin.columns.expressions.pools import Pool, like_tokens
from tocsin.columns.expressions.recipes.slot_columns import SlotColumns, columns_of
from tocsin.columns.expressions.recipes.slots import FIXED, NEGATED_SLOT
from tocsin.kernels import codes


class Chunk(NamedTuple):
    """Instances that are compiled together. I instances, N names, F leaves."""

    slots: SlotColumns
    transforms: Mapping[str, int]
    name_starts: NDArray[np.int64]  # (I + 1,)
    attributes: NDArray[np.int64]  # (N,) the attribute of each name
    leaf_starts: NDArray[np.int64]  # (I + 1,)


class Asked(NamedTuple):
    """References of leaves to a table: entry `which[i]` for instance `owners[i]`. R references."""

    entries: Sequence[Any]
    which: NDArray[np.int64]  # (R,)
    owners: NDArray[np.int64]  # (R,)


class Made(NamedTuple):
    """A table: its arrays by name, or the items of one without arrays, and the entry of each reference."""

    numbers: NDArray[np.int64]  # (R,)
    arrays: Mapping[str, NDArray[Any]] = {}
    items: Sequence[tuple[str, int]] = ()


def _attributes(asked: Asked, chunk: Chunk) -> Made:
    numbers = np.array(asked.entries, np.int64)[asked.which]
    return Made(chunk.attributes[chunk.name_starts[asked.owners] + numbers])


def _sets(asked: Asked, chunk: Chunk) -> Made:
    """The sets in CSR form, each without duplicates and sorted by (type, payload)."""
    starts = starts_of([len(entry) for entry in asked.entries], len(asked.entries))
    elements = [element for entry in asked.entries for element in entry]
    members, sets = gathered(starts, asked.which)
    types = np.array([kind for kind, _ in elements], np.int64)[members]
    payloads = chunk.slots.payloads(asked.owners[sets], [operand for _, operand in elements], members)
    order = np.lexsort((payloads, types, sets))
    sets, types, payloads = sets[order], types[order], payloads[order]
    keep = np.ones(len(order), bool)
    keep[1:] = (sets[1:] != sets[:-1]) | (types[1:] != types[:-1]) | (payloads[1:] != payloads[:-1])
    count = len(asked.which)
    arrays = {
        "set_starts": starts_of(np.bincount(sets[keep], minlength=count), count),
        "set_types": frozen(types[keep], np.uint8),
        "set_payloads": frozen(payloads[keep], np.int64),
    }
    return Made(np.arange(count), arrays)


def _boxes(asked: Asked, chunk: Chunk) -> Made:
    edges = np.array(asked.entries, np.int64).reshape(-1, 4, 3)[asked.which]
    numbers = chunk.slots.numbers[chunk.slots.starts[asked.owners][:, None] + edges[:, :, 1]]
    boxes = np.where(edges[:, :, 0] == NEGATED_SLOT, -numbers, numbers) + 0.0
    return Made(np.arange(len(boxes)), {"boxes": frozen(boxes, np.float64)})


def _patterns(asked: Asked, chunk: Chunk) -> Made:
    """The distinct patterns in CSR form, and the pattern of each leaf."""
    places = chunk.slots.starts[asked.owners] + np.array(asked.entries, np.int64)[asked.which]
    patterns: Pool[str] = Pool()
    numbers = np.array([patterns.number(text) for text in chunk.slots.texts(places)], np.int64)
    tokens = [like_tokens(pattern) for pattern in patterns.items]
    flat = np.array([token for one in tokens for token in one], np.int16)
    starts = starts_of([len(one) for one in tokens], len(tokens))
    return Made(numbers, {"pattern_starts": starts, "pattern_tokens": frozen(flat, np.int16)})


def _regexes(asked: Asked, chunk: Chunk) -> Made:
    places = chunk.slots.starts[asked.owners] + np.array([slot for slot, _ in asked.entries], np.int64)[asked.which]
    transforms = np.array([chunk.transforms[name] for _, name in asked.entries], np.int64)[asked.which]
    regexes: Pool[tuple[str, int]] = Pool()
    pairs = zip(chunk.slots.texts(places), transforms.tolist(), strict=True)
    numbers = np.array([regexes.number(pair) for pair in pairs], np.int64)
    return Made(numbers, items=regexes.items)


def _terms(asked: Asked, chunk: Chunk) -> Made:
    """The terms, and their constants."""
    starts = starts_of([len(entry) for entry in asked.entries], len(asked.entries))
    steps = [(s.code, *s.operand[:2], chunk.transforms[s.transform]) for entry in asked.entries for s in entry]
    members, terms = gathered(starts, asked.which)
    kinds, sources, values, transforms = columns_of(steps, 4, members)
    owners = asked.owners[terms]
    arguments = np.zeros(len(members), np.int64)
    named, is_number = np.isin(kinds, codes.WITH_ATTRIBUTE), kinds == codes.TERM_NUMBER
    arguments[named] = chunk.attributes[chunk.name_starts[owners[named]] + values[named]]
    arguments[is_number] = np.arange(int(is_number.sum()))
    sources, values = sources[is_number], values[is_number]
    places = np.where(sources == FIXED, 0, chunk.slots.starts[owners[is_number]] + values)
    numbers = np.where(sources == FIXED, values, chunk.slots.numbers[places])
    constants = np.where(sources == NEGATED_SLOT, 0.0 - numbers, numbers)
    count = len(asked.which)
    arrays = {
        "term_starts": starts_of(np.diff(starts)[asked.which], count),
        "term_codes": frozen(kinds, np.uint8),
        "term_arguments": frozen(arguments, np.int32),
        "term_transforms": frozen(transforms, np.uint16),
        "constants": frozen(constants, np.float64),
    }
    return Made(np.arange(count), arrays)


def _truths(asked: Asked, chunk: Chunk) -> Made:
    starts = starts_of([len(entry) for entry in asked.entries], len(asked.entries))
    members, truths = gathered(starts, asked.which)
    operations, arguments = columns_of([step for entry in asked.entries for step in entry], 2, members)
    arguments = arguments + np.where(operations == codes.TRUTH_LEAF, chunk.leaf_starts[asked.owners[truths]], 0)
    count = len(asked.which)
    arrays = {
        "truth_starts": starts_of(np.diff(starts)[asked.which], count),
        "truth_codes": frozen(operations, np.uint8),
        "truth_arguments": frozen(arguments, np.int32),
    }
    return Made(np.arange(count), arrays)


BUILDERS: Final[Mapping[str, Callable[[Asked, Chunk], Made]]] = {
    ATTRIBUTES: _attributes,
    "sets": _sets,
    "boxes": _boxes,
    "patterns": _patterns,
    REGEXES: _regexes,
    "terms": _terms,
    "truths": _truths,
}
"""By the name of the table, as `LeafKind` names it."""
