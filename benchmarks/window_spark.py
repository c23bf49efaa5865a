"""The load of B5 through `spark.window`: messages a second, state of a micro-batch, visits of a message.

Everything runs in one session with two cores, and is compared with one process. Figures of a micro-batch are medians of
those after the window was filled. Visits are computed without Spark: the partitions that a message visits, and those
that no placement could spare it, because it enters lists there.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

import tocsin
from benchmarks.rows import Row
from benchmarks.window_workload import BOUNDS, VOCABULARY, WindowLoad
from tocsin.model.texts import PLAIN
from tocsin.placement.hashing import hashes_of, hashes_of_ids
from tocsin.records import TableChunk
from tocsin.spark.windows.copies import rarest_words, words_led
from tocsin.spark.windows.routing import Routes, bits_of
from tocsin.window.fields import Fields, WordLists, words_in

_BATCH: Final = 4096
_BATCHES: Final = 5
_RUNS: Final = ((2, _BATCH), (8, _BATCH), (2, 8 * _BATCH))
"""Partitions, and messages of a micro-batch."""
_SHARES: Final = (8, 16, 64)
_MOST: Final = 100_000
_SCHEMA: Final = "words array<string>, location array<double>, place bigint"


def rows(subscriptions: int, size: int) -> Iterator[Row]:
    """Measure one process, then Spark, on the messages after a full window."""
    load, wanted = WindowLoad(), min(subscriptions, _MOST)
    name = f"{wanted:,} subscriptions, {size:,} messages"
    window = tocsin.Window(size, bounds=BOUNDS)
    window.subscribe_many(load.subscriptions(wanted))
    window.push_batch(load.messages(size), changes=False)
    spent = []
    for part in range(1, _BATCHES + 1):
        began = time.perf_counter()
        answer = window.push_batch(load.messages(_BATCH, part))
        spent.append(time.perf_counter() - began)
    yield Row("window", name, "one process", _BATCH / median(spent), "messages/s", "wall")
    messages = load.messages(_BATCH, _BATCHES)
    yield from _visits(load.subscriptions(wanted), messages, answer.table, name)
    yield from _visits_for_one_word(wanted, messages)
    for partitions, batch in _RUNS:
        yield from _on_spark(load, wanted, size, partitions, batch)


def _visits(subscriptions: pa.Table, messages: pa.Table, changes: pa.Table, name: str) -> Iterator[Row]:
    """The partitions that a message visits by its words, and those where it enters a list."""
    batch = subscriptions.combine_chunks().to_batches()[0]
    lists = _lists(batch)
    hashes, counts = hashes_of(lists.distinct), np.bincount(lists.numbers).astype(np.uint64)
    order = np.argsort(hashes)
    entered = changes.filter(pc.equal(changes["kind"].cast(pa.string()), "enter"))
    events, who = entered["event"].to_numpy(), entered["subscription"].to_numpy()
    places = np.array(subscriptions["location"].to_pylist())
    yield Row("window", name, "lists that a message enters", len(events) / messages.num_rows, "")
    for partitions in _SHARES:
        homes = {
            "hash": (hashes_of_ids(batch.column("id")) % np.uint64(partitions)).astype(np.int64),
            "prefix": _by_rarest(lists, hashes[order], counts[order], partitions),
            "location": _leaves(places, partitions),
        }
        for placement, own in homes.items():
            least = len(np.unique(events * partitions + own[who])) / messages.num_rows
            by_words = _by_words(lists, own, messages)
            note = f"{by_words:.2f} by words alone"
            yield Row("window", name, f"{placement}, {partitions}: partitions entered", least, "", note)


def _visits_for_one_word(count: int, messages: pa.Table) -> Iterator[Row]:
    """The partitions that a message visits by `prefix`, if each subscription asks for one word, drawn evenly."""
    drawn = np.random.default_rng(1).integers(0, VOCABULARY, count)
    words = [[f"w{number}"] for number in drawn.tolist()]
    lists = _lists(pa.RecordBatch.from_pydict({"id": np.arange(count), "words": words}))
    hashes, counts = hashes_of(lists.distinct), np.bincount(lists.numbers).astype(np.uint64)
    order = np.argsort(hashes)
    for partitions in _SHARES:
        homes = _by_rarest(lists, hashes[order], counts[order], partitions)
        visits = _by_words(lists, homes, messages)
        yield Row("window", "one word each, drawn evenly", f"prefix, {partitions}: visits", visits, "")


def _by_words(lists: Any, homes: NDArray[np.int64], messages: pa.Table) -> float:
    """The mean number of partitions with a subscription that has a word of a message."""
    words, masks = words_led(lists, bits_of(homes))
    order = np.argsort(words)
    sent = _lists(messages.combine_chunks().to_batches()[0])
    visited = Routes(words[order], masks[order]).visited(sent)
    return sum(mask.bit_count() for mask in visited.tolist()) / messages.num_rows


def _lists(batch: pa.RecordBatch) -> WordLists:
    return words_in(Fields(TableChunk(batch, np.arange(batch.num_rows))), PLAIN)


def _by_rarest(lists: WordLists, words: Any, counts: Any, partitions: int) -> NDArray[np.int64]:
    """The partition of each subscription by a hash of its rarest word."""
    hashes = hashes_of(lists.distinct)[rarest_words(lists, words, counts)]
    return (hashes % np.uint64(partitions)).astype(np.int64)


def _leaves(places: NDArray[np.float64], partitions: int) -> NDArray[np.int64]:
    """Leaves of a map with equal numbers of places; `partitions` is a power of two."""
    leaves = np.zeros(len(places), np.int64)
    groups = [np.arange(len(places))]
    for axis in range(partitions.bit_length() - 1):
        halves = []
        for group in groups:
            order = group[np.argsort(places[group, axis % 2], kind="stable")]
            halves += [order[: len(order) // 2], order[len(order) // 2 :]]
        groups = halves
    for number, group in enumerate(groups):
        leaves[group] = number
    return leaves


def _on_spark(load: WindowLoad, wanted: int, size: int, partitions: int, batch: int) -> Iterator[Row]:
    from tocsin import spark

    session = spark.local_session("local[2]", **{"spark.sql.shuffle.partitions": min(partitions, 8)})
    session.conf.set("spark.sql.shuffle.partitions", min(partitions, 8))
    with tempfile.TemporaryDirectory() as folder:
        _write(load.subscriptions(wanted), Path(folder, "subscriptions.parquet"))
        Path(folder, "messages").mkdir()
        for part in range(_BATCHES + 1):
            messages = load.messages(batch if part else size, part)
            path = Path(folder, "messages", f"{part:04d}.parquet")
            _write(messages.append_column("place", pa.array(np.arange(messages.num_rows))), path)
            os.utime(path, (1e9 + part, 1e9 + part))
        stream = session.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).parquet(f"{folder}/messages")
        subscriptions = session.read.parquet(f"{folder}/subscriptions.parquet")
        asked = spark.window(stream, subscriptions, size=size, bounds=BOUNDS, partitions=partitions, order="place")
        writer = asked.writeStream.format("noop").outputMode("update").option("checkpointLocation", f"{folder}/state")
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        name = f"{partitions} partitions, micro-batches of {batch:,}"
        yield from _told(query.recentProgress, Path(folder, "state", "state"), name, batch)


def _told(progress: list[Any], state: Path, name: str, batch: int) -> Iterator[Row]:
    steady = progress[1 : _BATCHES + 1]
    taken = [one["durationMs"]["triggerExecution"] / 1e3 for one in steady]
    operators = [one["stateOperators"][0] for one in steady]
    commits = median(one["commitTimeMs"] / 1e3 for one in operators)
    copied = median(one["customMetrics"]["rocksdbBytesCopied"] for one in operators)
    held = sum(path.stat().st_size for path in state.rglob("*") if path.is_file())
    yield Row("window", name, "Spark", batch / median(taken), "messages/s", "wall")
    yield Row(
        "window",
        name,
        "first micro-batch: the window is filled",
        progress[0]["durationMs"]["triggerExecution"] / 1e3,
        "s",
    )
    yield Row("window", name, "a micro-batch", median(taken), "s", f"{commits:.2f} s of commits, of all tasks together")
    yield Row("window", name, "state written a micro-batch", copied / 1e6, "MB", f"{held / 1e6:.1f} MB lie there")


def _write(table: pa.Table, path: Path) -> None:
    flat = table["location"].combine_chunks().flatten()
    places = pa.ListArray.from_arrays(pa.array(np.arange(table.num_rows + 1) * 2, pa.int32()), flat)
    pq.write_table(table.set_column(table.schema.get_field_index("location"), "location", places), path)
