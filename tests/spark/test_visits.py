"""Events that are sent to the parts that they visit get the same answer as where the whole index is.

What tasks run is plain functions; here they run without Spark, and rows are dealt to tasks as its shuffles do.
"""

from __future__ import annotations

import json
import random
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tocsin
from tests.placement.test_shapes import EVENTS as PLACES
from tests.placement.test_shapes import SHAPES
from tests.sizes import sized
from tests.spark.test_families import EVENTS, RANKINGS
from tests.spark.test_placements import SUBSCRIPTIONS, compiled, placement_for
from tocsin.errors import InvalidInput, SegmentError
from tocsin.index import choose
from tocsin.placement import PLACEMENTS, choose_routing, planned
from tocsin.records.changes import read_changes
from tocsin.segment import IndexFolder
from tocsin.segment.amending import amend
from tocsin.segment.mapping import opened_part
from tocsin.segment.outlines import ATTRIBUTES, bytes_of, outline_of
from tocsin.segment.placed import Signs, read_signs, write_signs
from tocsin.segment.refolding import folded_otherwise
from tocsin.segment.storage import MANIFEST, open_segment, write_manifest
from tocsin.spark.answering import MatchOptions, answer
from tocsin.spark.names import EVENT, PART, TO, matches_type
from tocsin.spark.placing import part_of
from tocsin.spark.visits import answered, merged, sent, whole_events

KEYED = EVENTS.append_column("key", pa.array(range(50))).combine_chunks().to_batches()[0]
COLUMNS = tuple(KEYED.schema.names)


def batches(rows: pa.Table, most: int) -> list[pa.RecordBatch]:
    return rows.combine_chunks().to_batches(max_chunksize=most)


def shuffled(
    folder: IndexFolder, given: pa.RecordBatch, asked: MatchOptions, part: Any = None, *, is_sorted: bool = True
) -> list[pa.Table]:
    """What Spark does: two tasks that send, one for each part, and some that merge."""
    tasks = max(len(folder.parts), 1)
    on_their_way = []
    for task, own in enumerate((given.slice(0, 20), given.slice(20))):
        first = 0
        for batch in batches(pa.Table.from_batches([own]), 7):
            on_their_way.append(sent(batch, asked, outline_of(folder), task, first, tasks))
            first += batch.num_rows
    rows = pa.Table.from_batches(on_their_way)
    part = part or parts_of(folder)
    found = []
    for task in range(tasks):
        for batch in batches(rows.filter(pc.equal(rows[TO], task)), 11):
            lists = matches_type(folder.ids)
            found += answered(batch, asked, part, lists)
    together = pa.Table.from_batches(found)
    dice = random.Random(len(together))
    together = together.take(pa.array(dice.sample(range(len(together)), len(together))))
    merging = []
    for task in range(3):
        own = together.filter(pa.array([number % 3 == task for number in together[EVENT].to_pylist()]))
        own = own.sort_by(EVENT) if is_sorted else own
        merging += [merged(one, asked, "v") for one in whole_events(batches(own, 5), is_sorted=is_sorted)]
    return [pa.Table.from_batches([one]) for one in merging]


def parts_of(folder: IndexFolder) -> Any:
    """Its parts, each opened once."""
    return lru_cache(lambda number: opened_part(folder, number))


def rows_of(tables: list[pa.Table], by: str) -> list[Any]:
    return sorted((row for table in tables for row in table.to_pylist()), key=lambda row: row[by])


@pytest.mark.parametrize("name", PLACEMENTS)
def test_events_that_are_sent_get_the_same_answer(tmp_path: Path, name: str) -> None:
    """Every placement and ranking, any number of partitions, with changes; each match once, in the same order."""
    for partitions in sized((1, 7), (1, 2, 7, 16)):
        index = tmp_path / str(partitions)
        compiled(index, SUBSCRIPTIONS[::2], placement_for(name, partitions))
        changes = [{**one, "change": "insert", "version": 1} for one in SUBSCRIPTIONS[1::4]]
        changes += [{"id": one["id"], "change": "delete", "version": 1} for one in SUBSCRIPTIONS[::6]]
        amend(index, read_changes(pa.Table.from_pylist(changes)), choose())
        folder = IndexFolder.read(index)
        snapshots, part = folder.open(), parts_of(folder)
        for number, ranking in enumerate(RANKINGS):
            asked = MatchOptions(COLUMNS, COLUMNS[:5], ranking)
            whole = pa.Table.from_batches([answer(KEYED, asked, snapshots)])

            assert rows_of(shuffled(folder, KEYED, asked, part, is_sorted=bool(number % 2)), "key") == rows_of(
                [whole], "key"
            )


def test_the_other_forms_of_an_answer(tmp_path: Path) -> None:
    """A row a match, JSON that cannot be read, records that a reader refused, and what was done."""
    compiled(tmp_path, SUBSCRIPTIONS, placement_for("access", 3))
    folder = IndexFolder.read(tmp_path)
    lines = ['{"n": 3, "m": 2}', "[]", None, '{"n": {"n": 1}, "s": "ax", "words": ["a", 1e999]}', "{", '{"s": 5}'] * 5
    corrupt = ["a line"] + [None] * 29
    table = {"json": lines, "bad": corrupt, "key": list(range(30))}
    given = pa.RecordBatch.from_pydict(table, pa.schema({"json": pa.string(), "bad": pa.string(), "key": pa.int64()}))
    asked = MatchOptions(("json", "bad", "key"), (), json="json", corrupt="bad", tells_work=True)
    whole = answer(given, asked, folder.open(), "v")

    found = shuffled(folder, given, asked)

    work = [row["tocsin_work"] for table in found for row in table.to_pylist() if row["tocsin_work"] is not None]
    (expected,) = [row["tocsin_work"] for row in whole.to_pylist() if row["tocsin_work"] is not None]
    told = {name: sum(one[name] for one in work) for name in ("events", "matches", "rejected", "reported")}
    assert told == {name: expected[name] for name in told}
    assert told["rejected"] == 16
    assert sum(one["candidates"] for one in work) == expected["candidates"] > 0
    assert {one["index_version"] for one in work} == {"v"}
    plain = rows_of([table.drop_columns(["tocsin_work"]) for table in found], "key")
    assert plain == pa.Table.from_batches([whole]).drop_columns(["tocsin_work"]).to_pylist()
    as_rows = MatchOptions(COLUMNS, COLUMNS[:5], tocsin.Top(2), event_id="key", tells_work=True)
    whole = answer(KEYED, as_rows, folder.open(), "v")
    several = shuffled(folder, KEYED, as_rows)
    rows, wanted = (
        [row for row in table.to_pylist() if row["event_id"] is not None]
        for table in (pa.concat_tables(several), whole)
    )
    assert sorted(map(str, rows)) == sorted(map(str, wanted))


def test_an_event_goes_only_where_it_can_match(tmp_path: Path) -> None:
    """And its columns that nothing is matched by go once."""
    compiled(tmp_path, SUBSCRIPTIONS, placement_for("location", 7))
    folder = IndexFolder.read(tmp_path)
    asked = MatchOptions(COLUMNS, COLUMNS[:5])

    rows = pa.Table.from_batches([sent(KEYED, asked, outline_of(folder), 0, 0, 8)])

    assert KEYED.num_rows < len(rows) < KEYED.num_rows * len(folder.parts)
    assert len(rows) - rows["c5"].null_count == KEYED.num_rows
    assert rows["c0"].null_count < len(rows) // 2
    assert max(rows[PART].to_pylist()) < len(folder.parts)


def test_rows_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    """A task that was repeated with other events sends others: an error that says what to do, no wrong answer."""
    compiled(tmp_path, SUBSCRIPTIONS, placement_for("access", 3))
    folder, asked = IndexFolder.read(tmp_path), MatchOptions(COLUMNS, COLUMNS[:5])
    rows = sent(KEYED, asked, outline_of(folder), 0, 0, 3)
    lists = matches_type(folder.ids)
    found = pa.Table.from_batches(list(answered(rows, asked, lambda number: opened_part(folder, number), lists)))

    for broken in (found.slice(1), pa.concat_tables([found, found.slice(0, 1)])):
        with pytest.raises(InvalidInput, match="write them to files, or persist them"):
            merged(broken, asked)


def test_an_index_of_nothing(tmp_path: Path) -> None:
    amend(tmp_path, read_changes(pa.table({"id": ["a"], "change": ["delete"], "version": [1]})), choose())
    folder, asked = IndexFolder.read(tmp_path), MatchOptions(COLUMNS, COLUMNS[:5])

    found = shuffled(folder, KEYED, asked)

    assert [row["matches"] for row in rows_of(found, "key")] == [[]] * 50


def test_a_part_whose_texts_were_folded_otherwise_is_visited_by_all(tmp_path: Path) -> None:
    """Its keys are of those texts: no event that comes today might have one of them."""
    more = [{"id": f"f{n}", "where": f"CASEI(s) <> 'straße {n}' AND n = {n}"} for n in range(9)]
    compiled(tmp_path, [*SUBSCRIPTIONS, *more], placement_for("access", 4))
    folder, asked = IndexFolder.read(tmp_path), MatchOptions(COLUMNS, COLUMNS[:5])
    expected = rows_of([pa.Table.from_batches([answer(KEYED, asked, folder.open())])], "key")
    emptied = []
    for place in folder.parts:
        part = tmp_path / place.path
        manifest = json.loads((part / MANIFEST).read_text("utf-8"))
        manifest.pop("crc32")
        write_manifest(part / MANIFEST, {**manifest, "folding": "older tables"})
        keys = read_signs(part)
        if keys is not None and folded_otherwise(open_segment(part)):
            emptied.append(place)
            write_signs(part, Signs(keys.keys[:0], keys.alike))
    outline_of.cache_clear()

    with pytest.warns(UserWarning, match="fold text as older tables did"):
        found = shuffled(folder, KEYED, asked)

    assert emptied
    assert rows_of(found, "key") == expected


def test_what_a_part_looks_at_is_known_without_it(tmp_path: Path) -> None:
    """Of an index of before by mapping it; a file that is damaged is refused."""
    compiled(tmp_path, SUBSCRIPTIONS, placement_for("access", 2))
    folder = IndexFolder.read(tmp_path)
    wanted = outline_of(folder).wanted.names
    files = [tmp_path / place.path / ATTRIBUTES for place in folder.parts]
    files[0].unlink()
    outline_of.cache_clear()
    assert outline_of(folder).wanted.names == wanted
    files[1].write_text(files[1].read_text("utf-8").replace("words", "wards"), "utf-8")
    outline_of.cache_clear()
    with pytest.raises(SegmentError, match=r"attributes\.json is damaged"):
        outline_of(folder)
    assert bytes_of(folder) > 10_000


@pytest.mark.parametrize(
    ("given", "how"),
    [
        (("auto", 100, 4, 200), "local"),
        (("auto", 101, 4, 200), "shuffle"),
        (("auto", 101, 1, 200), "local"),
        (("auto", 1, 4), "local"),
        (("shuffle", 1, 1, 200), "shuffle"),
        (("local", 999, 4, 200), "local"),
    ],
)
def test_the_planner_says_which_and_why(given: tuple[Any, ...], how: str) -> None:
    assert choose_routing(*given).how == how
    assert len(choose_routing(*given).reason) > 10


def test_odd_routings_are_refused() -> None:
    with pytest.raises(InvalidInput, match="routing is 'far'; it must be one of auto, local, shuffle"):
        choose_routing("far", 1, 1)
    with pytest.raises(InvalidInput, match="memory is 0"):
        choose_routing("auto", 1, 1, 0)


@pytest.mark.parametrize("name", ["location", "access"])
def test_who_sends_decides_shapes_only_where_they_lead_to_parts(tmp_path: Path, name: str) -> None:
    """By location the place is enough: no polygon and no circle is held where events are sent, and none is lost."""
    records = [{"id": f"s{n}", "where": text, "score": 1.0} for n, text in enumerate([*SHAPES, "kind = 'a'"])]
    placement = planned(part_of(pa.Table.from_pylist(records)), name, 5).placement
    compiled(tmp_path, records, placement)
    folder = IndexFolder.read(tmp_path)
    points = [event for event in PLACES if isinstance(event.get("place"), list)]
    columns = {name: pa.array([one.get(name) for one in points]) for name in ("place", "kind")}
    given = pa.RecordBatch.from_pydict({**columns, "key": pa.array(range(len(points)))})
    asked = MatchOptions(("place", "kind", "key"), ("place", "kind"))

    found = shuffled(folder, given, asked)

    wanted = outline_of(folder).wanted
    assert {"place", "kind"} <= set(wanted.numbers)
    assert (wanted.places == {}) is (name == "location")
    whole = pa.Table.from_batches([answer(given, asked, folder.open())])
    assert rows_of(found, "key") == rows_of([whole], "key")
    assert sum(len(row["matches"]) for row in rows_of([whole], "key")) > 400
