"""The load of windows on partitions, by the four mechanisms of the Skype paper, and what executors would make of it.

    python -m reproduce.cluster.windows --subscriptions 20000 --size 10000

Every partition's work of a micro-batch is done here, one after the other, and its CPU time is measured: the task that
numbers, the parts, and the homes that merge lists of copies. On E executors of one core, the partitions are shared out,
the largest first, and a stage lasts as long as its busiest executor. A micro-batch also takes a fixed time of Spark for
each stateful operator. The model leaves out what rows cost on their way through Spark, and the writing of state.
"""

from __future__ import annotations

import argparse
import heapq
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from benchmarks.window_workload import BOUNDS, WindowLoad

from tocsin.placement import HASH
from tocsin.placement.hashing import hashes_of_ids
from tocsin.spark.windows.answering import Answer, answer
from tocsin.spark.windows.copies import PLACEMENTS, Placing
from tocsin.spark.windows.edits import DICE
from tocsin.spark.windows.keeping import Kept
from tocsin.spark.windows.merging import Home, Reported, by_home
from tocsin.spark.windows.numbering import Numbering
from tocsin.spark.windows.packets import Packet, bytes_of
from tocsin.spark.windows.placing import Counting, Counts, Dealing, checked, placing_of
from tocsin.spark.windows.routing import MOST, Routes
from tocsin.spark.windows.settings import Settings
from tocsin.window.parts import COPIES

PARTITIONS: Final = (1, 2, 4, 8, 16, 64)
EXECUTORS: Final = (1, 2, 4, 8, 16, 100)
BATCH: Final = 4096
BATCHES: Final = 3
SPARK_S: Final = 1.5
"""The fixed seconds of a micro-batch with one stateful operator (docs/results/windows.md)."""


class Chunks(dict[str, bytes]):
    """The state of a partition, in memory."""

    def put(self, name: str, data: bytes) -> None:
        self[name] = data

    def remove(self, name: str) -> None:
        del self[name]


class Work(NamedTuple):
    """The work of a placement. Times are CPU seconds of a micro-batch. P partitions."""

    copies: float  # of a subscription
    visits: float  # partitions that a message goes to
    balance: float  # messages of the busiest partition over the mean
    numbering: float
    parts: list[float]  # (P,)
    homes: list[float]  # (P,) or empty

    def seconds(self, executors: int, fixed_s: float = SPARK_S) -> float:
        """The time of a micro-batch on executors of one core; each stateful operator takes `fixed_s` besides."""
        operators = 2 if self.homes else 1
        work = busiest(self.parts, executors) + busiest(self.homes, executors)
        return operators * fixed_s + self.numbering + work


def busiest(times: list[float], executors: int) -> float:
    """The time of the busiest executor, if the largest pieces are dealt first, each to the least busy one."""
    loads = [0.0] * executors
    for piece in sorted(times, reverse=True):
        heapq.heapreplace(loads, loads[0] + piece)
    return max(loads)


class Partitions:
    """All partitions of a window, and their homes."""

    def __init__(self, placement: str, partitions: int, table: pa.Table, size: int) -> None:
        settings = Settings(size, None, BOUNDS, {}, "plain", "blocks", partitions, placement, "int64", None)
        dice = hashes_of_ids(table["id"].combine_chunks()).view(np.int64)
        batch = table.append_column(DICE, pa.array(dice)).combine_chunks().to_batches()[0]
        content = checked(batch, settings)

        def count(of: Counting, gathered: str) -> Counts:
            words, numbers = of(content, dice)
            places, inverse = np.unique(words, return_inverse=True)
            sums = np.zeros(len(places), np.uint64)
            (np.add if gathered == "sum" else np.bitwise_or).at(sums, inverse, numbers.astype(np.uint64))
            return places, sums

        placing = Placing(HASH, partitions, Routes.everywhere(partitions))
        if placement != HASH:
            placing = placing_of(settings, count, changes=False)
        rows, homes, masks = Dealing(placing).dealt(batch, content)
        copies = table.take(pa.array(rows)).append_column(COPIES, pa.array(masks.view(np.int64)))
        self.copies = len(rows) / table.num_rows
        self.settings = Settings(
            size, None, BOUNDS, {}, "plain", "blocks", partitions, placement, "int64", None, has_homes=placing.is_shared
        )
        self.numbering = Numbering(self.settings, placing)
        self.chunks = [Chunks() for _ in range(partitions)]
        self.homes = [Chunks() for _ in range(partitions)]
        for partition, chunks in enumerate(self.chunks):
            if (homes == partition).any():
                Kept(chunks).give(0, bytes_of(copies.filter(pa.array(homes == partition))))

    def push(self, messages: pa.Table) -> Work:
        """Push a micro-batch, and measure its work."""
        batch = messages.combine_chunks().to_batches()[0]
        packets, numbering = timed(lambda: list(self.numbering.packets(batch)))
        sent = np.array([len(packet.sent.positions) for packet in packets])
        answers, parts = list[Answer](), list[float]()
        for partition, packet in enumerate(packets):
            done, spent = timed(lambda at=partition, packet=packet: self._answer(at, packet))
            answers.append(done)
            parts.append(spent)
        homes = self._merge(answers) if self.settings.has_homes else []
        visits = float(sent.sum()) / batch.num_rows
        return Work(self.copies, visits, float(sent.max() / max(sent.mean(), 1e-9)), numbering, parts, homes)

    def _answer(self, partition: int, packet: Packet) -> Answer:
        return answer(partition, [packet], Kept(self.chunks[partition]), self.settings)

    def _merge(self, answers: list[Answer]) -> list[float]:
        count = self.settings.partitions
        reports: list[list[Reported]] = [[] for _ in range(count)]
        for done in answers:
            for home, rows in by_home(pa.concat_tables(done.reported), count).items() if done.reported else ():
                reports[home].append(Reported(rows, done.taken))
        homes = zip(self.homes, reports, strict=True)
        return [timed(lambda c=chunks, r=rows: Home(c, self.settings).answered([], r))[1] for chunks, rows in homes]


def timed(step: Any) -> tuple[Any, float]:
    """The result of a step, and its CPU seconds."""
    began = time.process_time()
    return step(), time.process_time() - began


def measured(placement: str, partitions: int, subscriptions: int, size: int) -> Work:
    """The work of a micro-batch after the window is full: that of the least total of several."""
    load = WindowLoad()
    window = Partitions(placement, partitions, load.subscriptions(subscriptions), size)
    window.push(load.messages(size))
    works = [window.push(load.messages(BATCH, part)) for part in range(1, BATCHES + 1)]
    return min(works, key=lambda work: sum(work.parts) + sum(work.homes))


def lines(placements: Sequence[str], partitions: Sequence[int], subscriptions: int, size: int) -> Iterator[str]:
    """A table of loads, and tables of simulated throughputs: of small micro-batches, and of ever larger ones."""
    works = {(name, count): measured(name, count, subscriptions, size) for name in placements for count in partitions}
    times = "numbering | parts | busiest | homes"
    yield f"| placement | partitions | copies | messages per partition | busiest / mean | {times} |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for (name, count), work in works.items():
        yield (
            f"| {name} | {count} | {work.copies:.2f} | {work.visits / count:.0%} | {work.balance:.2f} | "
            f"{work.numbering:.3f} | {sum(work.parts):.2f} | {max(work.parts):.2f} | {sum(work.homes):.2f} |"
        )
    for fixed_s in (SPARK_S, 0.0):
        yield ""
        yield f"Messages a second, with {fixed_s} s of Spark for each stateful operator:"
        yield ""
        yield f"| placement | partitions | {' | '.join(f'{count} executors' for count in EXECUTORS)} |"
        yield f"|---|---|{'---|' * len(EXECUTORS)}"
        for (name, count), work in works.items():
            rates = [f"{BATCH / work.seconds(executors, fixed_s):,.0f}" for executors in EXECUTORS]
            yield f"| {name} | {count} | {' | '.join(rates)} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m reproduce.cluster.windows", description=__doc__)
    parser.add_argument("--subscriptions", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--placements", nargs="+", choices=PLACEMENTS, default=PLACEMENTS)
    parser.add_argument(
        "--partitions", nargs="+", type=int, choices=range(1, MOST + 1), default=PARTITIONS, metavar="N"
    )
    options = parser.parse_args()
    for line in lines(options.placements, options.partitions, options.subscriptions, options.size):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
