"""Cells as a file has them: checks of all that kernels rely on, and other numbers for their terms and codes."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import gathered, starts_of
from tocsin.columns.payloads import numbers_of
from tocsin.kernels import codes
from tocsin.monitor.terms.memory.layouts import ABSENT, DISTINCT, ENDLESS, PREVIOUS, SINCE, WIDTHS, Cells

FARTHEST: Final = 2**60
"""Instants are nearer, so that spans can be added to them."""
_WIDTHS: Final = np.array(WIDTHS, np.int64)


class Entries(NamedTuple):
    """Where the entries of cells are. E entries."""

    cells: NDArray[np.int64]  # (E,)
    starts: NDArray[np.int64]  # (E,) in the words

    @classmethod
    def of(cls, cells: Cells, widths: NDArray[np.int64]) -> Entries:
        """The entries of cells, each as many words wide as `widths` says. Raises `ValueError` for other words."""
        counts = cells.counts.astype(np.int64)
        if (counts < 1).any() or int((counts * widths).sum()) != len(cells.words):
            raise ValueError
        owners = np.repeat(np.arange(len(counts)), counts)
        return cls(owners, starts_of(widths[owners], len(owners))[:-1])


def code_places(cells: Cells, kinds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the words of cells are codes: of counted values, and of previous texts. `kinds` are those of terms."""
    entries = Entries.of(cells, _WIDTHS[kinds[cells.terms]])
    own = kinds[cells.terms][entries.cells]
    previous = entries.starts[own == PREVIOUS]
    tagged = np.concatenate([previous, previous + 2])
    texts = tagged[cells.words[tagged] == codes.STRING] + 1
    return np.concatenate([entries.starts[own == DISTINCT] + 1, texts])


def only_of(cells: Cells, terms: NDArray[np.int64], objects: NDArray[np.int64], widths: NDArray[np.int64]) -> Cells:
    """The cells of some terms and objects, by other numbers, -1 for none; `widths` are those of entries by old term.

    Raises `ValueError` if cells name terms or objects that there are not.
    """
    for numbers, of in ((cells.terms, terms), (cells.owners, objects)):
        if len(numbers) and not (int(numbers.min()) >= 0 and int(numbers.max()) < len(of)):
            raise ValueError
    lengths = cells.counts.astype(np.int64) * widths[cells.terms]
    Entries.of(cells, widths[cells.terms])
    own = np.flatnonzero((terms[cells.terms] >= 0) & (objects[cells.owners] >= 0))
    places, _ = gathered(starts_of(lengths, len(lengths)), own)
    return Cells(
        objects[cells.owners[own]].astype(np.int32),
        terms[cells.terms[own]].astype(np.int32),
        cells.counts[own],
        cells.words[places],
    )


def require_sound(cells: Cells, kinds: NDArray[np.int64], known: int) -> None:
    """Raise `ValueError` for cells that no memory has. `kinds` are those of terms; codes are below `known`."""
    own = kinds[cells.terms]
    entries = Entries.of(cells, _WIDTHS[own])
    single = (own == PREVIOUS) | (own == SINCE)
    places = code_places(cells, kinds)
    pairs = cells.owners.astype(np.int64) * max(len(kinds), 1) + cells.terms
    _require(
        bool((cells.counts[single] == 1).all()),
        len(np.unique(pairs)) == len(pairs),
        bool(((cells.words[places] >= 0) & (cells.words[places] < known)).all()),
    )
    of_entries = own[entries.cells]
    windows = of_entries != PREVIOUS
    instants, owners = cells.words[entries.starts[windows]], entries.cells[windows]
    _require(
        bool(((instants > -FARTHEST) & (instants < FARTHEST)).all()),
        bool((np.diff(instants)[np.diff(owners) == 0] >= 0).all()),  # the oldest first
    )
    seconds = entries.starts[(of_entries == SINCE)] + 1
    numbers = entries.starts[(of_entries < PREVIOUS) & (of_entries > DISTINCT)] + 1
    previous = entries.starts[~windows]
    _require_values(cells.words[np.concatenate([previous, previous + 2])], cells.words[_values(previous)])
    _require(
        bool(np.isfinite(numbers_of(cells.words[numbers])).all()),
        bool(((cells.words[seconds] > -FARTHEST) & (cells.words[seconds] <= ENDLESS)).all()),
    )


def _values(previous: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([previous + 1, previous + 3])


def _require_values(types: NDArray[np.int64], payloads: NDArray[np.int64]) -> None:
    """Check the values of PREVIOUS; the codes of texts are checked with all others."""
    is_bit = (payloads == 0) | (payloads == 1)
    sound = (types == ABSENT) | (types == codes.STRING) | (types == codes.UNTYPED)
    sound |= (types == codes.NUMBER) & np.isfinite(numbers_of(payloads))
    sound |= (types == codes.BOOLEAN) & is_bit
    sound |= (types == codes.INSTANT) & (payloads > -FARTHEST) & (payloads < FARTHEST)
    _require(bool(sound.all()))


def _require(*facts: bool) -> None:
    if not all(facts):
        raise ValueError
