"""What is known of the events, and where subscriptions lie, is saved with an index, and whoever changes it goes by it.

What tasks run is plain functions; none of this needs Spark.
"""

from __future__ import annotations

import json
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import tocsin
from tests.spark.test_placements import compiled
from tocsin.columns.events.tables import encode_table
from tocsin.columns.events.wanted import Wanted
from tocsin.errors import SegmentError
from tocsin.index import Statistics, choose
from tocsin.index.elements import with_conditions
from tocsin.index.fields.kernels.layouts import CELL
from tocsin.index.statistics import Values, together
from tocsin.placement import PLACEMENTS, Router, planned
from tocsin.records.changes import read_changes
from tocsin.segment import IndexFolder, open_index, write_index
from tocsin.segment.amending import amend
from tocsin.segment.builder import SegmentBuilder
from tocsin.segment.compacting import compact
from tocsin.segment.folder import saved_statistics
from tocsin.segment.storage import write_manifest
from tocsin.segment.stored_statistics import read_statistics, write_statistics
from tocsin.spark.placing import part_of

EVENTS: list[dict[str, Any]] = [
    {
        "n": float(n),
        "s": f"s{n % 7}",
        "b": n % 2 == 0,
        "at": f"2026-01-{n % 28 + 1:02d}T00:00:00Z",
        "words": ["a", "b"],
        "place": [n % 7, n],
    }
    for n in range(50)
]
MAP = [
    {"id": f"m{x:02d}-{y:02d}", "where": f"S_INTERSECTS(place, BBOX({x}, {y}, {x}.5, {y}.5))", "score": 1.0}
    for x in range(24)
    for y in range(24)
]
POINTS = pa.Table.from_pylist([{"place": [n % 23 + 0.7, n % 19 + 0.3]} for n in range(60)])


def equal(one: Statistics, other: Statistics) -> None:
    assert (one.shares, one.source, one.events) == (other.shares, other.source, other.events)
    assert sorted(one.values) == sorted(other.values)
    for name, values in one.values.items():
        assert values.events == other.values[name].events
        assert {kind: list(own) for kind, own in values.texts.items()} == dict(other.values[name].texts)
        theirs = {kind: own.tolist() for kind, own in other.values[name].payloads.items()}
        assert {kind: own.tolist() for kind, own in values.payloads.items()} == theirs
        assert (values.places is None) == (other.values[name].places is None)
        if values.places is not None and other.values[name].places is not None:
            for mine, its in zip(astuple(values.places), astuple(other.values[name].places), strict=True):
                assert np.array_equal(mine, its)


def insert(folder: Path, records: list[dict[str, Any]], version: int = 1) -> None:
    rows = [{**one, "change": "insert", "version": version} for one in records]
    amend(folder, read_changes(pa.Table.from_pylist(rows)), choose())


def test_what_is_known_of_events_is_saved(tmp_path: Path) -> None:
    """Shares and values of every type, by whoever writes an index; changes and merges keep them."""
    known = tocsin.sample(EVENTS)
    segment = SegmentBuilder().finish(choose("auto", known))
    write_index(tmp_path / "one", segment)
    with tocsin.Engine(statistics=known) as engine:
        engine.subscribe("a", "n = 1")
        engine.save(tmp_path / "two")

    for folder in (tmp_path / "one", tmp_path / "two"):
        for number in range(5):
            insert(folder, [{"id": f"x{number}", "where": "n > 2", "score": 1.0}])
        assert compact(folder, choose(), keep_s=0) == 1
        found = saved_statistics(folder)
        assert found is not None
        equal(found, known)
    assert len(tocsin.Engine.load(tmp_path / "two").stats.plan.statistics.shares) == 6
    assert saved_statistics(tmp_path / "nowhere") is None


def test_the_first_changes_save_what_they_know(tmp_path: Path) -> None:
    rows = pa.Table.from_pylist([{"id": "a", "change": "insert", "version": 1, "where": "n = 1"}])
    amend(tmp_path, read_changes(rows), choose("auto", tocsin.sample(EVENTS)))

    assert saved_statistics(tmp_path) is not None


def test_many_samples_are_kept_thin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every so many values, as of so many fewer events: each value is as frequent as before."""
    monkeypatch.setattr("tocsin.index.statistics._MOST_VALUES", 100)
    several = [Statistics({"a": 1.0}, "", 60, {"a": Values(60, {0: np.repeat([1, 2], 30)}, {})}) for _ in range(10)]

    values = together(several).values["a"]

    assert values.events == 100
    assert np.bincount(values.payloads[0]).tolist() == [0, 50, 50]


def test_statistics_from_before_there_were_histograms_are_read(tmp_path: Path) -> None:
    known = tocsin.sample(EVENTS)
    write_statistics(tmp_path / "new", known)
    table = pq.read_table(tmp_path / "new")
    pq.write_table(table.filter(pc.fill_null(pc.not_equal(table["kind"], CELL), fill_value=True)), tmp_path / "old")

    equal(read_statistics(tmp_path / "new"), known)
    bare = {name: replace(values, places=None) for name, values in known.values.items()}
    equal(read_statistics(tmp_path / "old"), replace(known, values=bare))


@pytest.mark.parametrize(
    "numbers", [[], [64], [64, 9, 1], [300, 9, 0, 0, 1], [64, 9, 0, 0, 0], [64, 9, 0, 0, 10], None]
)
def test_a_histogram_that_is_damaged_is_refused(tmp_path: Path, numbers: list[int] | None) -> None:
    write_statistics(tmp_path / "file", tocsin.sample(EVENTS))
    rows = pq.read_table(tmp_path / "file")
    spoilt = [row | {"payloads": numbers} if row["kind"] == CELL else row for row in rows.to_pylist()]
    pq.write_table(pa.Table.from_pylist(spoilt, rows.schema), tmp_path / "file")

    with pytest.raises(SegmentError, match="file is damaged or missing"):
        read_statistics(tmp_path / "file")


@pytest.mark.parametrize("name", ["statistics.parquet", "placement.npz"])
def test_what_is_damaged_is_refused_by_who_needs_it(tmp_path: Path, name: str) -> None:
    """Matching does not; where the next subscriptions lie does, and says which file, and what to do."""
    placement = planned(part_of(pa.Table.from_pylist(MAP)), "location", 4, tocsin.sample(EVENTS)).placement
    compiled(tmp_path, MAP, placement)
    (file,) = tmp_path.glob(f"version-*/{name}")
    file.write_bytes(b"nothing of the kind")

    assert tocsin.match(tmp_path, POINTS).table.num_rows == tocsin.match(MAP, POINTS).table.num_rows
    with pytest.raises(SegmentError, match=f"{name} is damaged or missing"):
        insert(tmp_path, [{"id": "x", "where": "n = 1", "score": 1.0}])


@pytest.mark.parametrize(
    "edit",
    [
        {"counts": np.array([0, 1])},
        {"counts": np.array([1, 1, 1])},
        {"starts": np.array([0, 2])},
        {"partitions": np.array([9] * 99)},
        {"lots": np.empty(0, np.int64)},
        {"keys": np.array([1.0])},
    ],
)
def test_a_placement_that_leads_nowhere_is_refused(tmp_path: Path, edit: dict[str, Any]) -> None:
    placement = planned(part_of(pa.Table.from_pylist(MAP)), "access", 4).placement
    compiled(tmp_path, MAP, placement)
    (file,) = tmp_path.glob("version-*/placement.npz")
    with np.load(file) as stored:
        arrays = {name: stored[name] for name in stored}
    np.savez(file, **{**arrays, **edit})

    with pytest.raises(SegmentError, match=r"placement.npz is damaged"):
        IndexFolder.read(tmp_path).placement()


@pytest.mark.parametrize("name", [one for one in PLACEMENTS if one != "hash"])
def test_a_placement_comes_back_as_it_was(tmp_path: Path, name: str) -> None:
    records = [*MAP, {"id": "w", "where": "A_CONTAINS(words, ('a', 'w3')) AND s = 's3'", "score": 1.0}]
    part = part_of(pa.Table.from_pylist(records))
    placement = planned(part, name, 5, tocsin.sample(EVENTS)).placement
    compiled(tmp_path, records, placement)

    again = IndexFolder.read(tmp_path).placement()

    assert again == placement
    for one, other in zip(again.assign(part), placement.assign(part), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("partitions", [4, 64])
def test_what_changes_bring_is_visited_by_those_it_concerns(tmp_path: Path, partitions: int) -> None:
    """Of what comes later as of what was compiled: a point visits few parts, and finds what one process does."""
    first, later = MAP[::2], MAP[1::2]
    compiled(tmp_path, first, planned(part_of(pa.Table.from_pylist(first)), "location", partitions).placement)
    for number in range(4):
        insert(tmp_path, later[number::4])
    folder = IndexFolder.read(tmp_path)
    parts = folder.held()
    late = [part for part in parts if part.versions is not None]
    wanted = Wanted(["place"])
    batch = with_conditions(encode_table(POINTS.combine_chunks().to_batches()[0], wanted), wanted)

    visits = Router(
        [part.signs and part.signs.keys for part in late], np.array(folder.placed.splits), ["place"]
    ).visits(batch)

    assert 16 <= len(late) <= 4 * 16
    assert visits.sum(axis=1).max() <= 8  # of 16 or 64
    assert folder.open().find(batch).starts.tolist() == open_index(tmp_path).find(batch).starts.tolist()
    assert tocsin.match(tmp_path, POINTS).table.to_pylist() == tocsin.match(MAP, POINTS).table.to_pylist()


def test_an_index_of_before_is_changed_as_before(tmp_path: Path) -> None:
    """Without the file of its placement, what is new is a part that every event visits."""
    compiled(tmp_path, MAP, planned(part_of(pa.Table.from_pylist(MAP)), "location", 4).placement)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest.pop("crc32")
    del manifest["placement"]["file"], manifest["statistics"]
    manifest["parts"] = [part[:2] for part in manifest["parts"]]
    write_manifest(path, manifest)

    for number in range(4):
        insert(tmp_path, [{"id": f"x{number}", "where": "S_INTERSECTS(place, BBOX(0, 0, 9, 9))", "score": 1.0}])

    late = [part for part in IndexFolder.read(tmp_path).held() if part.versions is not None]
    assert [part.signs for part in late] == [None] * 4
    assert compact(tmp_path, choose()) == 1
    assert len(IndexFolder.read(tmp_path).parts) == 5


def test_what_an_index_by_name_cannot_hold_is_named(tmp_path: Path) -> None:
    """Of the parts that changes bring, too; the rest is taken."""
    records = [{"id": f"s{n}", "where": f"kind = 'k{n}'", "score": 1.0} for n in range(40)]
    compiled(tmp_path, records, planned(part_of(pa.Table.from_pylist(records)), "access", 4).placement)
    texts = {"a": "kind = 'k1'", "b": "kind = 'k2' AND n + 1 = 2", "c": "kind = 'k3'", "d": "n * 2 = m"}
    rows = [{"id": name, "change": "insert", "version": 1, "where": text} for name, text in texts.items()]

    done = amend(tmp_path, read_changes(pa.Table.from_pylist(rows)), choose("opindex"))

    assert sorted(reject.id for reject in done.rejects) == ["b", "d"]
    assert tocsin.match(tmp_path, [{"kind": "k3"}]).table["subscription"].to_pylist() == ["c", "s3"]
