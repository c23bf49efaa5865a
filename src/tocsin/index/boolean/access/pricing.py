"""Prices of keys: the share of events with the attribute times the share of values, sampled or guessed.

The values of a field fall on its rank codes. If events were sampled, their values give the distribution. Otherwise the
subscriptions' own operands do, each counted once more than it is asked for: what is often asked for is common. A cell
that boxes lie in costs the share of sampled places there, by a histogram.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.fields.histogram import Histogram
from tocsin.index.fields.kernels.cells import BIAS
from tocsin.index.fields.kernels.keys import Shares
from tocsin.index.fields.kernels.layouts import CELL, ELEMENT, NULL, Fields
from tocsin.index.statistics import Statistics, Values, with_words
from tocsin.kernels import codes
from tocsin.language.operators.operands import transformed
from tocsin.model.readings import reading_of
from tocsin.model.texts import Text

_LEAST_NULL: Final = 0.01
"""The least share of events assumed to lack an attribute: the given share may be a guess."""


def price(
    compiled: CompiledExpressions,
    fields: Fields,
    shares: NDArray[np.float64],
    below: NDArray[np.float64],
    statistics: Statistics | None,
) -> Shares:
    """Price the keys of each field. `shares` are the attributes'; `below` the values', as guessed from the operands.

    Sampled values overwrite the guesses.
    """
    owners = np.repeat(np.arange(len(compiled.attributes)), np.diff(fields.starts))
    least = np.zeros(len(fields.kinds))
    known = {} if statistics is None else statistics.values
    for field, attribute in enumerate(owners.tolist() if known else ()):
        reading = reading_of(compiled.attributes[attribute])
        values = known.get(reading.attribute)
        if values is None or reading.is_value or reading.is_null:
            continue
        values = with_words(values, Text.of(reading.rest)) if reading.is_words else values
        first, stop = fields.operand_starts[field], fields.operand_starts[field + 1]
        if fields.kinds[field] == CELL and values.places is not None:
            counts = np.zeros(2 * (stop - first) + 2)
            counts[2::2] = _cell_shares(values.places, int(fields.transforms[field]), fields.operands[first:stop])
            below[2 * (first + field) : 2 * (stop + field) + 2] = np.cumsum(counts)
            least[field] = 0.5 / (values.places.events + 1)
            continue
        payloads = _payloads(compiled, values, int(fields.kinds[field]), int(fields.transforms[field]))
        if payloads is None:
            continue
        operands = fields.operands[first:stop]
        places = np.searchsorted(operands, payloads, "left") + np.searchsorted(operands, payloads, "right")
        counts = np.bincount(places, minlength=2 * len(operands) + 1)
        at = 2 * (first + field)
        below[at : at + len(counts) + 1] = np.concatenate([[0], np.cumsum(counts)]) / values.events
        least[field] = 0.5 / (values.events + 1)
    shares = np.where(fields.kinds == NULL, np.maximum(1.0 - shares[owners], _LEAST_NULL), shares[owners])
    return Shares(shares, fields.operand_starts, below, least)


def _cell_shares(places: Histogram, grid: int, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """The share of places in each cell of a grid."""
    side = float(np.ldexp(1.0, grid - BIAS))
    corners = np.stack([cells >> 32, cells.astype(np.int32)], axis=1).astype(np.float64)
    return places.shares(np.concatenate([corners, corners + 1.0], axis=1) * side)


def _payloads(compiled: CompiledExpressions, values: Values, kind: int, transform: int) -> NDArray[np.int64] | None:
    """The sampled values of a field in the form of its operands; None if a field has none."""
    if kind & ~ELEMENT > codes.INSTANT:
        return None
    if kind & ~ELEMENT != codes.STRING:
        return values.payloads.get(kind, np.empty(0, np.int64))
    name = compiled.transforms[transform]
    texts = Texts.of([transformed(text, name) if name else text for text in values.texts.get(kind, ())])
    return compiled.vocabulary.rank_codes(texts).astype(np.int64)
