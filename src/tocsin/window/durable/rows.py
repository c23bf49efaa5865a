"""The messages and subscriptions of a window as rows of a store: written there, and restored."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, repeat
from json.encoder import encode_basestring
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.errors import InvalidInput, StoreError
from tocsin.index.window.kernels.layouts import ALPHA, TIME, X, Y
from tocsin.index.window.stored import records_of_messages
from tocsin.model.subscription import SubscriptionId
from tocsin.store import WINDOW, Database, InterestRow, MessageRow
from tocsin.window.saving import message_words, options_of
from tocsin.window.window import Window

_STATE: Final = "window_state"
_AT_ONCE: Final = 8192
_KINDS: Final = {"string": str, "int64": int, "none": None}
"""Which keys messages have, by its name in the store."""


class State(NamedTuple):
    """What a window knows besides its messages and subscriptions."""

    first: int  # the number of the oldest message, or of the next one
    taken: int  # the number of messages so far
    latest: float | None  # the time before which messages are late; None if there was none
    keys: str | None  # None before the first message

    @classmethod
    def of(cls, window: Window) -> State:
        """That of a window."""
        latest, keys = window._reader.latest, window._keys
        kind = next(name for name, kind in _KINDS.items() if kind is keys.kind) if keys.is_decided else None
        taken = window._sliding.taken
        return cls(taken - window._sliding.held, taken, None if math.isinf(latest) else float(latest), kind)


NOTHING: Final = State(0, 0, None, None)
"""The state of a new window."""


def write_window(database: Database, window: Window) -> None:
    """Write a whole window into an empty store, within a transaction."""
    database.put_meta(WINDOW, json.dumps(options_of(window)))
    write_changes(database, window, NOTHING, list(window), State.of(window))


def write_changes(
    database: Database, window: Window, stored: State, changed: Iterable[SubscriptionId], state: State
) -> None:
    """Write the messages that came since the state `stored`, and delete those that have left the window.

    Of the subscriptions in `changed`, write those that the window has, and delete the others.
    """
    tables, names = database.window, window._names
    if state.first > stored.first:
        tables.remove_messages(state.first)
    tables.put_messages(_message_rows(window, stored.taken))
    gone = [id for id in changed if id not in names]
    if gone:
        tables.remove_subscriptions(gone)
    tables.put_subscriptions(_subscription_rows(window, [id for id in changed if id in names]))
    database.put_meta(_STATE, json.dumps({"taken": state.taken, "latest": state.latest, "keys": state.keys}))


def read_window(database: Database, window: Window) -> None:
    """Restore an empty window from its store; raises `StoreError` if the store cannot be read as one."""
    try:
        state = json.loads(database.meta(_STATE))
        if state["keys"] is not None:
            window._keys.decide(_KINDS[state["keys"]])
        first = database.window.first()
        window._restore(
            map(_messages_table, database.window.messages()),
            map(_subscriptions_table, database.window.subscriptions()),
            state["taken"] if first is None else first,
            state["latest"],
        )
        if window._sliding.taken != state["taken"]:
            raise ValueError(f"it has messages up to {window._sliding.taken:,}, not up to {state['taken']:,}")
    except (KeyError, OverflowError, TypeError, ValueError, pa.ArrowException) as error:
        told = str(error) if isinstance(error, InvalidInput) else repr(error)
        raise StoreError(f"{database.folder} has a window that cannot be read: {told:.200}") from None


def _message_rows(window: Window, since: int) -> Iterator[tuple[Any, ...]]:
    messages = window._sliding.messages
    numbers, records = records_of_messages(messages, since)
    words = _json_lists(window, *message_words(window, since))
    keys = repeat(None, len(numbers)) if window._keys.kind is None else window._keys.of(numbers)
    return zip(numbers.tolist(), keys, *records[:, [X, Y, TIME]].T.tolist(), words, strict=True)


def _subscription_rows(window: Window, ids: Sequence[SubscriptionId]) -> Iterator[tuple[Any, ...]]:
    for first in range(0, len(ids), _AT_ONCE):
        some = ids[first : first + _AT_ONCE]
        held = window._sliding.held_at(np.array([window._names.slot(id) for id in some], np.int32))
        x, y, alphas = held.records[:, [X, Y, ALPHA]].T.tolist()
        words = _json_lists(window, held.starts, held.words)
        yield from zip(some, x, y, held.ks.tolist(), alphas, words, strict=True)


def _json_lists(window: Window, starts: NDArray[np.int64], numbers: NDArray[np.int32]) -> list[str]:
    """The words of each record as a JSON list."""
    quoted = list(map(encode_basestring, window._vocabulary.words_of(numbers.tolist())))
    return [f"[{', '.join(quoted[first:stop])}]" for first, stop in pairwise(starts.tolist())]


def _messages_table(rows: list[MessageRow]) -> pa.Table:
    _, keys, x, y, times, words = zip(*rows, strict=True)
    columns = {"words": _lists(words), "location": _pairs(x, y), "time": pa.array(times)}
    if any(key is not None for key in keys):
        columns["key"] = pa.array(keys)
    return pa.table(columns)


def _subscriptions_table(rows: list[InterestRow]) -> pa.Table:
    ids, x, y, ks, alphas, words = zip(*rows, strict=True)
    columns = {"id": pa.array(ids), "words": _lists(words), "location": _pairs(x, y)}
    return pa.table({**columns, "k": pa.array(ks), "alpha": pa.array(alphas)})


def _lists(texts: Sequence[str]) -> pa.Array:
    return pa.array(json.loads(f"[{','.join(texts)}]"), pa.list_(pa.string()))


def _pairs(x: Sequence[float], y: Sequence[float]) -> Any:
    return pa.FixedSizeListArray.from_arrays(pa.array(np.column_stack([x, y]).reshape(-1)), 2)
