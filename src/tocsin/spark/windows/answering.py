"""The answer of a partition to a micro-batch: it processes packets, updates its state, and reports changes.

Workers keep parts in memory between micro-batches. Each step of a part has a name, and Spark's state has the names of
the latest steps. A part at the latest step goes on. A part some steps behind catches up, because another worker ran
those steps. In all other cases, such as after a failure, the part is restored from the state.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tocsin.errors import in_field
from tocsin.model.subscription import Reject
from tocsin.spark.windows.answers import REFUSED, answer_of, lists_of
from tocsin.spark.windows.edits import apart, here
from tocsin.spark.windows.keeping import Kept
from tocsin.spark.windows.merging import BEFORE, BY, marks_of, rows_of
from tocsin.spark.windows.numbering import TELLER
from tocsin.spark.windows.packets import Packet
from tocsin.spark.windows.settings import Settings
from tocsin.window.parts import Sent, WindowPart

_MOST: Final = 64
_CHANGE: Final = ("event", "subscription", "message", "kind", "score")
_parts: OrderedDict[str, tuple[str, WindowPart]] = OrderedDict()
"""Parts by name, with the step of each; the most recently used last."""


class Answer(NamedTuple):
    """What a partition answers to a micro-batch."""

    tables: list[pa.Table]  # with the columns of the answer
    reported: list[pa.Table]  # rows for the homes of subscriptions with several copies
    taken: int  # the number of messages so far


def answer(partition: int, packets: Sequence[Packet], kept: Kept, settings: Settings) -> Answer:
    """The changes of a partition's subscriptions, or their lists, as tables; and the rejects."""
    refused, told = list[Reject](), list[pa.Table]()
    if kept.about is None:
        kept.begin(settings)
        part = WindowPart(settings.window())
        for table in kept.subscriptions():
            refused += part.subscribe(table)
    else:
        settings.check(kept.about.settings)
        part = _current(kept, settings)
    if refused:
        told.append(_refused_subscriptions(refused, settings))
    pushing = _Pushing(partition, part, settings)
    for packet in packets:
        if partition == TELLER:
            told += _refused(packet, part, settings)
        pushing.push(packet)
    if pushing.edits:
        kept.edit(pa.concat_tables(pushing.edits), part)
    _remember(kept.known.name, kept.add(pushing.numbered, part), part)
    return Answer(told + pushing.told(), pushing.reported, part.taken)


class _Pushing:
    """Pushes packets to a part, and collects what changes and what its state must keep."""

    def __init__(self, partition: int, part: WindowPart, settings: Settings) -> None:
        self._partition, self._part, self._settings = partition, part, settings
        self._changed = list[pa.Table]()
        self._edited = set[Any]()
        self.reported = list[pa.Table]()
        self.numbered = list[pa.Table]()
        self.edits = list[pa.Table]()

    def push(self, packet: Packet) -> None:
        """Push the messages of a packet, with the edits between them."""
        part, done = self._part, 0
        sent = packet.sent.since(part.latest)
        self.numbered.append(sent.numbered(part.taken))
        if packet.edits is not None:
            for position, group in packet.edits.since(packet.sent.total - sent.total).groups():
                self._push(sent.between(done, position))
                self._edit(here(group, self._partition))
                done = position
        self._push(sent.between(done, sent.total))

    def told(self) -> list[pa.Table]:
        """The changes, or the lists that changed."""
        settings, part = self._settings, self._part
        if not settings.lists:
            return [answer_of(settings, len(one), **{name: one[name] for name in _CHANGE}) for one in self._changed]
        names = {name for table in self._changed for name in table["subscription"].unique().to_pylist()}
        if settings.has_homes:  # the homes tell the lists of all others
            names = {name for name in names | self._edited if name in part.window and name not in part.shared}
        return [lists_of(settings, sorted(names), part.best(sorted(names)), part.taken)] if names else []

    def _push(self, sent: Sent) -> None:
        if not sent.total:
            return
        changes, shared = self._part.push(sent), self._part.shared
        if shared and changes.num_rows:
            column = changes["subscription"]
            kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
            is_shared = pc.is_in(column.cast(kind), value_set=pa.array(list(shared), kind))
            self.reported.append(self._rows(changes.filter(is_shared), BY))
            changes = changes.filter(pc.invert(is_shared))
        self._changed.append(changes)

    def _edit(self, edits: pa.Table) -> None:
        window = self._part.window
        columns = edits["is_put"].to_pylist(), edits["id"].to_pylist()
        edits = edits.filter(pa.array([put or id in window for put, id in zip(*columns, strict=True)], pa.bool_()))
        if not edits.num_rows:
            return
        self.edits.append(edits)
        changes = self._part.edit(*apart(edits))
        if not self._settings.has_homes:
            self._changed.append(changes)
            return
        marks = marks_of(edits, self._part.taken, self._settings.message_type)
        self.reported += [self._rows(changes, BEFORE), marks]
        self._edited |= {*changes["subscription"].to_pylist()}

    def _rows(self, changes: pa.Table, phase: int) -> pa.Table:
        return rows_of(changes, phase, self._partition, self._part, self._settings.message_type)


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
        answer_of(settings, len(reasons), message=keys, subscription=ids, kind=[REFUSED] * len(reasons), error=reasons)
        for keys, ids, reasons in tables
    ]


def _refused_subscriptions(rejects: list[Reject], settings: Settings) -> pa.Table:
    names = [reject.id for reject in rejects]
    reasons = [in_field(reject.field, reject.reason) for reject in rejects]
    return answer_of(settings, len(rejects), subscription=names, kind=[REFUSED] * len(rejects), error=reasons)
