"""The present, `NOW()`, as an instant of each event, and how far the events' own instants are from it.

Subscriptions that compare an attribute with the present are compiled against its distance from the present. That is an
instant, too, of as many microseconds after 1970: so it is exact, and has access keys as instants have.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.index.conditions import Entries, with_entries
from tocsin.kernels import codes
from tocsin.model.instants import present
from tocsin.model.readings import NOW, as_instant, attribute_of
from tocsin.model.values import Instant


def at_moment(batch: EventBatch, now: Instant | NDArray[np.int64]) -> EventBatch:
    """The batch with a present, or with (E,) that of each event, in microseconds since 1970."""
    return replace(batch, now=now.microseconds if isinstance(now, Instant) else now)


def with_clock(batch: EventBatch, wanted: Wanted) -> EventBatch:
    """The batch with the present, and with distances from it, as far as they are asked for. Cost: linear in them."""
    asked = wanted.clock[:]
    if not asked or not len(batch):
        return batch
    now = np.broadcast_to(np.int64(present().microseconds) if batch.now is None else batch.now, len(batch))
    numbers = batch.present()
    arrays = batch.arrays
    owners, payloads = [], []
    for name in asked:
        if name == NOW:
            owners.append(np.arange(len(batch)))
            payloads.append(now)
            continue
        attribute = numbers.get(as_instant(attribute_of(name)), -1)
        own = np.flatnonzero((arrays.attributes == attribute) & (arrays.types == codes.INSTANT))
        owners.append(np.searchsorted(arrays.starts, own, side="right") - 1)
        payloads.append(_after(arrays.payloads[own], now[owners[-1]]))
    of_asked = np.repeat(np.arange(len(asked)), [len(one) for one in owners])
    kinds = np.full(len(of_asked), codes.INSTANT, np.uint8)
    entries = Entries(np.concatenate(owners), of_asked, kinds, np.concatenate(payloads))
    return with_entries(batch, wanted, "clock", asked, entries)


def _after(moments: NDArray[np.int64], now: NDArray[np.int64]) -> NDArray[np.int64]:
    """How far instants are after the present; at most what 64 bits hold."""
    apart = moments.astype(np.float64) - now
    return np.where(np.abs(apart) <= codes.FARTHEST, moments - now, np.clip(apart, -codes.FARTHEST, codes.FARTHEST))
