"""Partitions whose subscriptions come, change and go answer like one window with the same order; without Spark."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.spark.windows.test_answering import (
    MISHAPS,
    SUBSCRIPTIONS,
    Cluster,
    ids,
    settings_of,
    subscriptions,
    table_of,
)
from tests.window.test_against_oracle import BOUNDS, alphas, places, words
from tests.window.test_parts import KINDS
from tocsin.records.changes import CORRUPT
from tocsin.spark.windows import keeping
from tocsin.spark.windows.answers import REFUSED
from tocsin.spark.windows.copies import PLACEMENTS
from tocsin.spark.windows.edits import CHANGE, DICE
from tocsin.spark.windows.keeping import Kept
from tocsin.spark.windows.ordering import in_order

CONTENT = SUBSCRIPTIONS.names
COLUMNS = ("event", "kind", "subscription", "message", "score")
CHANGE_TYPE = pa.struct([*SUBSCRIPTIONS, ("change", pa.string()), (DICE, pa.int64())])

rows = st.lists(
    st.one_of(
        st.tuples(
            st.just("message"),
            st.lists(st.sampled_from("abcdefgh"), max_size=4),
            places | st.sampled_from([None, (9.0, 0.0)]),
            st.sampled_from([0, 0, 1, 2, 9, -3]),
        ),
        st.tuples(
            st.sampled_from(["insert", "update", "delete"]),
            st.tuples(ids, words, places | st.none(), st.integers(0, 3), alphas),
        ),
    ),
    min_size=1,
    max_size=50,
)
steps = st.lists(st.tuples(st.integers(1, 9), st.sampled_from(MISHAPS)), min_size=1)


def edited(change: str, record: dict[str, Any]) -> dict[str, Any]:
    """The row of a change; hashes of ids are their numbers."""
    return {**record, "change": change, DICE: int(record["id"][1:])}


def with_changes(given: list[Any], first: int, now: float) -> tuple[pa.Table, float, list[Any]]:
    """Rows of one stream, some of them changes, with their own order; and each row with what a window is told."""
    messages = [(own, place, passes) for kind, *rest in given if kind == "message" for own, place, passes in [rest]]
    table, now = table_of(messages, first, now)
    records = iter(table.to_pylist())
    out, told = list[dict[str, Any]](), list[Any]()
    for order, (kind, *rest) in enumerate(given, first):
        if kind == "message":
            out.append({**next(records), "key": order, "order": order})
            told.append(("message", {k: v for k, v in out[-1].items() if k != "order"}))
        else:
            record = dict(zip(CONTENT, rest[0], strict=True))
            out.append({"order": order, CHANGE: edited(kind, record)})
            told.append((kind, record))
    return pa.Table.from_pylist(out, table.schema.append(pa.field(CHANGE, CHANGE_TYPE))), now, told


class Whole:
    """One window, which is told everything in order, and says what each row changed."""

    def __init__(self, kind: dict[str, Any], records: list[dict[str, Any]]) -> None:
        self.window = tocsin.Window(bounds=BOUNDS, **kind)
        errors = self.window.subscribe_many(records).errors if records else []
        self.refused = [(None, error.id, f"{error.field}: {error.reason}") for error in errors]
        self.taken = 0

    def take(self, told: list[Any]) -> list[Any]:
        """The changes as (event, kind, subscription, message, score)."""
        changes = list[Any]()
        before = {id: self.window.results(id) for id in self.window}
        for kind, record in told:
            if kind == "message":
                changes += self._differences(before)
                answer = self.window.push_batch(pa.Table.from_pylist([record]))
                changes += [(self.taken, r["kind"], r["subscription"], r["message"], r["score"]) for r in answer]
                self.refused += [(record["key"], None, f"{e.field}: {e.reason}") for e in answer.errors]
                if not answer.errors:
                    self.taken += 1
                before = {id: self.window.results(id) for id in self.window}
            elif kind == "delete":
                if record["id"] in self.window:
                    self.window.unsubscribe(record["id"])
            else:
                errors = self.window.subscribe_many([record], replace=True).errors
                self.refused += [(None, record["id"], f"{e.field}: {e.reason}") for e in errors]
        return changes + self._differences(before)

    def _differences(self, before: dict[str, Any]) -> list[Any]:
        after = {id: self.window.results(id) for id in self.window}
        changes = []
        for kind, there, others in (("exit", before, after), ("enter", after, before)):
            for id, best in there.items():
                known = list(others.get(id, ()))
                for entry in best:
                    if entry in known:
                        known.remove(entry)
                    else:
                        changes.append((self.taken, kind, id, *entry))
        return changes


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(
    placement=st.sampled_from(PLACEMENTS),
    subscriptions=subscriptions,
    rows=rows,
    steps=steps,
    partitions=st.sampled_from([1, 2, 3, 8]),
    chunk=st.sampled_from([2, 1024]),
)
def test_partitions_with_changing_subscriptions_answer_as_one_window(
    kind: dict[str, Any],
    placement: str,
    subscriptions: list[Any],
    rows: list[Any],
    steps: list[Any],
    partitions: int,
    chunk: int,
) -> None:
    """Changes count from the same message everywhere, whatever becomes of workers and of the chunks of the state."""
    records = [dict(zip(CONTENT, one, strict=True)) for one in subscriptions]
    settings = settings_of(kind, partitions, placement=placement)
    whole, cluster = Whole(kind, records), Cluster(settings, records, changes=True)
    with mock.patch.object(keeping, "ROWS", chunk):
        compare(whole, cluster, rows, steps)


@pytest.mark.parametrize("partitions", [1, 2, 3, 8])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_mechanism_that_is_killed_three_times_answers_as_one_window(placement: str, partitions: int) -> None:
    """Killed at its start, in a full window, and after changes were merged into subscriptions; always as one window."""
    draw = random.Random(partitions)
    kind = {"size": 12}
    records = [_drawn(draw, number) for number in range(0, 40, 2)]
    rows: list[Any] = [
        ("message", draw.choices("abcdefgh", k=2), _place(draw), 1)
        if draw.random() < 0.6
        else (draw.choice(["insert", "update", "delete"]), tuple(_drawn(draw, draw.randrange(40)).values()))
        for _ in range(80)
    ]
    whole = Whole(kind, records)
    cluster = Cluster(settings_of(kind, partitions, placement=placement), records, changes=True)
    quiet, killed = (10, "none"), (10, "killed")

    with mock.patch.object(keeping, "ROWS", 2):
        compare(whole, cluster, rows, [killed, quiet, quiet, killed, quiet, quiet, killed, quiet])

    assert sum(Kept(chunks).known.merged for chunks in cluster.chunks) > 0


def _drawn(draw: random.Random, number: int) -> dict[str, Any]:
    """A subscription by draw."""
    words = draw.sample("abcdefgh", k=draw.randint(1, 3))
    return dict(zip(CONTENT, (f"s{number}", words, _place(draw), draw.randint(1, 3), draw.random()), strict=True))


def _place(draw: random.Random) -> tuple[float, float]:
    return draw.uniform(*BOUNDS[::2]), draw.uniform(*BOUNDS[1::2])


def compare(whole: Whole, cluster: Cluster, rows: list[Any], steps: list[Any]) -> None:
    """Give both the same rows, and require the same changes and refusals."""
    done, now, refused, lists = 0, 0.0, list[Any](), dict[str, dict[Any, float]]()
    for size, mishap in steps * len(rows):
        if not (some := rows[done : done + size]):
            break
        table, now, told = with_changes(some, done, now)

        answers = cluster.take(table.take(pa.array(range(table.num_rows - 1, -1, -1))), mishap)

        changed = [tuple(row[name] for name in COLUMNS) for row in answers if row["kind"] != REFUSED]
        assert sorted(changed, key=str) == sorted(whole.take(told), key=str)
        apply(changed, lists)
        assert {id: own for id, own in lists.items() if own} == {
            id: dict(own) for id in whole.window if (own := whole.window.results(id))
        }
        refused += [(row["message"], row["subscription"], row["error"]) for row in answers if row["kind"] == REFUSED]
        done += len(some)
    assert sorted(refused, key=str) == sorted(whole.refused, key=str)


def apply(changes: list[Any], lists: dict[str, dict[Any, float]]) -> None:
    """Apply changes in the order in which they come."""
    for _, kind, subscription, key, score in changes:
        best = lists.setdefault(subscription, {})
        if kind == "enter":
            assert key not in best
            best[key] = score
        else:
            assert best.pop(key) == score


def message(*words: str) -> Any:
    return "message", list(words), (1.0, 1.0), 0


def change(kind: str, id: str, *words: str, k: int = 2) -> Any:
    return kind, (id, list(words), (1.0, 1.0), k, 0.5)


def test_the_state_grows_with_the_subscriptions_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with their changes: these are merged, and a worker that is lost finds all that counts."""
    monkeypatch.setattr(keeping, "ROWS", 4)
    records = [{"id": f"s{n}", "words": ["a"], "location": [1.0, 1.0], "k": 1, "alpha": 0.5} for n in range(3)]
    whole, cluster = Whole({"size": 5}, records), Cluster(settings_of({"size": 5}, 1), records)
    rows = []
    for step in range(30):
        rows += [change("update", f"s{step % 3}", "ab"[step % 2]), message("a"), message("b")]
        rows += [change("insert" if step % 2 else "delete", "s4", "b"), change("delete", "s5")]

    compare(whole, cluster, rows, [(5, "none"), (5, "worker lost"), (5, "others went on")])

    chunks = cluster.chunks[0]
    assert sum(name.startswith("edits") for name in chunks) <= 3
    assert sum(name.startswith("subscriptions") for name in chunks) == 1
    assert sum(len(Kept(chunks).edits()) for _ in range(1) if Kept(chunks).known.edits) <= 5


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_lists_of_changing_subscriptions(placement: str) -> None:
    """Whoever takes the last list of each subscription has those of one window, from a home or from its only copy."""
    records = [
        {"id": f"s{n}", "words": ["abc"[n % 3], "bcd"[n % 2]], "location": [n, 1.0], "k": 2, "alpha": 0.5}
        for n in range(7)
    ]
    whole = Whole({"size": 6}, records)
    cluster = Cluster(settings_of({"size": 6}, 3, lists=True, placement=placement), records, changes=True)
    best = dict[str, list[Any]]()
    rows = [
        message("a", "b"),
        message("c"),
        change("update", "s1", "a", "c", "d", k=3),
        message("d"),
        message("b", "c"),
    ]
    rows += [change("delete", "s2"), message("a"), change("insert", "s2", "b"), change("update", "s1", "d", k=1)]
    rows += [message("d"), change("delete", "s0"), change("update", "s3", "a"), message("h"), message("h")]
    done, now = 0, 0.0
    for size in (2, 3, 1, 4, 1, 3):
        table, now, told = with_changes(rows[done : done + size], done, now)
        whole.take(told)
        best |= {row["subscription"]: row["best"] for row in cluster.take(table) if not row["error"]}
        done += size

        lists = {id: [(own["message"], own["score"]) for own in entries] for id, entries in best.items() if entries}
        assert lists == {id: own for id in whole.window if (own := whole.window.results(id))}


def test_a_list_that_is_empty_before_the_first_message_has_the_type_of_keys() -> None:
    """A change before any message, and one after some, are reported to one home with keys that are strings."""
    settings = replace(settings_of({"size": 5}, 2, placement="keyword"), key_type="string")
    cluster = Cluster(settings, [], changes=True)
    rows = [change("insert", "s1", "a", "b"), message("a"), change("update", "s1", "b", "a", "c"), message("b")]
    table, _, _ = with_changes(rows, 0, 0.0)
    keys = table["key"].cast(pa.string())

    told = cluster.take(table.set_column(table.schema.get_field_index("key"), "key", keys))

    assert {row["message"] for row in told if row["kind"] == "enter"} == {"1", "3"}


def test_bad_changes_are_refused_and_cost_only_themselves() -> None:
    """Of an unknown kind, without an id, without words, outside the bounds, or unreadable; others count."""
    fields = [*SUBSCRIPTIONS, ("change", pa.string()), (DICE, pa.int64()), (CORRUPT, pa.string())]
    good = {"id": "s1", "words": ["a"], "location": [1.0, 1.0], "k": 2, "alpha": 0.5, DICE: 1}
    changes = [
        {**good, "change": "upsert"},
        {**good, "change": None},
        {**good, "id": None, "change": "delete"},
        {**good, "words": [], "change": "insert"},
        {**good, "location": [99.0, 0.0], "change": "update"},
        {**good, "k": 0, "change": "update"},
        {CORRUPT: "{not json", DICE: 0},
        {**good, "change": "insert"},
    ]
    cluster = Cluster(settings_of({"size": 10}, 2), [])
    table, _ = table_of([(["a"], (1.0, 1.0), 0)], 0, 0.0)
    rows = [*({"order": -1, CHANGE: one} for one in changes), *table.to_pylist()]

    told = cluster.take(pa.Table.from_pylist(rows, table.schema.append(pa.field(CHANGE, pa.struct(fields)))))

    assert [row["subscription"] for row in told if row["kind"] == "enter"] == ["s1"]
    refused = sorted(row["error"].partition(" ")[0] for row in told if row["kind"] == REFUSED)
    assert refused == ["change:", "change:", "id:", "k:", "location:", "the", "words:"]
    assert len({(row["subscription"], row["error"]) for row in told if row["kind"] == REFUSED}) == len(changes) - 1


def test_an_equal_order_puts_changes_first() -> None:
    """A change with the order of a message counts for that message."""
    rows = [
        {"n": 1, "words": ["a"], CHANGE: None},
        {"n": 1, "words": None, CHANGE: {"id": 7}},
        {"n": 0, "words": ["b"]},
    ]
    table = pa.Table.from_pylist(rows)

    assert [row["words"] for row in in_order(table, ["n"], CHANGE).to_pylist()] == [["b"], None, ["a"]]
