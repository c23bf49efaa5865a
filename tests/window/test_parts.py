"""Parts of a window tell together what the whole one tells, however messages are dealt and parts restored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.window.test_against_oracle import BOUNDS, WEIGHTS, alphas, places, words
from tocsin.window.frequencies import TERM_FREQUENCIES
from tocsin.window.parts import Sent, WindowPart

KINDS: list[dict[str, Any]] = [{"size": 1}, {"size": 4}, {"size": 30}, {"time": 5.0}, {"size": 6, "time": 7.0}]
SUBSCRIPTION = pa.schema(
    [
        ("id", pa.int64()),
        ("words", pa.list_(pa.string())),
        ("location", pa.list_(pa.float64())),
        ("k", pa.int32()),
        ("alpha", pa.float64()),
    ]
)

messages = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdefgh"), max_size=4), places, st.sampled_from([0, 0, 1, 2, 9])),
    min_size=1,
    max_size=60,
)
subscriptions = st.lists(st.tuples(words, places, st.integers(1, 3), alphas), max_size=14)
steps = st.lists(st.tuples(st.integers(1, 9), st.sampled_from(["go on", "restore", "catch up"])), min_size=1)


class Part:
    """A part as a partition has it, and what it keeps of its messages."""

    def __init__(self, make: Any, table: pa.Table) -> None:
        self.make, self.table = make, table
        self.wanted = {word for own in table["words"].to_pylist() for word in own}
        self.part = WindowPart(make())
        self.part.subscribe(table)
        self.kept: list[pa.Table] = []
        self.behind = self.restored()

    def restored(self) -> WindowPart:
        part = self.part
        kept = pa.concat_tables(self.kept) if self.kept else None
        kept = _table([], [], None, has_time=part.window.span is not None) if kept is None else kept
        kept = kept.filter(pc.greater_equal(kept["number"], part.first))
        return WindowPart.restored(self.make(), kept, [self.table], part.first, part.taken, part.latest)

    def push(self, rows: list[Any], keys: list[str] | None, times: list[float] | None, how: str) -> list[Any]:
        if how == "restore":
            self.part = self.restored()
        elif how == "catch up":
            self.behind.again(pa.concat_tables(self.kept or [self._none()]), self.part.taken, self.part.latest)
            self.part, self.behind = self.behind, self.restored()
        chosen = [at for at, (own, _, _) in enumerate(rows) if self.wanted & set(own)]
        table = _table([rows[at] for at in chosen], [], keys and [keys[at] for at in chosen], bare=True)
        sent = Sent(len(rows), np.array(chosen, np.int64), table, None if times is None else np.array(times, float))
        self.kept.append(sent.numbered(self.part.taken))
        return self.part.push(sent).to_pylist()

    def _none(self) -> pa.Table:
        return _table([], [], None, has_time=self.part.window.span is not None)


def _table(
    rows: list[Any], numbers: list[int], keys: list[str] | None, *, has_time: bool = False, bare: bool = False
) -> pa.Table:
    places = pa.array([x for _, place, _ in rows for x in place], pa.float64())
    columns = {
        "words": pa.array([own for own, _, _ in rows], pa.list_(pa.string())),
        "location": pa.FixedSizeListArray.from_arrays(places, 2),
    }
    if keys is not None:
        columns["key"] = pa.array(keys, pa.string())
    if not bare:
        columns["number"] = pa.array(numbers, pa.int64())
        if has_time:
            columns["time"] = pa.array([], pa.float64())
    return pa.table(columns)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(
    subscriptions=subscriptions,
    messages=messages,
    steps=steps,
    count=st.sampled_from([1, 2, 3, 7]),
    keyed=st.booleans(),
    weights=st.sampled_from([None, WEIGHTS]),
    frequency=st.sampled_from(TERM_FREQUENCIES),
)
def test_parts_change_as_the_whole_does(
    kind: dict[str, Any],
    subscriptions: list[Any],
    messages: list[Any],
    steps: list[Any],
    count: int,
    keyed: bool,
    weights: Any,
    frequency: Any,
) -> None:
    """Event by event, whoever is sent what, after any micro-batch, restored or caught up in between."""

    def make() -> tocsin.Window:
        index = "blocks(slack=1)"
        return tocsin.Window(bounds=BOUNDS, weights=weights, term_frequency=frequency, index=index, **kind)

    records = [dict(zip(SUBSCRIPTION.names, (id, *rest), strict=True)) for id, rest in enumerate(subscriptions)]
    table, whole = pa.Table.from_pylist(records, SUBSCRIPTION), make()
    whole.subscribe_many(table)
    parts = [Part(make, table.take(pa.array(range(at, len(records), count), pa.int64()))) for at in range(count)]
    times = np.cumsum([passes for _, _, passes in messages]).tolist()
    done = 0
    for size, how in steps * len(messages):
        rows, own = messages[done : done + size], times[done : done + size]
        if not rows:
            break
        keys = [f"m{number % 5}" for number in range(done, done + len(rows))] if keyed else None
        given = [{"words": w, "location": p, "time": t} for (w, p, _), t in zip(rows, own, strict=True)]
        given = given if keys is None else [{**one, "key": key} for one, key in zip(given, keys, strict=True)]

        told = [one for part in parts for one in part.push(rows, keys, own if "time" in kind else None, how)]

        expected = [{**one, "event": one["event"] + done} for one in whole.push_batch(given)]
        assert sorted(map(_order, told)) == sorted(map(_order, expected))
        done += len(rows)
    assert [row for part in parts for row in part.part.window.results_table().to_pylist()] == sorted(
        whole.results_table().to_pylist(), key=lambda row: (row["subscription"] % count, row["subscription"])
    )


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["event"], row["kind"], row["subscription"], row["message"], row["score"]
