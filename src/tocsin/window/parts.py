"""A window split into parts: each part has some of the subscriptions, and the messages that these may need.

Other messages reach the part as blanks, which have no words. A blank takes a number and lets older messages expire, as
in the whole window. So a part reports the same changes, with the same numbers, as the whole window would for its
subscriptions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.model.subscription import Reject
from tocsin.model.window import ENTER, EXIT, Bounds
from tocsin.window.reading import late, stop_at_first
from tocsin.window.window import Window

NUMBER: Final = "number"
COPIES: Final = "copies"
"""The column of the parts that have a copy of a subscription, one bit each. Without it there is one copy of each."""
_BLANK_KEYS: Final[Mapping[bool, Any]] = {True: 0, False: ""}


class Sent(NamedTuple):
    """The next messages of a window, as sent to a part: M of N messages."""

    total: int
    positions: NDArray[np.int64]  # (M,) ascending, below N
    messages: pa.Table  # (M,) `words`, `location`, and `key` if messages have one
    times: NDArray[np.float64] | None = None  # (N,) ascending, if the window is one of time

    def since(self, latest: float) -> Sent:
        """The same without late messages, which come first."""
        if self.times is None or (late := int(np.searchsorted(self.times, latest))) == 0:
            return self
        return self.between(late, self.total)

    def between(self, first: int, stop: int) -> Sent:
        """Some of the N messages."""
        begin, end = np.searchsorted(self.positions, [first, stop]).tolist()
        times = None if self.times is None else self.times[first:stop]
        return Sent(stop - first, self.positions[begin:end] - first, self.messages.slice(begin, end - begin), times)

    def table(self, bounds: Bounds) -> pa.Table:
        """All N messages in the form that a window reads; those not sent are blanks."""
        count, at = self.total, self.positions
        lengths, places = np.zeros(count, np.int64), np.tile([bounds.left, bounds.lower], (count, 1))
        columns = {name: self.messages[name].combine_chunks() for name in self.messages.column_names}
        lengths[at] = pc.list_value_length(columns["words"]).to_numpy(zero_copy_only=False)
        places[at] = columns["location"].flatten().to_numpy(zero_copy_only=False).reshape(-1, 2)
        starts = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int64())
        table = {
            "words": pa.LargeListArray.from_arrays(starts, columns["words"].flatten()),
            "location": pa.FixedSizeListArray.from_arrays(pa.array(places.reshape(-1)), 2),
        }
        if self.times is not None:
            table["time"] = pa.array(self.times)
        if "key" in columns:
            blank = pa.array([_BLANK_KEYS[pa.types.is_integer(columns["key"].type)]], columns["key"].type)
            chosen = np.zeros(count, np.int64)
            chosen[at] = np.arange(1, len(at) + 1)
            table["key"] = pa.concat_arrays([blank, columns["key"]]).take(pa.array(chosen))
        return pa.table(table)

    def numbered(self, taken: int) -> pa.Table:
        """The sent messages with their numbers and times, for a part to keep."""
        kept = self.messages.append_column(NUMBER, pa.array(self.positions + taken))
        if self.times is None:
            return kept
        return kept.append_column("time", pa.array(self.times[self.positions]))

    @classmethod
    def of(cls, kept: pa.Table, taken: int, stop: int) -> Sent:
        """Kept messages from number `taken` to before `stop`, to be sent again.

        The times of blanks are not kept. A blank gets the time of the message before it, and leading blanks that of the
        first message. This expires nothing that the message itself would not.
        """
        kept = kept.filter(pc.greater_equal(kept[NUMBER], taken))
        positions = kept[NUMBER].to_numpy() - taken
        times = None
        if "time" in kept.column_names:
            own = kept["time"].to_numpy()
            before = np.searchsorted(positions, np.arange(stop - taken), "right") - 1
            times = own[np.maximum(before, 0)] if len(own) else None
        drop = [name for name in (NUMBER, "time") if name in kept.column_names]
        return cls(stop - taken, positions, kept.drop_columns(drop), times)


class WindowPart:
    """A part of a window. `window` has its subscriptions, and has received all messages so far, sent or blank.

    Cost: a blank takes 48 bytes while it is in the window, and some hundred nanoseconds.
    """

    def __init__(self, window: Window) -> None:
        self.window = window
        self.edited = 0  # edits of subscriptions so far, which the caller counts
        self.shared = set[Any]()  # the subscriptions with copies in other parts

    @classmethod
    def restored(
        cls, window: Window, kept: pa.Table, subscriptions: Iterable[pa.Table], first: int, taken: int, latest: float
    ) -> WindowPart:
        """Restore a part: an empty window, messages from number `first` to before `taken`, and subscriptions.

        Cost: ten to fifty microseconds per subscription, to search for its best messages.
        """
        part = cls(window)
        window._sliding.start_at(first)
        part.again(kept, taken, latest)
        for table in subscriptions:
            part.subscribe(table)
        return part

    @property
    def taken(self) -> int:
        """The number of messages so far."""
        return self.window._sliding.taken

    @property
    def first(self) -> int:
        """The number of the oldest message in the window, or of the next one."""
        return self.taken - self.window.held

    @property
    def latest(self) -> float:
        """The time before which messages are late."""
        return self.window._reader.latest

    def why_late(self, time: float) -> str:
        """The reason for rejecting a message with a time before the latest."""
        return late(time, self.latest)

    def subscribe(self, table: pa.Table) -> list[Reject]:
        """Add subscriptions; of several with one id the first is kept."""
        return self.window.subscribe_many(self._whole(table)).errors

    def _whole(self, table: pa.Table) -> pa.Table:
        """Subscriptions without the column of their copies, after noting those with several."""
        if COPIES not in table.column_names:
            return table
        is_shared = np.bitwise_count(table[COPIES].to_numpy().astype(np.uint64)) > 1
        for name, shared in zip(table["id"].to_pylist(), is_shared.tolist(), strict=True):
            (self.shared.add if shared else self.shared.discard)(name)
        return table.drop_columns([COPIES])

    def push(self, sent: Sent) -> pa.Table:
        """Push messages, none of them late. Returns the changes with numbers for `event` and of the messages."""
        window, taken = self.window, self.taken
        tables = []
        with window._changing():
            for chunk in window._reader.message_chunks(sent.table(window.bounds)):
                read = window._read(chunk)
                stop_at_first(read.rejects, strict=True)
                changes = window._push(read)
                tables.append(window._table(changes, read.rows + taken).append_column(NUMBER, [changes.numbers]))
        return pa.concat_tables(tables).unify_dictionaries()

    def ks(self, names: Sequence[Any]) -> NDArray[np.int64]:
        """The k of each subscription; 0 of one that is not here."""
        window = self.window
        is_here = np.array([name in window for name in names], bool)
        slots = np.array([window._names.slot(name) for name in names if name in window], np.int32)
        ks = np.zeros(len(names), np.int64)
        ks[is_here] = window._sliding.held_at(slots).ks
        return ks

    def again(self, kept: pa.Table, stop: int, latest: float) -> None:
        """Push kept messages that have not been pushed yet, up to before number `stop`."""
        sent = Sent.of(kept, self.taken, stop)
        if sent.times is None and self.window.span is not None:
            times = np.full(sent.total, self.latest if math.isfinite(self.latest) else latest)
            sent = sent._replace(times=times)
        if sent.total:
            self.window.push_batch(sent.table(self.window.bounds), strict=True, changes=False)
        if self.window.span is not None and latest > self.latest:
            self.window.advance(latest)

    def edit(self, puts: pa.Table, dropped: Iterable[Any]) -> pa.Table:
        """Put some subscriptions, which replace those with their ids, and drop others that are here.

        Returns how lists of best messages differ afterwards, as changes by the next message: exits, then enters.
        """
        names = {*dropped, *puts["id"].to_pylist()}
        before = self._lists(names)
        for name in dropped:
            self.shared.discard(name)
            if name in self.window:
                self.window.unsubscribe(name)
        if puts.num_rows:
            self.window.subscribe_many(self._whole(puts), replace=True, strict=True)
        after = self._lists(names)
        rows = [
            (name, *entry, kind)
            for kind, there, others in ((EXIT, before, after), (ENTER, after, before))
            for name in sorted(there)
            for entry in there[name]
            if entry not in set(others.get(name, ()))
        ]
        subscriptions, numbers, scores, kinds = zip(*rows, strict=True) if rows else ((), (), (), ())
        messages = self.window._keys.of(np.array(numbers, np.int64))
        events = np.full(len(rows), self.taken)
        kind = puts["id"].type
        return pa.table(
            {
                "event": events,
                "subscription": pa.array(subscriptions, kind),
                "message": pa.array(messages, None if messages else pa.int64()),
                "kind": pa.array(kinds, pa.string()),
                "score": pa.array(scores, pa.float64()),
                NUMBER: pa.array(numbers, pa.int64()),
            }
        )

    def _lists(self, names: Iterable[Any]) -> dict[Any, list[tuple[int, float]]]:
        """The numbers and scores of the best messages of those subscriptions that are here."""
        window = self.window
        here = [name for name in names if name in window]
        slots = np.array([window._names.slot(name) for name in here], np.int32)
        counts, numbers, scores = window._sliding.best_of_each(slots)
        entries = list(zip(numbers.tolist(), scores.tolist(), strict=True))
        ends = np.cumsum(counts).tolist()
        return {name: entries[end - count : end] for name, end, count in zip(here, ends, counts.tolist(), strict=True)}

    def best(self, names: Iterable[Any]) -> list[list[tuple[Any, float]]]:
        """The best messages of some subscriptions, each best first; none of one that is not here."""
        return [self.window.results(name) if name in self.window else [] for name in names]
