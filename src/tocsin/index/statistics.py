"""Statistics of the events to come: how often they have each attribute, with which values, and at which places.

The rarest attributes make the best access keys. Values are known only if events were sampled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.arrays import gathered
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.meeting import box_numbers
from tocsin.errors import InvalidInput
from tocsin.index.fields.histogram import Histogram, added
from tocsin.index.fields.kernels.layouts import ELEMENT
from tocsin.kernels import codes
from tocsin.language.segmenting import words_of_all
from tocsin.model.instants import read_instants
from tocsin.model.readings import attribute_of
from tocsin.model.texts import Text

_MOST_VALUES: Final = 100_000
"""The most values of an attribute that are kept when several samples are merged."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of an attribute in sampled events, by kind: a type, or ELEMENT + a type for elements of lists.

    `places` tells where its points and boxes lie, if there were any.
    """

    events: int  # number of events with the attribute
    payloads: Mapping[int, NDArray[np.int64]]
    texts: Mapping[int, Sequence[str]]
    places: Histogram | None = None  # where its points and boxes lie; None if there were none


_ALL: Final = 1 + 1e-9
"""The largest share accepted; sums of shares are rounded."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """How often events have each attribute, for the choice of the index; they change the speed and never the answer.

    `tocsin.sample` counts them.

    Attributes
    ----------
    shares : mapping of str to float
        The share of events that have each attribute, from 0 to 1. Other attributes are taken to be as rare as one event
        in `events`.
    source : str
        Where the numbers come from, in words: "given", "sampled from 1,000 events".
    events : int
        The number of events that were counted.
    values : mapping
        The values of each attribute in a sample; only `tocsin.sample` and `tocsin.spark.statistics` fill it.

    Raises
    ------
    InvalidInput
        If `shares` is not a mapping, or a share is not from 0 to 1.

    Examples
    --------
    >>> Statistics({"model": 0.9, "price": 1.0}, source="given").share("price")
    1.0
    """

    shares: Mapping[str, float]
    source: str
    events: int = 1_000
    values: Mapping[str, Values] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        given: Any = self.shares
        if not isinstance(given, Mapping):
            raise InvalidInput(f"shares is {given!r:.60}; it maps attributes to shares of events: {{'price': 0.5}}")
        for name, share in given.items():
            if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 <= share <= _ALL:
                what = "it must be the share of events with the attribute, from 0 to 1"
                raise InvalidInput(f"the share of {name!r:.40} is {share!r:.40}; {what}")

    def share(self, attribute: str) -> float:
        """The share of events that have an attribute.

        Parameters
        ----------
        attribute : str
            The name.

        Returns
        -------
        float
            A share above 0.
        """
        return self.shares.get(attribute, 1.0 / (self.events + 1))


def sampled(batches: Sequence[EventBatch]) -> Statistics:
    """Statistics of some events, encoded with every attribute wanted."""
    counts: Counter[str] = Counter()
    payloads: dict[str, dict[int, list[NDArray[np.int64]]]] = {}
    texts: dict[str, dict[int, list[str]]] = {}
    for batch in batches:
        counts.update(dict(zip(batch.attributes, _present(batch), strict=True)))
        for attribute, kind, part in _groups(batch):
            name = batch.attributes[attribute]
            if kind & ~ELEMENT == codes.STRING:
                own = [batch.strings[number] for number in part.tolist()]
                texts.setdefault(name, {}).setdefault(kind, []).extend(own)
                moments = read_instants(pa.array(own, pa.string())).drop_null()
                if kind == codes.STRING and len(moments):
                    payloads.setdefault(name, {}).setdefault(codes.INSTANT, []).append(moments.to_numpy())
            else:
                payloads.setdefault(name, {}).setdefault(kind, []).append(part)
    places = _histograms(batches)
    events = sum(len(batch) for batch in batches)
    shares = {name: count / events for name, count in counts.items() if count}
    values = {
        name: Values(
            counts[name],
            {kind: np.concatenate(parts) for kind, parts in payloads.get(name, {}).items()},
            texts.get(name, {}),
            places.get(name),
        )
        for name in shares
    }
    return Statistics(shares, f"sampled from {events:,} events", max(events, 1), values)


def shares_in(batches: Sequence[EventBatch]) -> dict[str, float]:
    """The share of events that have each attribute; values are not looked at."""
    counts: Counter[str] = Counter()
    for batch in batches:
        counts.update(dict(zip(batch.attributes, _present(batch), strict=True)))
    events = max(sum(len(batch) for batch in batches), 1)
    return {name: count / events for name, count in counts.items() if count}


def together(several: Sequence[Statistics]) -> Statistics:
    """The merged statistics of several samples."""
    events = sum(one.events for one in several)
    shares: dict[str, float] = {}
    for one in several:
        for name, share in one.shares.items():
            shares[name] = shares.get(name, 0.0) + share * one.events / events
    given: dict[str, list[Values]] = {}
    for one in several:
        for name, values in one.values.items():
            given.setdefault(name, []).append(values)
    whole = {name: _values_together(own) for name, own in given.items()}
    return Statistics(shares, f"counted on {events:,} events", max(events, 1), whole)


def _values_together(several: Sequence[Values]) -> Values:
    kinds = {kind for one in several for kind in one.payloads}
    payloads = {kind: np.concatenate([one.payloads[kind] for one in several if kind in one.payloads]) for kind in kinds}
    of_texts = {kind for one in several for kind in one.texts}
    texts = {kind: [text for one in several for text in one.texts.get(kind, ())] for kind in of_texts}
    places = [one.places for one in several if one.places is not None]
    whole = Values(sum(one.events for one in several), payloads, texts, added(places) if places else None)
    return thinned(whole, _MOST_VALUES)


def thinned(values: Values, most: int) -> Values:
    """At most `most` values of each kind: every second, third ... one, as if proportionally fewer events had been
    sampled.

    >>> few = thinned(Values(9, {1: np.arange(9)}, {}), 4)
    >>> few.events, few.payloads[1].tolist()
    (3, [0, 3, 6])
    """
    longest = max((len(own) for own in (*values.payloads.values(), *values.texts.values())), default=0)
    step = -(-longest // most)
    if step <= 1:
        return values
    payloads = {kind: own[::step] for kind, own in values.payloads.items()}
    texts = {kind: own[::step] for kind, own in values.texts.items()}
    return Values(max(values.events // step, 1), payloads, texts, values.places)


def with_words(values: Values, how: Text) -> Values:
    """The words in an attribute's sampled strings, as values."""
    words = words_of_all(values.texts.get(codes.STRING, ()), how)
    owners = np.repeat(np.arange(len(words.starts) - 1), np.diff(words.starts))
    once = np.unique(owners * max(len(words.distinct), 1) + words.numbers) % max(len(words.distinct), 1)
    in_lists = values.texts.get(ELEMENT + codes.STRING, ())
    texts = [*(words.distinct[number] for number in once.tolist()), *in_lists]
    return Values(values.events, {}, {ELEMENT + codes.STRING: texts})


def _present(batch: EventBatch) -> list[int]:
    return np.bincount(batch.arrays.attributes, minlength=len(batch.attributes)).tolist()  # type: ignore[no-any-return]


def _histograms(batches: Sequence[EventBatch]) -> dict[str, Histogram]:
    """Where the points and boxes of each attribute lie; other shapes are not counted."""
    found: dict[str, list[NDArray[np.float64]]] = {}
    for batch in batches:
        events = batch.arrays
        boxes = box_numbers(events.types, events.payloads, events.list_boxes)
        entries = np.flatnonzero(boxes >= 0)
        for attribute in np.unique(events.attributes[entries]).tolist():
            own = entries[events.attributes[entries] == attribute]
            found.setdefault(batch.attributes[attribute], []).append(events.boxes[boxes[own]])
    return {name: Histogram.of(np.concatenate(several)) for name, several in found.items()}


def _groups(batch: EventBatch) -> list[tuple[int, int, NDArray[np.int64]]]:
    """The payloads of a batch's scalars and of its lists' elements, by attribute and kind."""
    events = batch.arrays
    scalars = events.types <= codes.INSTANT
    in_lists = np.flatnonzero(events.types == codes.LIST)
    members, owners = gathered(events.list_starts, events.payloads[in_lists])
    attributes = np.concatenate([events.attributes[scalars], events.attributes[in_lists][owners]])
    kinds = np.concatenate([events.types[scalars].astype(np.int64), ELEMENT + events.list_types[members]])
    payloads = np.concatenate([events.payloads[scalars], events.list_payloads[members]])
    keys = attributes.astype(np.int64) << 8 | kinds
    if not len(keys):
        return []
    order = np.argsort(keys, kind="stable")
    distinct, firsts = np.unique(keys[order], return_index=True)
    parts = np.split(payloads[order], firsts[1:])
    return [(int(key >> 8), int(key & 255), part) for key, part in zip(distinct, parts, strict=True) if key & 7 <= 3]


def attribute_shares(
    attributes: Sequence[str], named: NDArray[np.int64], statistics: Statistics | None
) -> NDArray[np.float64]:
    """The share of events with each attribute. Without statistics: in proportion to how often subscriptions name it."""
    if statistics is not None:
        return np.array([max(statistics.share(attribute_of(name)), 1e-9) for name in attributes], np.float64)
    shares: NDArray[np.float64] = (named + 1.0) / (named.max(initial=0) + 1.0)
    return shares
