"""Whatever the placement, an index answers as one process does: every ranking, any partitions, changes flowing.

What tasks run is plain functions; but for the last test they run here without Spark.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tocsin
import tocsin.spark as tocsin_spark
from tests.naive.changes import Changing
from tests.sizes import sized
from tests.spark.test_families import EVENTS, RANKINGS, SCHEMA, TEXTS, answers, expected
from tocsin.errors import InvalidInput, SegmentError
from tocsin.index import choose
from tocsin.index.statistics import together
from tocsin.placement import PLACEMENTS, Placement, planned
from tocsin.records.changes import read_changes
from tocsin.segment import IndexFolder, Publication
from tocsin.segment.amending import amend
from tocsin.segment.compacting import compact
from tocsin.segment.folder import saved_statistics
from tocsin.segment.placed import KEYS_FILE, Placed
from tocsin.spark.answering import MatchOptions
from tocsin.spark.compiling import compile_partition
from tocsin.spark.counting import counted
from tocsin.spark.names import PARTITION
from tocsin.spark.placing import deal, least_hashed, part_of

SUBSCRIPTIONS = [
    {"id": f"s{number}", "where": text, "score": number % 5.0}
    for number, text in enumerate(text for texts in TEXTS.values() for text in texts)
]
DOUBLED = {"id": "s3", "where": "z > 1", "score": 1.0}
BAD = {"id": "bad", "where": "n = ", "score": 1.0}


def compiled(folder: Path, records: list[dict[str, Any]], placement: Placement) -> dict[str, int]:
    """What `spark.compile` does with a placement, without Spark."""
    rows = deal(pa.Table.from_pylist(records), placement)
    counts = {"accepted": 0, "rejected": 0, "copies": 0}
    with Publication(folder) as new:
        places = []
        for number in sorted(set(rows[PARTITION].to_pylist())):
            own = rows.filter(pc.equal(rows[PARTITION], number))
            (written,) = compile_partition(own, folder, new.version, choose(), placement.name).to_pylist()
            counts = {name: count + written[name] for name, count in counts.items()}
            home = None if placement.name == "hash" else number
            places += [new.place(number, home)] if written["accepted"] else []
        accepted = counts["accepted"] - counts["copies"]
        placed = Placed.of(placement, counts["copies"], new.write_placement(placement))
        known = new.write_statistics(placement.statistics)
        new.publish(places, accepted, "string", placed=None if placement.name == "hash" else placed, statistics=known)
    return counts


def placement_for(name: str, partitions: int) -> Placement:
    return planned(part_of(pa.Table.from_pylist(SUBSCRIPTIONS)), name, partitions, tocsin.sample(EVENTS)).placement


@pytest.mark.parametrize("name", PLACEMENTS)
def test_every_placement_answers_in_any_number_of_partitions(tmp_path: Path, name: str) -> None:
    """Every ranking; asked whole, by one process, each subscription counts once."""
    wanted = expected(SUBSCRIPTIONS)

    for partitions in sized((1, 7), (1, 2, 7, 16)):
        folder = tmp_path / str(partitions)
        counts = compiled(folder, [*SUBSCRIPTIONS, DOUBLED, BAD], placement_for(name, partitions))

        assert (counts["accepted"] - counts["copies"], counts["rejected"]) == (len(SUBSCRIPTIONS), 2)
        assert answers(folder) == wanted
        assert tocsin.match(folder, EVENTS).table.to_pylist() == tocsin.match(SUBSCRIPTIONS, EVENTS).table.to_pylist()
        assert len(tocsin.Engine.load(folder)) == len(SUBSCRIPTIONS)
    assert (counts["copies"] > 0) == (name in ("location", "keyword", "access"))


@pytest.mark.parametrize("name", PLACEMENTS)
def test_every_placement_takes_changes(tmp_path: Path, name: str) -> None:
    """Inserts, updates, deletes and scores of all copies, placed and merged at the end: like a dictionary."""
    compiled(tmp_path, SUBSCRIPTIONS[:80], placement_for(name, 5))
    oracle = Changing(SUBSCRIPTIONS[:80])
    dice = random.Random(name)
    for version in range(1, 7):
        batch = []
        for one in dice.sample([one["id"] for one in SUBSCRIPTIONS], 25):
            change = dice.choice(["insert", "update", "delete", "rescore"])
            where = dice.choice(SUBSCRIPTIONS)["where"] if change in ("insert", "update") else None
            score = float(dice.randint(0, 9)) if change != "delete" else None
            batch.append({"id": one, "change": change, "version": version, "where": where, "score": score})
        amend(tmp_path, read_changes(pa.Table.from_pylist(batch)), choose())
        oracle.take(batch, lambda _: True)
    if name != "hash":
        homes = [place.home for place in IndexFolder.read(tmp_path).parts]
        assert all(home is not None for home in homes)
        assert max(homes.count(home) for home in homes) >= 4  # several parts of one home, to be merged
    now = [{"id": one, "where": where, "score": score} for one, (where, score) in sorted(oracle.subscriptions.items())]

    wanted = expected(now)
    for _ in range(2):
        assert answers(tmp_path) == wanted
        compact(tmp_path, choose())
    assert IndexFolder.read(tmp_path).subscriptions == len(now)
    homes = [place.home for place in IndexFolder.read(tmp_path).parts]
    assert name == "hash" or max(homes.count(home) for home in homes) < 4


def test_keys_that_are_damaged_are_refused(tmp_path: Path) -> None:
    compiled(tmp_path, SUBSCRIPTIONS, placement_for("access", 2))
    folder = IndexFolder.read(tmp_path)
    (place, *_) = [part.path for part in folder.parts if (tmp_path / part.path / KEYS_FILE).exists()]
    path = tmp_path / place / KEYS_FILE
    data = bytearray(path.read_bytes())
    with np.load(path) as stored:
        data[data.index(stored["keys"][-1].tobytes())] ^= 0xFF

    path.write_bytes(data)
    with pytest.raises(SegmentError, match=r"keys\.npz is damaged"):
        folder.open()


def test_a_sample_is_the_same_however_rows_lie() -> None:
    table = pa.Table.from_pylist([*SUBSCRIPTIONS, {"id": None, "where": "x", "score": 0.0}])
    one = least_hashed(table.to_batches(), 20)
    several = least_hashed(table.take(pa.array(range(len(table) - 1, -1, -1))).to_batches(max_chunksize=7), 20)

    assert one is not None
    assert several is not None
    assert sorted(one["id"].to_pylist(), key=str) == sorted(several["id"].to_pylist(), key=str)


def test_statistics_of_lots_are_those_of_all() -> None:
    """Shares of all events; values of the first of each task, as if they had been sampled at once."""
    asked = MatchOptions(tuple(EVENTS.column_names), tuple(EVENTS.column_names))
    batches = EVENTS.combine_chunks().to_batches(max_chunksize=7)

    some = together([counted(batches[:3], asked, 5), counted(batches[3:], asked, 100)])
    whole = tocsin.sample(EVENTS)

    assert some.shares == pytest.approx(whole.shares)
    assert some.events == whole.events
    assert 0 < some.values["m"].events < whole.values["m"].events
    every = together([counted(batches[:3], asked, 99), counted(batches[3:], asked, 99)])
    assert sorted(every.values["m"].payloads[0].tolist()) == sorted(whole.values["m"].payloads[0].tolist())


@pytest.mark.spark
def test_spark_places_and_routes(spark: Any, tmp_path: Path) -> None:
    """Compiled, reported, matched, changed and compiled anew under another placement, on Spark."""
    frame = spark.createDataFrame(
        [tuple(one.values()) for one in [*SUBSCRIPTIONS, BAD]], "id string, where string, score double"
    )
    events = spark.createDataFrame(EVENTS.to_pylist(), SCHEMA)
    keyed = events.selectExpr("monotonically_increasing_id() key", "*")
    wanted = expected(SUBSCRIPTIONS)[RANKINGS.index(None)]

    statistics = tocsin_spark.statistics(events, sample=10)
    assert statistics.shares == pytest.approx(tocsin.sample(EVENTS).shares)

    for name in ("access", "location", "auto"):
        known = statistics if name == "access" else None  # it is saved
        report = tocsin_spark.compile(frame, tmp_path, partitions=3, placement=name, statistics=known, sample=100)
        matched = tocsin_spark.match(keyed, tmp_path, attributes=EVENTS.column_names).orderBy("key").collect()

        assert (report.accepted, report.rejected) == (len(SUBSCRIPTIONS), 1)
        assert 0 < report.largest < 1
        assert saved_statistics(tmp_path).shares == statistics.shares
        assert [[tuple(match) for match in row["matches"]] for row in matched] == wanted
    planned_report = tocsin_spark.plan(frame, partitions=4, placement="keyword", events=events)
    assert planned_report.copies >= 1
    assert planned_report.visits is not None
    assert any("keyword: 4 partitions" in line for line in planned_report.lines())
    with pytest.raises(InvalidInput, match="sample is 0"):
        tocsin_spark.plan(frame, sample=0)
    with pytest.raises(InvalidInput, match="placement is 'x'"):
        tocsin_spark.compile(frame, tmp_path, placement="x")
