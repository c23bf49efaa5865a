"""Partitions answer like one window, whatever becomes of the workers that have them; without Spark."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.window.test_against_oracle import BOUNDS, alphas, places, words
from tests.window.test_parts import KINDS, SUBSCRIPTION
from tocsin.errors import InvalidInput, SegmentError
from tocsin.model.texts import PLAIN
from tocsin.placement import HASH, LOCATION
from tocsin.placement.hashing import hashes_of
from tocsin.records import TableChunk
from tocsin.spark.windows import answering
from tocsin.spark.windows.answering import answer
from tocsin.spark.windows.answers import REFUSED
from tocsin.spark.windows.copies import PLACEMENTS, PREFIX, Placing, rarest_words
from tocsin.spark.windows.edits import CHANGE, DICE
from tocsin.spark.windows.keeping import Kept
from tocsin.spark.windows.merging import Home, Reported, answers_by_home, by_home
from tocsin.spark.windows.numbering import Numbering
from tocsin.spark.windows.ordering import in_order
from tocsin.spark.windows.packets import Packet, bytes_of
from tocsin.spark.windows.packets import table_of as table_from
from tocsin.spark.windows.placing import Dealing, checked, placing_of
from tocsin.spark.windows.routing import Routes
from tocsin.spark.windows.settings import Settings
from tocsin.window.fields import Fields, words_in
from tocsin.window.frequencies import TERM_FREQUENCIES
from tocsin.window.parts import COPIES

SUBSCRIPTIONS = SUBSCRIPTION.set(0, pa.field("id", pa.string()))
MESSAGES = pa.schema(
    [
        ("words", pa.list_(pa.string())),
        ("location", pa.list_(pa.float64())),
        ("time", pa.float64()),
        ("key", pa.int64()),
        ("order", pa.int64()),
    ]
)

ids = st.sampled_from([f"s{number}" for number in range(9)])
subscriptions = st.lists(st.tuples(ids, words, places, st.integers(1, 3), alphas), max_size=12)
messages = st.lists(
    st.tuples(
        st.lists(st.sampled_from("abcdefgh"), max_size=4),
        places | st.sampled_from([None, (9.0, 0.0), (math.nan, 1.0)]),
        st.sampled_from([0, 0, 1, 2, 9, -3]),
    ),
    min_size=1,
    max_size=50,
)
MISHAPS = ["none", "none", "worker lost", "task failed", "killed", "others went on"]
steps = st.lists(st.tuples(st.integers(1, 9), st.sampled_from(MISHAPS)), min_size=1)


class Dictionary(dict[str, bytes]):
    """Chunks in memory, which can be as they were."""

    def put(self, name: str, data: bytes) -> None:
        self[name] = data

    def remove(self, name: str) -> None:
        del self[name]


class Cluster:
    """All partitions, and the chunks that each keeps; and the homes that merge lists of copies."""

    def __init__(self, settings: Settings, records: list[dict[str, Any]], *, changes: bool = False) -> None:
        self.chunks, self.homes = ([Dictionary() for _ in range(settings.partitions)] for _ in range(2))
        table = pa.Table.from_pylist(sorted(records, key=lambda one: one["id"]), SUBSCRIPTIONS)
        dice = np.array([int(id[1:]) for id in table["id"].to_pylist()], np.int64)
        batch = table.append_column(DICE, pa.array(dice)).combine_chunks()
        batch = batch.to_batches()[0] if len(dice) else pa.RecordBatch.from_pylist([], batch.schema)
        own = checked(batch, settings)
        self.placing = Placing(HASH, settings.partitions, Routes.everywhere(settings.partitions))
        if settings.placement != HASH:
            self.placing = placing_of(settings, lambda of, how: _gathered(*of(own, dice), how), changes=changes)
        rows, partitions, masks = Dealing(self.placing).dealt(batch, own)
        copies = table.take(pa.array(rows)).append_column(COPIES, pa.array(masks.view(np.int64)))
        self.settings = replace(settings, routes=self.placing.routes.digest(), has_homes=self.placing.is_shared)
        self.numbering = Numbering(self.settings, self.placing)
        for at, chunks in enumerate(self.chunks):
            here = copies.filter(pa.array(partitions == at))
            for place, first in enumerate(range(0, here.num_rows, 3)):
                Kept(chunks).give(place, bytes_of(here.slice(first, 3)))

    def take(self, rows: pa.Table, mishap: str = "none") -> list[dict[str, Any]]:
        """What a micro-batch changes, after something went wrong."""
        packets = list(self.numbering.packets(in_order(rows, ["order"], CHANGE).combine_chunks().to_batches()[0]))
        if mishap == "worker lost":
            answering._parts.clear()
        if mishap in ("task failed", "killed"):
            before = [[Dictionary(chunks) for chunks in all_chunks] for all_chunks in (self.chunks, self.homes)]
            self._answers(packets)
            self.chunks, self.homes = before
        if mishap == "killed":  # the whole micro-batch is replayed from the checkpoint, by new workers
            answering._parts.clear()
        if mishap == "others went on":
            mine = dict(answering._parts)
            answering._parts.clear()
            told = self._answers(packets)
            answering._parts.clear()
            answering._parts.update(mine)
            return told
        return self._answers(packets)

    def _answers(self, packets: list[Packet]) -> list[dict[str, Any]]:
        settings, partitions = self.settings, self.settings.partitions
        done = [answer(at, [packet], Kept(self.chunks[at]), settings) for at, packet in enumerate(packets)]
        if not settings.has_homes:
            return [row for one in done for table in one.tables for row in table.to_pylist()]
        reports: list[list[Reported]] = [[] for _ in range(partitions)]
        passed: list[list[pa.Table]] = [[] for _ in range(partitions)]
        for at, one in enumerate(done):
            for home, rows in by_home(pa.concat_tables(one.reported), partitions).items() if one.reported else ():
                reports[home].append(Reported(table_from(bytes_of(rows)), one.taken))
            for home, rows in answers_by_home(one.tables, at, partitions).items():
                passed[home].append(table_from(bytes_of(rows)))
        homes = zip(self.homes, passed, reports, strict=True)  # what partitions report comes in any order
        tables = [Home(chunks, settings).answered(own[::-1], told[::-1]) for chunks, own, told in homes]
        return [row for table in tables for row in table.to_pylist()]


def _gathered(words: Any, numbers: Any, how: str) -> tuple[Any, Any]:
    """A number for each word, as Spark gathers them."""
    told: dict[int, int] = {}
    for word, number in zip(words.tolist(), numbers.tolist(), strict=True):
        told[word] = told.get(word, 0) + number if how == "sum" else told.get(word, 0) | number
    return np.array(sorted(told), np.uint64), np.array([told[word] for word in sorted(told)], np.uint64)


def settings_of(
    kind: dict[str, Any], partitions: int, *, lists: bool = False, keyed: bool = True, placement: str = HASH
) -> Settings:
    routes = Routes.everywhere(partitions).digest()
    rest = (partitions, placement, "string", "int64" if keyed else None, lists, routes)
    return Settings(kind.get("size"), kind.get("time"), BOUNDS, {}, "plain", "blocks(slack=1)", *rest)


def table_of(rows: list[Any], first: int, now: float, *, keyed: bool = True) -> tuple[pa.Table, float]:
    records = []
    for number, (own, place, passes) in enumerate(rows, first):
        now += max(passes, 0)
        time = now + min(passes, 0)
        records.append({"words": own, "location": place, "time": time, "key": number % 5, "order": number})
    table = pa.Table.from_pylist(records, MESSAGES)
    return table if keyed else table.drop_columns("key"), now


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(
    subscriptions=subscriptions,
    messages=messages,
    steps=steps,
    partitions=st.sampled_from([1, 2, 7, 16]),
    keyed=st.booleans(),
    placement=st.sampled_from(PLACEMENTS),
    frequency=st.sampled_from(TERM_FREQUENCIES),
)
def test_partitions_answer_as_one_window_does(
    kind: dict[str, Any],
    subscriptions: list[Any],
    messages: list[Any],
    steps: list[Any],
    partitions: int,
    keyed: bool,
    placement: str,
    frequency: Any,
) -> None:
    """Changes and refusals, with bad records, lost workers, tasks that fail, and workers that take turns."""
    records = [dict(zip(SUBSCRIPTIONS.names, one, strict=True)) for one in subscriptions]
    whole = tocsin.Window(bounds=BOUNDS, term_frequency=frequency, **kind)
    settings = settings_of(kind, partitions, keyed=keyed, placement=placement)
    cluster = Cluster(replace(settings, term_frequency=frequency), records)
    bad = [error.id for error in whole.subscribe_many(records).errors] if records else []
    done, now, taken, refused = 0, 0.0, 0, list[Any]()
    for size, mishap in steps * len(messages):
        if not (rows := messages[done : done + size]):
            break
        table, now = table_of(rows, done, now, keyed=keyed)
        expected = whole.push_batch(table.drop_columns("order"))
        numbers = {row: taken + at for at, row in enumerate(sorted(set(range(len(rows))) - _rows(expected.errors)))}

        told = cluster.take(table.take(pa.array(range(len(rows) - 1, -1, -1))), mishap)

        changes = [one for one in told if one["kind"] != REFUSED]
        assert sorted(map(_order, changes)) == sorted(
            _order({**one, "event": numbers[one["event"]]}) for one in expected
        )
        late = [
            (one["message"], one["error"]) for one in told if one["kind"] == REFUSED and one["subscription"] is None
        ]
        assert sorted(late, key=str) == sorted(
            ((table["key"][e.row].as_py() if keyed else None, f"{e.field}: {e.reason}") for e in expected.errors),
            key=str,
        )
        refused += [one["subscription"] for one in told if one["kind"] == REFUSED and one["subscription"]]
        done, taken = done + len(rows), taken + len(rows) - len(expected.errors)
    assert sorted(refused) == sorted(bad)


def _rows(errors: list[Any]) -> set[int]:
    return {error.row for error in errors}


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["event"], row["kind"], row["subscription"], row["message"], row["score"]


def test_where_there_is_a_column_of_keys_every_message_has_one() -> None:
    """The column says what messages are called, not the first of them; who has none is refused and takes no number."""
    records = [{"id": "s1", "words": ["a"], "location": [1.0, 1.0], "k": 3, "alpha": 0.5}]
    cluster = Cluster(settings_of({"size": 10}, 2), records)
    table, _ = table_of([(["a"], (1.0, 1.0), 0)] * 3, 0, 0.0)
    table = table.set_column(table.schema.get_field_index("key"), "key", pa.array([None, 7, 8], pa.int64()))

    told = cluster.take(table)

    assert [(one["event"], one["message"]) for one in told if one["kind"] == "enter"] == [(0, 7), (1, 8)]
    assert [(one["message"], one["error"][:4]) for one in told if one["kind"] == REFUSED] == [(None, "key:")]


def test_lists_are_those_that_changed() -> None:
    """One row a subscription whose list is another, with all that is best, best first."""
    records = [{"id": f"s{n}", "words": ["ab"[n % 2]], "location": [n, 1.0], "k": 2, "alpha": 0.5} for n in range(6)]
    whole = tocsin.Window(4, bounds=BOUNDS)
    whole.subscribe_many(records)
    cluster = Cluster(settings_of({"size": 4}, 3, lists=True), records)
    for step in range(5):
        rows = [([["a"], ["b"], ["c"]][(step * 3 + at) % 4 % 3], (at * 2.0, 0.5), 0) for at in range(3)]
        table, _ = table_of(rows, 3 * step, 0.0)
        changed = {one["subscription"] for one in whole.push_batch(table.drop_columns(["order", "time"]))}

        told = cluster.take(table)

        assert {one["subscription"] for one in told} == changed
        for one in told:
            assert [(own["message"], own["score"]) for own in one["best"]] == whole.results(one["subscription"])
            assert one["event"] == 3 * step + 2


def test_only_dirty_chunks_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A micro-batch writes the last chunk of messages, removes what expired, and leaves all others."""
    monkeypatch.setattr("tocsin.spark.windows.keeping.ROWS", 4)
    records = [{"id": "s1", "words": ["a"], "location": [1.0, 1.0], "k": 1, "alpha": 0.5}]
    cluster = Cluster(settings_of({"size": 10}, 1), records)
    for step in range(12):
        before = dict(cluster.chunks[0])
        table, _ = table_of([(["a"], (1.0, 1.0), 0)] * 2, 2 * step, 0.0)
        cluster.take(table)
        after = cluster.chunks[0]
        dirty = {name for name in after if before.get(name) != after[name]} - {"about"}
        assert len(dirty) == 1
        assert dirty.pop().startswith("messages")
    assert sum(name.startswith("messages") for name in cluster.chunks[0]) <= 4


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"size": 11}, "size=10, but this query has size=11"),
        ({"partitions": 2}, "partitions=1"),
        ({"placement": "prefix"}, "placement='hash'"),
        ({"weights": {"a": 2.0}}, "other weights"),
        ({"routes": "other"}, "other subscriptions"),
        ({"bounds": (0.0, 0.0, 1.0, 1.0)}, "bounds="),
    ],
    ids=str,
)
def test_a_checkpoint_of_another_window_is_refused(other: dict[str, Any], said: str) -> None:
    """In words that say what it was made with."""
    cluster = Cluster(settings_of({"size": 10}, 1), [])
    table, _ = table_of([(["a"], (1.0, 1.0), 0)], 0, 0.0)
    cluster.take(table)
    cluster.settings = replace(cluster.settings, **other)

    with pytest.raises(InvalidInput, match=said):
        cluster.take(table)


def test_a_checkpoint_that_lacks_a_chunk_is_refused() -> None:
    """It is not taken for an empty window."""
    cluster = Cluster(settings_of({"size": 10}, 1), [])
    table, _ = table_of([(["a"], (1.0, 1.0), 0)], 0, 0.0)
    cluster.take(table)
    del cluster.chunks[0]["messages 0"]

    with pytest.raises(SegmentError, match="lacks the chunk 'messages 0'"):
        cluster.take(table, "worker lost")


def test_the_order_of_rows_is_the_columns() -> None:
    """Null last, ties by what rows look like, whatever order they come in."""
    rows = [{"n": n, "x": x, "words": [w]} for n in (2, None, 1) for x in (0.5, -0.0, 0.0) for w in "ba"]
    table = pa.Table.from_pylist(rows)
    expected = in_order(table, ["n", "x"]).to_pylist()

    assert [row["n"] for row in expected] == [1] * 6 + [2] * 6 + [None] * 6
    for at in range(1, len(rows)):
        turned = table.take(pa.array([*range(at, len(rows)), *range(at)]))
        assert str(in_order(turned, ["n", "x"]).to_pylist()) == str(expected)


def test_the_rarest_word_says_where_a_subscription_lies() -> None:
    """Who shares it lies together; who has no word lies somewhere."""
    records = [["rare", "all"], ["all"], ["all", "rare"], ["some", "all"], ["some"], []]
    batch = pa.RecordBatch.from_pylist([{"id": n, "words": own} for n, own in enumerate(records)])
    lists = words_in(Fields(TableChunk(batch, np.arange(len(records)))), PLAIN)
    hashes = hashes_of(lists.distinct)
    order = np.argsort(hashes)
    counts = np.bincount(lists.numbers).astype(np.uint64)

    rarest = rarest_words(lists, hashes[order], counts[order])

    words = [None if place < 0 else lists.distinct[place] for place in rarest.tolist()]
    assert words == ["rare", "all", "rare", "some", "some", None]


def test_messages_are_sent_where_their_words_are_asked_for() -> None:
    """And their numbers everywhere."""
    records = [
        {"id": f"s{n}", "words": [word], "location": [1.0, 1.0], "k": 1, "alpha": 0.5} for n, word in enumerate("abc")
    ]
    cluster = Cluster(settings_of({"size": 10}, 3, placement=PREFIX), records)
    table, _ = table_of([([*own], (1.0, 1.0), 0) for own in ("a", "bc", "h", "", "ca")], 0, 0.0)

    packets = list(cluster.numbering.packets(table.drop_columns("order").combine_chunks().to_batches()[0]))

    homes = [table_from(chunks["subscriptions 0"]) if chunks else None for chunks in cluster.chunks]
    words = [{word for own in home["words"].to_pylist() for word in own} if home else set() for home in homes]
    expected = [[at for at, own in enumerate(("a", "bc", "h", "", "ca")) if asked & set(own)] for asked in words]
    assert set.union(*words) == set("abc")
    assert [packet.sent.positions.tolist() for packet in packets] == expected
    assert [packet.sent.total for packet in packets] == [5, 5, 5]


@pytest.mark.parametrize("placement", [PREFIX, LOCATION])
def test_subscriptions_that_changed_since_they_were_placed_are_refused(placement: str) -> None:
    """Their messages would go elsewhere."""
    records = [{"id": "s0", "words": ["a"], "location": [1.0, 1.0], "k": 1, "alpha": 0.5}]
    cluster = Cluster(settings_of({"size": 10}, 2, placement=placement), records)
    changed = pa.Table.from_pylist([{**records[0], "words": ["b"]}], SUBSCRIPTIONS)
    batch = changed.append_column(DICE, pa.array([0])).combine_chunks().to_batches()[0]

    with pytest.raises(InvalidInput, match="the subscriptions changed"):
        Dealing(cluster.placing).dealt(batch, checked(batch, cluster.settings))


def test_texts_become_words_where_messages_are_numbered() -> None:
    """As a window makes them, of messages and of subscriptions; and of a text that is none, a reason."""
    records = [{"id": f"s{n}", "text": text, "location": [1.0, n]} for n, text in enumerate(("Café au lait", "Tea!"))]
    messages = [{"text": text, "location": [2.0, 1.0]} for text in ("CAFE, tea", "milk", None, "tea")]
    whole = tocsin.Window(3, bounds=BOUNDS)
    whole.subscribe_many(records)
    cluster = Cluster(settings_of({"size": 3}, 2, keyed=False), [])
    for at, record in enumerate(records):
        Kept(cluster.chunks[at]).give(0, bytes_of(pa.Table.from_pylist([record])))
    expected = whole.push_batch(messages)

    told = cluster.take(pa.Table.from_pylist([{**one, "order": n} for n, one in enumerate(messages)]))

    changes = [(one["message"], one["kind"], one["subscription"]) for one in told if one["kind"] != REFUSED]
    assert sorted(changes) == sorted((one["message"], one["kind"], one["subscription"]) for one in expected)
    assert [one["error"] for one in told if one["kind"] == REFUSED] == [
        f"{error.field}: {error.reason}" for error in expected.errors
    ]


def test_a_checkpoint_of_another_format_is_refused() -> None:
    """A later version may keep other things."""
    cluster = Cluster(settings_of({"size": 10}, 1), [])
    table, _ = table_of([(["a"], (1.0, 1.0), 0)], 0, 0.0)
    cluster.take(table)
    about = cluster.chunks[0]["about"]
    cluster.chunks[0]["about"] = about.replace(b'"format": 2', b'"format": 3')

    with pytest.raises(SegmentError, match="format 3"):
        cluster.take(table)
