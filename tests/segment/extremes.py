"""A process that plants extremes in the arrays of a segment, asks it all questions, and tells what got through.

    python -m tests.segment.extremes FOLDER LOAD TRIALS

A load is an index (`scan`, `access`, ...); `dense`, alerts on flights, which `access` keeps under several attributes;
or `regions`, regions with keywords in `token_grid`. The texts of the last two are compressed.

Each trial puts the least, the greatest or an odd value into the first, the last, some or all places of one array, with
checksums that fit. The segment is then refused, or every question, a merge and every text of it must go well. Trials
run in forks, so that one which crashes is one line of output. No line: all is well.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

import tocsin
from tests.index.boolean.access.test_compounds import alert, flight
from tests.segment.regions import message, region
from tests.segment.samples import Damaged, build
from tests.segment.spoiling import ASKED, RECORDS, Spoil, one_of, report
from tocsin.columns.compressed import CompressedTexts
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.objects import encode_objects
from tocsin.engine.sources import SegmentSource
from tocsin.engine.store import Store
from tocsin.errors import SegmentError
from tocsin.index import choose
from tocsin.records import subscription_of
from tocsin.segment import Segment, Snapshots, merged, open_segment, require_suitable, write_segment
from tocsin.segment.storage import segment_manifest

ODD: Final = (0, 1, -1, -2, -3, 2, 3, 5, 7, 8, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**40)
FLOATS: Final = (np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0, -0.0, 5e-324)
OTHERS: Final = (
    {"id": "zz1", "where": "n > 3 AND s = 'q'"},
    {"id": "zz2", "where": "s IN ('a', 'b', 'zz') OR A_OVERLAPS(l, ('w1', 3))"},
)

DICE: Final = random.Random(7)
ALERTS: Final = [{"id": f"f{number:03}", "where": alert(DICE)} for number in range(400)]
FLIGHTS: Final = [flight(DICE) for _ in range(60)]
REGIONS: Final = [{"id": f"r{number:03}", "where": region(DICE)} for number in range(400)]
MESSAGES: Final = [message(DICE) for _ in range(60)]
LOADS: Final[dict[str, tuple[str, Any, Any]]] = {
    "dense": ("access", ALERTS, FLIGHTS),
    "regions": ("token_grid", REGIONS, MESSAGES),
}


class Planted(Damaged):
    """A segment under any index, with payloads and weights and one that is gone; `harm` asks it everything."""

    def __init__(self, folder: Path, load: str) -> None:
        self.folder = folder
        index, records, self.events = LOADS.get(load, (load, RECORDS, ASKED))
        self.plan = choose(index)
        segment = build([_rich(number, record) for number, record in enumerate(records) if self._holds(record)], index)
        if load in LOADS:
            segment = replace(segment, sources=CompressedTexts.of_arrow(segment.sources.arrow()))
        store = Store([SegmentSource(segment)])
        store.remove(segment.id_of(3))
        with store.reading() as snapshots:
            snapshots.find(self._batch(snapshots), tocsin.Relaxed(3))  # so that its structure is saved, too
            write_segment(next(iter(snapshots)).as_segment(self.plan), folder)
        self.manifest = segment_manifest(folder)
        self.other = build(OTHERS)

    def _holds(self, record: Any) -> bool:
        try:
            require_suitable(self.plan, subscription_of(record))
        except tocsin.UnsuitableIndex:
            return False
        return True

    def harm(self) -> str:
        """What opening and asking does beyond refusing the segment; empty for nothing."""
        try:
            segment = open_segment(self.folder)
            self._ask(segment)
        except SegmentError:
            return ""
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            return f"raised {error!r:.200}"
        return ""

    def _ask(self, segment: Segment) -> None:
        snapshots = Snapshots.of([segment])
        for ranking in (None, tocsin.Top(3), tocsin.Relaxed(3), tocsin.Similar(0.5, 0.3)):
            found = snapshots.find(self._batch(snapshots), ranking)
            assert not len(found.subscriptions) or max(found.subscriptions.tolist()) < len(segment)
        for number in range(0, len(segment), 40):
            segment.place(number)
        next(iter(snapshots)).records()
        both = merged([*snapshots, *Snapshots.of([self.other])], choose("auto"))[0]
        again = Snapshots.of([both])
        again.find(self._batch(again))

    def _batch(self, snapshots: Snapshots) -> EventBatch:
        return encode_objects(enumerate(self.events), snapshots.wanted)


def _rich(number: int, record: Any) -> dict[str, Any]:
    """The record with a payload, and weights where it has dimensions to weigh."""
    weights = {"weights": {"n": 1.0 + number, "m": 2.0}} if record["id"].startswith("j") else {}
    return {**record, **({"payload": {"to": number}, **weights} if number % 3 == 0 else {})}


def extremes(damaged: Damaged, trials: int, seed: str) -> Iterator[tuple[str, Spoil]]:
    """Every array gets its turn, the rest is drawn."""
    rng = random.Random(seed)
    names = [name for name in damaged.manifest["arrays"] if damaged.array(name).size]
    rng.shuffle(names)
    for trial in range(trials):
        name = names[trial % len(names)]
        array = damaged.array(name)
        value = rng.choice(_values(array))
        size = array.size
        place: Any = rng.choice([0, size - 1, rng.randrange(size), rng.randrange(size), slice(None)])
        yield f"{name}[{place}] = {value}", one_of(name, place, value)


def _values(array: np.ndarray) -> list[Any]:
    if array.dtype.kind == "f":
        return list(FLOATS)
    if array.dtype.kind == "b":
        return [True, False]
    limits, size = np.iinfo(array.dtype), array.size
    odd = [limits.min, limits.max, limits.max - 1, *ODD, size, size - 1, size + 1, 2 * size]
    return [value for value in odd if limits.min <= value <= limits.max]


def main(folder: Path, load: str, trials: int) -> None:
    damaged = Planted(folder, load)
    assert damaged.harm() == ""  # compiles every kernel before the forks
    report(damaged, list(extremes(damaged, trials, load)), Planted.harm)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
