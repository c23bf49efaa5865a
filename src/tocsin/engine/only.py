"""A part of the subscriptions for one call: those with some ids, or those whose payload satisfies a condition.

The others are treated like removed ones, so that every index and every ranking answers about the part alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.encoding.chunks import encode_chunk
from tocsin.engine.loading import read_part
from tocsin.errors import InvalidInput
from tocsin.index import choose
from tocsin.index.alive import bitmap, living
from tocsin.language import parse_any
from tocsin.model.subscription import SubscriptionId, shown
from tocsin.records.events import read_events
from tocsin.segment import Snapshots, assemble
from tocsin.segment.segment import Snapshot

Only: TypeAlias = str | Iterable[SubscriptionId]
"""A condition on the payloads as CQL2 text, or ids."""

_MOST_KEPT: Final = 8


def restricted(snapshots: Snapshots, only: Only | None) -> Snapshots:
    """The same subscriptions, of which only a part is live; all of them if `only` is None.

    Raises
    ------
    ExpressionError
        If `only` is a text that is not a condition.
    InvalidInput
        If it is neither a text nor ids.

    Notes
    -----
    Cost: linear in the subscriptions, once for each part and state of the engine.
    """
    if only is None:
        return snapshots
    key, keep = _chosen(only, snapshots.id_type)
    kept = snapshots.kept.setdefault(Snapshots, {})
    if key not in kept:
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        kept[key] = Snapshots([_only(one, key, keep) for one in snapshots], snapshots.id_type, snapshots.wanted)
    part: Snapshots = kept[key]
    return part


class Choice(NamedTuple):
    """Subscriptions that are to be removed: their ids, sorted, and their payloads if these were the reason.

    One whose payload has changed since then is not removed: it was subscribed anew.
    """

    ids: list[SubscriptionId]
    payloads: list[str | None] | None = None  # None: whatever the payload is

    def parts(self, size: int) -> Iterator[Choice]:
        """The choice in parts of so many subscriptions."""
        for first in range(0, len(self.ids), size):
            payloads = None if self.payloads is None else self.payloads[first : first + size]
            yield Choice(self.ids[first : first + size], payloads)

    def has(self, place: int, payload: str | None) -> bool:
        """Whether the subscription at a place of the choice is still the one that was chosen."""
        return self.payloads is None or (self.payloads[place] or None) == (payload or None)


def choice_of(snapshots: Snapshots, condition: str) -> Choice:
    """The subscriptions whose payload satisfies a condition; raises as `restricted` does. Cost: linear in all."""
    pairs: list[tuple[SubscriptionId, str | None]] = []
    for one in restricted(snapshots, condition):
        payloads = one.payloads()
        if len(one) and payloads is not None:
            numbers = pa.array(living(one.alive, len(one)))
            pairs += zip(one.all_ids().take(numbers).to_pylist(), payloads.take(numbers).to_pylist(), strict=True)
    pairs.sort(key=itemgetter(0))
    return Choice([id for id, _ in pairs], [payload for _, payload in pairs])


def ids_after(snapshots: Snapshots, condition: str, after: SubscriptionId | None, most: int) -> list[SubscriptionId]:
    """The first ids, behind one of them, of the subscriptions whose payload satisfies a condition, sorted."""
    parts = [
        one.all_ids().take(pa.array(living(one.alive, len(one))))
        for one in restricted(snapshots, condition)
        if len(one)
    ]
    ids = pa.chunked_array(parts, snapshots.id_type)
    if after is not None:
        ids = ids.filter(pc.greater(ids, pa.scalar(after, snapshots.id_type)))
    first: list[SubscriptionId] = ids.take(pc.sort_indices(ids)[:most]).to_pylist()
    return first


_Keep: TypeAlias = Callable[[Snapshot], NDArray[np.bool_]]


def _chosen(only: Only, id_type: pa.DataType) -> tuple[Any, _Keep]:
    """A key of what is asked for, and whether each subscription of a source belongs to it."""
    if isinstance(only, str):
        parse_any(only)  # which says what is wrong
        return only, partial(_with_payload, only)
    try:
        ids = frozenset(only)
    except TypeError:
        raise InvalidInput(f"only is {shown(only)}; give ids, or a condition on payloads as text") from None
    kind = int if id_type == pa.int64() else str
    known = pa.array([one for one in ids if type(one) is kind], id_type)
    return ids, lambda one: pc.is_in(one.all_ids(), known).to_numpy(zero_copy_only=False)


def _only(snapshot: Snapshot, key: Any, keep: _Keep) -> Snapshot:
    if not len(snapshot):
        return snapshot
    mask = keep(snapshot)
    alive = np.zeros(len(snapshot), bool)
    alive[living(snapshot.alive, len(snapshot))] = True
    mask = mask & alive
    return replace(snapshot, alive=bitmap(mask), count=int(mask.sum()))


def _with_payload(condition: str, snapshot: Snapshot) -> NDArray[np.bool_]:
    """Whether the payload of each subscription is an object that satisfies a condition."""
    mask = np.zeros(len(snapshot), bool)
    payloads = snapshot.payloads()
    if payloads is None:
        return mask
    rows = np.flatnonzero(pc.starts_with(payloads, "{").fill_null(False).to_numpy(zero_copy_only=False))
    if not len(rows):
        return mask
    part, _ = read_part([{"id": 0, "where": condition}])
    asked = Snapshots.of([assemble(part, choose())])
    lines = "\n".join(payloads.take(pa.array(rows)).to_pylist()).encode()
    for chunk in read_events(lines):
        for batch in encode_chunk(chunk, asked.wanted, None, {})[0]:
            mask[rows[_rows_with_match(asked, batch)]] = True
    return mask


def _rows_with_match(asked: Snapshots, batch: EventBatch) -> NDArray[np.int64]:
    return batch.rows[np.diff(asked.find(batch).starts) > 0]
