"""Weights of words for `tocsin.Similar`: the fewer records have a word, the more it weighs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import numpy as np

from tocsin.columns.arrays import gathered
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.encoding import encode_chunk
from tocsin.errors import InvalidInput
from tocsin.kernels import codes
from tocsin.records import read_events
from tocsin.records.csv_files import ColumnType
from tocsin.records.events import Events


def idf(
    records: Events,
    attribute: str | None = None,
    *,
    schema: Mapping[str, ColumnType] | None = None,
    delimiter: str | None = None,
) -> dict[str, float]:
    """Weigh words by how rare they are, for `Similar` and `Window`.

    Parameters
    ----------
    records : source of events
        Any that `tocsin.match` accepts.
    attribute : str, optional
        The attribute whose lists count. Default: the lists of every attribute.
    schema
        As in `tocsin.match`.
    delimiter
        As in `tocsin.match`.

    Returns
    -------
    dict of str to float
        The weight of each word, `ln(1 + N / df)`: `df` of the `N` records have it in a list.

    Raises
    ------
    InvalidInput
        If no record has a list of words, or the source cannot be read.

    Examples
    --------
    >>> weights = idf([{"words": ["fresh", "seafood"]}, {"words": ["seafood"]}])
    >>> round(weights["fresh"], 3), round(weights["seafood"], 3)
    (1.099, 0.693)
    """
    counts: Counter[str] = Counter()
    total = 0
    for chunk in read_events(records, schema=schema, delimiter=delimiter):
        for batch in encode_chunk(chunk, Wanted(None if attribute is None else [attribute]), schema)[0]:
            total += len(batch)
            counts.update(_words(batch))
    if not counts:
        where = "" if attribute is None else f" under {attribute!r}"
        raise InvalidInput(f"no record has a list of words{where}; without weights every word weighs 1")
    return {word: math.log(1.0 + total / count) for word, count in counts.items()}


def _words(batch: EventBatch) -> Mapping[str, int]:
    """The number of events in a batch that have each word."""
    arrays = batch.arrays
    entries = np.flatnonzero(arrays.types == codes.LIST)
    events = np.repeat(np.arange(len(batch)), np.diff(arrays.starts))[entries]
    members, owners = gathered(arrays.list_starts, arrays.payloads[entries])
    is_word = arrays.list_types[members] == codes.STRING
    pairs = np.unique(np.stack([events[owners][is_word], arrays.list_payloads[members][is_word]]), axis=1)
    numbers, counts = np.unique(pairs[1], return_counts=True)
    return {batch.strings[number]: count for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)}
