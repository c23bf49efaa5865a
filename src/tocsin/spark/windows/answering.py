"""The answer of a partition to a micro-batch: it processes packets, updates its state, and reports changes.

Workers keep parts in memory between micro-batches. Each step of a part has a name, and Spark's state has the names of
the latest steps. A part at the latest step goes on. A part some steps behind catches up, because another worker ran
those steps. In all other cases, such as after a failure, the part is restored from the state.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tocsin.errors import InvalidInput, in_field
from tocsin.model.subscription import Reject
from tocsin.model.texts import Text
from tocsin.spark.windows.edits import apart, here
from tocsin.spark.windows.keeping import Kept
from tocsin.spark.windows.numbering import TELLER
from tocsin.spark.windows.packets import Packet
from tocsin.spark.windows.placing import lists_of
from tocsin.spark.windows.routing import Routes
from tocsin.spark.windows.settings import Settings
from tocsin.window.fields import WordLists
from tocsin.window.parts import Sent, WindowPart

REFUSED: Final = "refused"
_MOST: Final = 64
_parts: OrderedDict[str, tuple[str, WindowPart]] = OrderedDict()
"""Parts by name, with the step of each; the most recently used last."""


def answer(partition: int, packets: Sequence[Packet], kept: Kept, settings: Settings, routes: Routes) -> list[pa.Table]:
    """The changes of a partition's subscriptions, or their lists, as tables; and the rejects."""
    refused, told = list[Reject](), list[pa.Table]()
    if kept.about is None:
        kept.begin(settings)
        part = WindowPart(settings.window())
        for table in kept.subscriptions():
            _check_routes(table, partition, settings, routes)
            refused += part.subscribe(table)
    else:
        settings.check(kept.about.settings)
        part = _current(kept, settings)
    if refused:
        told.append(_refused_subscriptions(refused, settings))
    changed, numbered, edits = list[pa.Table](), list[pa.Table](), list[pa.Table]()
    for packet in packets:
        if partition == TELLER:
            told += _refused(packet, part, settings)
        sent = packet.sent.since(part.latest)
        numbered.append(sent.numbered(part.taken))
        changed += _pushed(packet, sent, part, partition, edits)
    if edits:
        kept.edit(pa.concat_tables(edits), part)
    _remember(kept.known.name, kept.add(numbered, part), part)
    if changed:
        told += [_lists(changed, part, settings)] if settings.lists else _changes(changed, settings)
    return told


def _pushed(packet: Packet, sent: Sent, part: WindowPart, partition: int, kept: list[pa.Table]) -> Iterator[pa.Table]:
    """The changes by the messages of a packet, and by the edits between them; adds the edits that the part keeps."""
    done = 0
    for position, group in () if packet.edits is None else packet.edits.since(packet.sent.total - sent.total).groups():
        if position > done:
            yield part.push(sent.between(done, position))
        done = position
        own = here(group, partition)
        own = own.filter(
            pa.array([put or id in part.window for put, id in zip(*_columns(own), strict=True)], pa.bool_())
        )
        if own.num_rows:
            kept.append(own)
            yield part.edit(*apart(own))
    if sent.total > done:
        yield part.push(sent.between(done, sent.total))


def _columns(edits: pa.Table) -> tuple[list[bool], list[Any]]:
    return edits["is_put"].to_pylist(), edits["id"].to_pylist()


def _check_routes(table: pa.Table, partition: int, settings: Settings, routes: Routes) -> None:
    """Raise `InvalidInput` if a word of a subscription routes elsewhere: they changed after being placed."""
    if routes.words is not None:
        lists = lists_of(table.combine_chunks().to_batches()[0], Text.of(settings.text))
        visited = routes.visited(
            WordLists(np.arange(len(lists.distinct) + 1), np.arange(len(lists.distinct)), lists.distinct)
        )
        if not ((visited >> np.uint64(partition)) & np.uint64(1)).all():
            raise InvalidInput("the subscriptions changed between the call and the first micro-batch; start it again")


def _current(kept: Kept, settings: Settings) -> WindowPart:
    """The part after the latest valid step. It is removed from the cache while in use."""
    steps = kept.known.steps
    step, part = _parts.pop(kept.known.name, ("", None))
    if part is None or step not in steps:
        return kept.part(settings)
    if step != steps[-1]:
        if not kept.can_catch_up(part):
            return kept.part(settings)
        kept.catch_up(part)
    return part


def _remember(name: str, step: str, part: WindowPart) -> None:
    _parts[name] = step, part
    while len(_parts) > _MOST:
        _parts.popitem(last=False)


def _changes(changed: list[pa.Table], settings: Settings) -> list[pa.Table]:
    return [_answer(settings, len(one), **{name: one[name] for name in one.column_names}) for one in changed]


def _lists(changed: list[pa.Table], part: WindowPart, settings: Settings) -> pa.Table:
    """The lists that changed, as they are after the last message."""
    names = sorted({name for table in changed for name in table["subscription"].unique().to_pylist()})
    lists = [[{"message": key, "score": score} for key, score in own] for own in part.best(names)]
    best = pa.array(lists, answer_schema(settings).field("best").type)
    return _answer(settings, len(names), event=np.full(len(names), part.taken - 1), subscription=names, best=best)


def _refused(packet: Packet, part: WindowPart, settings: Settings) -> list[pa.Table]:
    """Rejected messages and changes, and messages that come too late."""
    sent, tables = packet.sent, []
    if (refused := packet.refused) is not None:
        reasons = list(map(in_field, refused["field"].to_pylist(), refused["reason"].to_pylist()))
        tables.append((refused["message"], refused["subscription"], reasons))
    if late := sent.total - sent.since(part.latest).total:
        assert sent.times is not None
        nothing = pa.nulls(late, settings.message_type)
        keys = sent.messages["key"].slice(0, late) if "key" in sent.messages.column_names else nothing
        reasons = [in_field("time", part.why_late(time)) for time in sent.times[:late].tolist()]
        tables.append((keys, pa.nulls(late, settings.id_type), reasons))
    return [
        _answer(settings, len(reasons), message=keys, subscription=ids, kind=[REFUSED] * len(reasons), error=reasons)
        for keys, ids, reasons in tables
    ]


def _refused_subscriptions(rejects: list[Reject], settings: Settings) -> pa.Table:
    names = [reject.id for reject in rejects]
    reasons = [in_field(reject.field, reject.reason) for reject in rejects]
    return _answer(settings, len(rejects), subscription=names, kind=[REFUSED] * len(rejects), error=reasons)


def answer_schema(settings: Settings) -> pa.Schema:
    """The columns of the answer, in Arrow's types."""
    kind, message = pa.type_for_alias(settings.id_type), pa.type_for_alias(settings.message_type)
    first = [("event", pa.int64()), ("subscription", kind)]
    if settings.lists:
        best = pa.list_(pa.struct([("message", message), ("score", pa.float64())]))
        return pa.schema([*first, ("best", best), ("error", pa.string())])
    rest = [("message", message), ("kind", pa.string()), ("score", pa.float64()), ("error", pa.string())]
    return pa.schema([*first, *rest])


def _answer(settings: Settings, rows: int, **columns: Any) -> pa.Table:
    """A table with the answer's columns; those not given are null."""
    schema = answer_schema(settings)
    given = {name: pa.array(one) if isinstance(one, list | np.ndarray) else one for name, one in columns.items()}
    arrays = [given[f.name].cast(f.type) if f.name in given else pa.nulls(rows, f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
