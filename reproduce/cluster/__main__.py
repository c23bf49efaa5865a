"""Measure costs, check them against runs, and simulate a cluster of machines.

    python -m reproduce.cluster prepare FOLDER --subscriptions 1000000 3000000 --placements hash location keyword
    python -m reproduce.cluster costs FOLDER
    python -m reproduce.cluster check FOLDER
    python -m reproduce.cluster simulate FOLDER

Messages and subscriptions are those of `reproduce.messages`, with Zipfian words. FOLDER keeps data, indexes and
figures.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from benchmarks.jobs import job

import tocsin
from reproduce.cluster.lying import lies_of
from reproduce.cluster.measuring import JOBS, costs_of, in_a_worker
from reproduce.cluster.model import Cluster, Costs, Lies, Load, Taken, taken
from reproduce.messages import GROUPS, ZIPF
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.engine.loading import read_part
from tocsin.engine.sampling import first_batches
from tocsin.index import Part
from tocsin.index.elements import with_conditions
from tocsin.placement import PLACEMENTS
from tocsin.segment import IndexFolder
from tocsin.segment.outlines import bytes_of

EVENTS = 40_000
PARTS = 8
SAMPLED = 50_000
ROW_GROUP = 5_000
SIMULATED = (1_000_000, 10_000_000, 100_000_000)
EXECUTORS = (1, 2, 10, 100)
CORES = 4


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m reproduce.cluster", description=__doc__)
    parser.add_argument("step", choices=["prepare", "costs", "check", "simulate"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--subscriptions", type=int, nargs="+", default=[1_000_000])
    about = "each core an executor, in a process of its own"
    parser.add_argument("--executors", action="store_true", help=about)
    parser.add_argument("--placements", nargs="+", default=list(PLACEMENTS), choices=PLACEMENTS)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.step == "prepare":
        prepare(given.folder, given.subscriptions, given.placements, executors=given.executors)
    elif given.step == "costs":
        found = in_a_worker(pq.read_table(given.folder / "events.parquet").slice(0, ROW_GROUP))
        costs = costs_of(given.folder, EVENTS, found)
        told = {**asdict(costs), "matches": found.matches}
        (given.folder / "costs.json").write_text(json.dumps(told, indent=1) + "\n")
        print(json.dumps(told, indent=1))
    else:
        lines = (
            checks(given.folder, given.subscriptions, given.placements, executors=given.executors)
            if given.step == "check"
            else simulated(given.folder)
        )
        for line in lines:
            print(line, flush=True)
    return 0


def prepare(folder: Path, subscriptions: list[int], placements: list[str], *, executors: bool) -> None:
    """Write the data to match, and compile it on two cores."""
    pq.write_table(ZIPF.messages(GROUPS[0], EVENTS), folder / "events.parquet", row_group_size=ROW_GROUP)
    for count in subscriptions:
        path = folder / f"subscriptions-{count}.parquet"
        pq.write_table(ZIPF.subscriptions(count).table(), path, row_group_size=250_000)
        for name in placements:
            given: dict[str, Any] = {"subscriptions": count, "partitions": PARTS, "placement": name}
            given |= {"folder": str(folder), "index": str(folder / f"{name}-{count}"), "executors": executors}
            done = job(JOBS, "compiled", cores=2, **given)
            print(f"{name} of {count:,}: {json.dumps(done)}", flush=True)


def indexes_of(folder: Path) -> list[Path]:
    """The compiled indexes, each named by its placement and number of subscriptions."""
    return [path.parent for path in folder.glob("*-*/manifest.json")]


def known_costs(folder: Path) -> tuple[Costs, float]:
    """The measured costs, and the matches of an event for a million subscriptions."""
    told = json.loads((folder / "costs.json").read_text())
    matches = told.pop("matches")
    return Costs(**told), matches


def sample_of(folder: Path) -> tuple[Part, list[EventBatch], tocsin.Statistics]:
    """Subscriptions and events for examining placements."""
    part, _ = read_part(ZIPF.subscriptions(SAMPLED, seed=3).table())
    wanted = Wanted(part.compiled.attributes)
    events = pq.read_table(folder / "events.parquet")
    batches = [with_conditions(one, wanted) for one in first_batches(events, wanted)]
    return part, batches, tocsin.sample(events)


def load_of(folder: Path, subscriptions: int, matches: float, bytes_a_subscription: float) -> Load:
    size = pq.read_table(folder / "events.parquet").nbytes / EVENTS
    return Load(EVENTS, subscriptions, matches, size, bytes_a_subscription)


def checks(folder: Path, subscriptions: list[int], placements: list[str], *, executors: bool) -> Iterator[str]:
    """Match each selected index on one core and on two, and compare with the model."""
    costs, matches = known_costs(folder)
    part, batches, statistics = sample_of(folder)
    yield "| index | routing | cores | CPU s | model | seconds | model | GB |\n|---|---|---|---|---|---|---|---|"
    for index in sorted(indexes_of(folder), key=lambda one: one.name):
        name, count = index.name.split("-")
        if int(count) not in subscriptions or name not in placements:
            continue
        held = IndexFolder.read(index)
        size = bytes_of(held) / (held.subscriptions + held.copies)
        load = load_of(folder, held.subscriptions, matches, size)
        lies = lies_of(part, name, PARTS, statistics, batches)
        for routing in ("local", "shuffle"):
            for cores in (1, 2):
                found = run_of(folder, index, routing, cores, executors=executors)
                said = taken(load, lies, Cluster(1, cores), costs, routing)
                yield (
                    f"| {name}, {int(count):,} | {routing} | {cores} | {found['cpu']:.1f} | "
                    f"{said.cpu:.1f} ({said.cpu / found['cpu']:.2f}) | {found['seconds']:.1f} | "
                    f"{said.seconds:.1f} ({said.seconds / found['seconds']:.2f}) | {found['memory'] / 1e9:.1f} |"
                )


def run_of(folder: Path, index: Path, routing: str, cores: int, *, executors: bool) -> dict[str, float]:
    """The times of a run, which is made once and then stored."""
    kept = folder / "runs.json"
    runs: dict[str, dict[str, float]] = json.loads(kept.read_text()) if kept.exists() else {}
    name = f"{index.name} {routing} {cores}{' executors' if executors else ''}"
    if name not in runs:
        given: dict[str, Any] = {"folder": str(folder), "index": str(index), "executors": executors}
        runs[name] = job(JOBS, "matched", cores=cores, routing=routing, **given)
        kept.write_text(json.dumps(runs, indent=1) + "\n")
    return runs[name]


def simulated(folder: Path) -> Iterator[str]:
    """Each placement on clusters of several sizes, for a million events."""
    costs, matches = known_costs(folder)
    part, batches, statistics = sample_of(folder)
    bytes_a_subscription = measured_bytes(folder)
    yield "| placement | parts | visits an event | copies | busiest / mean |\n|---|---|---|---|---|"
    lies: dict[tuple[str, int], Lies] = {}
    for parts in sorted({PARTS, *(CORES * executors for executors in EXECUTORS)}):
        for name in PLACEMENTS:
            lies[name, parts] = own = lies_of(part, name, parts, statistics, batches)
            yield f"| {name} | {parts} | {own.visits:.2f} | {own.copies:.2f} | {own.balance:.2f} |"
    yield ""
    yield f"| subscriptions | placement | {' | '.join(f'{one} x {CORES} cores' for one in EXECUTORS)} |"
    yield f"|---|---|{'---|' * len(EXECUTORS)}"
    for subscriptions in SIMULATED:
        load = load_of(folder, subscriptions, matches, bytes_a_subscription)._replace(events=1_000_000)
        for name in PLACEMENTS:
            cells = [best(load, name, executors, lies, costs) for executors in EXECUTORS]
            told = [f"{load.events / one.seconds:,.0f} ({one.routing})" for one in cells]
            yield f"| {subscriptions:,} | {name} | {' | '.join(told)} |"


def best(load: Load, name: str, executors: int, lies: dict[tuple[str, int], Lies], costs: Costs) -> Taken:
    """The planner's choice: few parts if the index fits a machine, otherwise one per core."""
    cluster = Cluster(executors, CORES)
    few = taken(load, lies[name, PARTS], cluster, costs)
    return few if few.routing == "local" else taken(load, lies[name, CORES * executors], cluster, costs, "shuffle")


def measured_bytes(folder: Path) -> float:
    """The bytes of a subscription, in the largest index available."""
    held = [IndexFolder.read(index) for index in indexes_of(folder)]
    largest = max(held, key=lambda one: one.subscriptions)
    return bytes_of(largest) / (largest.subscriptions + largest.copies)


if __name__ == "__main__":
    sys.exit(main())
