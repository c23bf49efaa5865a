"""Arrays of attributes as lists: `('new', kind, 3)` becomes a list of each event's own values.

The list of an array is a value of the event under a name of its own (`model.readings`), which subscriptions are
compiled against. An event without a scalar under one of the attributes has no such list. Arrays of the same attributes
with equally many constants are computed together. Cost: a few ns an event for each array that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.texts import Additions
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.payloads import key_of
from tocsin.index.conditions import Entries, blocks_of, with_entries
from tocsin.kernels import codes
from tocsin.language.stored import stored_expression
from tocsin.model.expression import Array, Attribute, Call
from tocsin.model.readings import reading_of
from tocsin.model.values import Instant, Scalar

_AT_ONCE = 1 << 20
"""The number of elements that are sorted together."""


def with_arrays(batch: EventBatch, wanted: Wanted) -> EventBatch:
    """The batch with the lists of the arrays that are asked for. Cost: nothing if none are."""
    asked = wanted.arrays[:]
    if not asked or not len(batch):
        return batch
    added = Additions(batch)
    known = _Known(batch)
    parts = [
        part
        for block in blocks_of(wanted, "arrays of attributes", asked, _Block.of)
        for part in block.lists(known, added)
    ]
    if not parts:
        return batch
    entries = Entries(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return with_entries(added.batch(), wanted, "arrays", asked, entries)


_NO_NUMBERS = np.empty(0, np.int64)


@lru_cache(1 << 14)
def _items_of(name: str) -> tuple[Scalar | Attribute, ...]:
    """The attributes and constants of an array."""
    call = cast(Call, stored_expression(f"A_EQUALS(a, {reading_of(name).rest})"))
    items = cast(Array, call.arguments[1]).items
    return tuple(item if isinstance(item, Attribute) else cast(Scalar, item.value) for item in items)


class _Scalars(NamedTuple):
    """The scalars of events under one attribute. E events."""

    has: NDArray[np.bool_]  # (E,) whether the event has a scalar
    types: NDArray[np.uint8]  # (E,)
    payloads: NDArray[np.int64]  # (E,)


class _Known(dict[str, "_Scalars | None"]):
    """The scalars of a batch under the attributes that were asked for so far."""

    def __init__(self, batch: EventBatch) -> None:
        super().__init__()
        self._batch, self.numbers = batch, batch.present()

    def __missing__(self, name: str) -> _Scalars | None:
        number = self.numbers.get(name)
        scalars = self[name] = None if number is None else _scalars_of(self._batch, number)
        return scalars


def _scalars_of(batch: EventBatch, number: int) -> _Scalars | None:
    """The scalars under an attribute; None if no event has any."""
    arrays, count = batch.arrays, len(batch)
    own = np.flatnonzero((arrays.attributes == number) & (arrays.types <= codes.INSTANT))
    if not len(own):
        return None
    found = _Scalars(np.zeros(count, bool), np.zeros(count, np.uint8), np.zeros(count, np.int64))
    owners = np.searchsorted(arrays.starts, own, side="right") - 1
    found.has[owners], found.types[owners], found.payloads[owners] = True, arrays.types[own], arrays.payloads[own]
    return found


class _Form(NamedTuple):
    """Arrays of the same attributes with equally many constants. J arrays, C constants each."""

    attributes: tuple[str, ...]
    asked: NDArray[np.int64]  # (J,) number among all arrays asked for
    types: NDArray[np.uint8]  # (J, C)
    payloads: NDArray[np.int64]  # (J, C) for a string, its number in the block


@dataclass(frozen=True, slots=True)
class _Block:
    """Arrays `first` to `stop`."""

    first: int
    stop: int
    forms: Mapping[str, Sequence[_Form]]  # by the first of their attributes
    strings: tuple[str, ...]

    @classmethod
    def of(cls, names: Sequence[str], first: int) -> _Block:
        strings: dict[str, int] = {}
        forms: dict[tuple[tuple[str, ...], int], list[tuple[int, list[tuple[int, int]]]]] = {}
        for number, name in enumerate(names, first):
            items = _items_of(name)
            attributes = tuple(sorted({item.name for item in items if isinstance(item, Attribute)}))
            constants = [_constant(item, strings) for item in items if not isinstance(item, Attribute)]
            forms.setdefault((attributes, len(constants)), []).append((number, constants))
        by_first: dict[str, list[_Form]] = {}
        for (attributes, _), given in forms.items():
            by_first.setdefault(attributes[0], []).append(_form(attributes, given))
        return cls(first, first + len(names), by_first, tuple(strings))

    def lists(self, known: _Known, added: Additions) -> Iterator[Entries]:
        """The lists of all events that have them, in chunks."""
        forms = [form for name in known.numbers for form in self.forms.get(name, ())]
        numbers = added.strings(self.strings) if forms else _NO_NUMBERS
        for form in forms:
            yield from _lists_of(form, known, numbers, added)


def _form(attributes: tuple[str, ...], given: Sequence[tuple[int, list[tuple[int, int]]]]) -> _Form:
    constants = np.array([one for _, one in given], np.int64).reshape(len(given), -1, 2)
    asked = np.array([number for number, _ in given], np.int64)
    return _Form(attributes, asked, constants[:, :, 0].astype(np.uint8), constants[:, :, 1])


def _constant(value: Scalar, strings: dict[str, int]) -> tuple[int, int]:
    """The type and the payload of a constant."""
    if isinstance(value, str):
        return codes.STRING, strings.setdefault(value, len(strings))
    if isinstance(value, bool):
        return codes.BOOLEAN, int(value)
    return (codes.INSTANT, value.microseconds) if isinstance(value, Instant) else (codes.NUMBER, key_of(value))


def _lists_of(form: _Form, known: _Known, numbers: NDArray[np.int64], added: Additions) -> Iterator[Entries]:
    """The lists of each array of a form, for each event that has all its attributes."""
    own = [known[name] for name in form.attributes]
    scalars = [one for one in own if one is not None]
    owners = np.flatnonzero(np.all([one.has for one in scalars], axis=0))
    if len(scalars) < len(own) or not len(owners):
        return
    types = np.stack([one.types[owners] for one in scalars], axis=1)
    values = np.stack([one.payloads[owners] for one in scalars], axis=1)
    distinct, which = np.unique(np.concatenate([types, values], axis=1), axis=0, return_inverse=True)
    types, values = distinct[:, : len(own)].astype(np.uint8), distinct[:, len(own) :]
    payloads = form.payloads.copy()
    is_string = form.types == codes.STRING
    payloads[is_string] = numbers[payloads[is_string]]
    step = max(_AT_ONCE // (len(owners) * (payloads.shape[1] + len(own))), 1)
    for first in range(0, len(form.asked), step):
        chosen = slice(first, first + step)
        all_types, all_payloads = _beside(form.types[chosen], types), _beside(payloads[chosen], values)
        lists = _sets(all_types, all_payloads, added).reshape(-1, len(distinct))[:, which.ravel()].ravel()
        asked = np.repeat(form.asked[chosen], len(owners))
        kinds = np.full(len(lists), codes.LIST, np.uint8)
        yield Entries(np.tile(owners, len(lists) // len(owners)), asked, kinds, lists)


def _beside(constants: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """The constants of each array next to the values of each event. All events of the first array come first."""
    return np.concatenate([np.repeat(constants, len(values), axis=0), np.tile(values, (len(constants), 1))], axis=1)


def _sets(types: NDArray[np.uint8], payloads: NDArray[np.int64], added: Additions) -> NDArray[np.int64]:
    """Rows as lists without duplicates."""
    rows = np.repeat(np.arange(len(types)), types.shape[1])
    order = np.lexsort((payloads.ravel(), types.ravel(), rows))
    rows, kinds, members = rows[order], types.ravel()[order], payloads.ravel()[order]
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (np.diff(rows) != 0) | (np.diff(kinds) != 0) | (np.diff(members) != 0)
    return added.lists(np.bincount(rows[is_new], minlength=len(types)), kinds[is_new], members[is_new])
