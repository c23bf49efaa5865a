"""An index that changes answers like one that is compiled afresh, whatever comes late, twice, or while it is merged."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.naive.changes import Changing
from tests.segment.samples import asked, build
from tocsin.errors import InvalidInput, SegmentError
from tocsin.index import choose
from tocsin.model.values import Instant
from tocsin.records.changes import read_changes
from tocsin.segment import IndexFolder, amending, compacting, open_index, pins, publishing, write_index
from tocsin.segment.amending import Amendment, amend
from tocsin.segment.compacting import RULE, Rule, compact
from tocsin.segment.pins import pinned
from tocsin.segment.publishing import Publication

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("change", pa.string()),
        ("version", pa.int64()),
        ("where", pa.string()),
        ("score", pa.float64()),
    ]
)
EVENTS = [{"n": n} for n in range(4)]
TEXTS = ("n = 1", "n >= 2", "n < 3 AND n > 0", "n IN (0, 3)", "n = = 1")


def table(*changes: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([dict(change) for change in changes], SCHEMA)


def put(name: str, version: int, where: str = "n = 1", **more: Any) -> dict[str, Any]:
    return {"id": name, "change": "update", "version": version, "where": where, **more}


def delete(name: str, version: int) -> dict[str, Any]:
    return {"id": name, "change": "delete", "version": version}


def rescore(name: str, version: int, score: float) -> dict[str, Any]:
    return {"id": name, "change": "rescore", "version": version, "score": score}


def take(folder: Path, *changes: dict[str, Any], index: str = "auto", **options: Any) -> Amendment:
    return amend(folder, read_changes(table(*changes)), choose(index), **options)


def counts(done: Amendment) -> tuple[int, ...]:
    return done.inserted, done.updated, done.deleted, done.rescored, done.superseded, len(done.rejects)


def answers(folder: Path) -> list[tuple[int, Any, float]]:
    return asked(open_index(folder), EVENTS)


def expected(oracle: Changing) -> list[tuple[int, Any, float]]:
    records = [{"id": i, "where": where, "score": score} for i, (where, score) in oracle.subscriptions.items()]
    return asked(tocsin.segment.Snapshots.of([build(records)]), EVENTS) if records else []


@st.composite
def histories(draw: Any) -> list[list[dict[str, Any]]]:
    """Batches of changes of few ids whose versions come in any order, some of them twice."""
    versions = iter(draw(st.permutations(range(1, 41))))
    changes = []
    for version in versions:
        name = draw(st.sampled_from("abcdef"))
        kind = draw(st.sampled_from([put, put, put, delete, rescore]))
        score = float(draw(st.integers(0, 3)))
        more = {put: (draw(st.sampled_from(TEXTS)),), delete: (), rescore: (score,)}[kind]
        changes.append(kind(name, version, *more))
    cuts = sorted(draw(st.lists(st.integers(0, len(changes)), max_size=6)))
    pairs = zip([0, *cuts], [*cuts, len(changes)], strict=True)
    return [changes[max(first - draw(st.integers(0, 3)), 0) : last] for first, last in pairs]


@given(histories(), st.sets(st.integers(0, 8)), st.booleans())
def test_an_index_that_changes_answers_like_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, batches: list[Any], merged: set[int], begins: bool
) -> None:
    """After each batch, merged now and then or not: the same subscriptions with the same scores."""
    folder = tmp_path_factory.mktemp("index")
    base = [{"id": name, "where": "n <= 2", "score": 7.0} for name in ("b", "c", "z")] if begins else []
    if begins:
        write_index(folder, build(base))
    oracle = Changing(base)

    for number, batch in enumerate(batches):
        take(folder, *batch)
        oracle.take(batch, lambda text: text != TEXTS[-1])
        if number in merged:
            compact_all(folder)

        assert answers(folder) == expected(oracle)
        assert IndexFolder.read(folder).subscriptions == len(oracle.subscriptions)


def compact_all(folder: Path) -> None:
    """Merge until one part is left, or none."""
    compact(folder, choose(), rule=Rule(fanout=2, gone_share=0.0))
    assert len(IndexFolder.read(folder).parts) <= 1


def test_what_became_of_changes_is_counted(tmp_path: Path) -> None:
    """Each change is inserted, updated, deleted, rescored, superseded or rejected; none is lost without a word."""
    take(tmp_path, put("a", 1), put("b", 1), put("c", 5))

    done = take(
        tmp_path,
        put("a", 2, "n = 2"),
        put("a", 3, "n = 3"),
        delete("b", 2),
        rescore("c", 6, 2.5),
        put("c", 4),
        put("d", 1, "n ="),
        rescore("e", 1, 1.0),
        put("f", 1, score=3.0),
    )

    assert counts(done) == (1, 1, 1, 1, 2, 2)
    assert [(one.row, one.id, one.field) for one in done.rejects] == [(5, "d", "where"), (6, "e", "id")]
    assert answers(tmp_path) == [(1, "c", 2.5), (1, "f", 3.0), (3, "a", 1.0)]
    assert done.version == IndexFolder.read(tmp_path).version


def test_changes_taken_twice_change_nothing(tmp_path: Path) -> None:
    """A batch that is replayed makes no new version."""
    batch = [put("a", 1), delete("b", 2), put("c", 3, score=2.0)]
    first = take(tmp_path, *batch)

    again = take(tmp_path, *batch)

    assert counts(again) == (0, 0, 0, 0, 3, 0)
    assert again.version == first.version


def test_a_deletion_is_remembered_past_merges(tmp_path: Path) -> None:
    """What was deleted stays so when an insert from before arrives, though no part has the id any more."""
    take(tmp_path, put("a", 1), put("b", 1))
    take(tmp_path, delete("a", 5), delete("never", 5))
    compact_all(tmp_path)

    done = take(tmp_path, put("a", 4), put("never", 3), put("b", 2, "n = 2"))

    assert counts(done) == (0, 1, 0, 0, 2, 0)
    assert answers(tmp_path) == [(2, "b", 1.0)]
    assert counts(take(tmp_path, put("a", 6))) == (1, 0, 0, 0, 0, 0)


def test_changes_while_parts_are_merged_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is deleted, updated, scored and inserted while a merge goes on holds after it."""
    for name in "abcd":
        take(tmp_path, put(name, 1), put(f"{name}2", 1, "n = 8"))
    real, calls = compacting.merged, []

    def slow(*arguments: Any) -> Any:
        result = real(*arguments)
        if not calls:
            calls.append(take(tmp_path, delete("a", 2), put("b", 2, "n = 2"), rescore("c", 2, 9.0), put("e", 1)))
        return result

    monkeypatch.setattr(compacting, "merged", slow)
    assert compact(tmp_path, choose(), steps=1) == 1

    assert calls
    assert answers(tmp_path) == [(1, "c", 9.0), (1, "d", 1.0), (1, "e", 1.0), (2, "b", 1.0)]
    assert counts(take(tmp_path, put("a", 1), rescore("c", 1, 0.0))) == (0, 0, 0, 0, 2, 0)


def test_a_merge_gives_way_to_a_compilation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the index was compiled anew meanwhile, the merge is nothing."""
    for name in "abcd":
        take(tmp_path, put(name, 1))
    real = compacting.merged

    def slow(*arguments: Any) -> Any:
        write_index(tmp_path, build([{"id": "new", "where": "n = 0"}]))
        return real(*arguments)

    monkeypatch.setattr(compacting, "merged", slow)

    assert compact(tmp_path, choose()) == 0
    assert answers(tmp_path) == [(0, "new", 1.0)]


def test_several_may_change_an_index_at_once(tmp_path: Path) -> None:
    """Whoever is overtaken does it again on the newer version: nothing is lost."""
    take(tmp_path, put("begin", 1))

    def many(letter: str) -> None:
        for number in range(8):
            take(tmp_path, put(f"{letter}{number}", 1))

    threads = [threading.Thread(target=many, args=(letter,)) for letter in "xyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert IndexFolder.read(tmp_path).subscriptions == 25
    assert len(answers(tmp_path)) == 25


def test_a_killed_change_leaves_the_version_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever file was the last that was written, readers see what was there, and the next change is taken."""
    take(tmp_path, put("a", 1), put("c", 1, "n = 8"))
    before = answers(tmp_path)
    for name in ("write_segment", "write_changes", "write_manifest"):
        with monkeypatch.context() as patch:
            patch.setattr(publishing, name, _failing)
            with pytest.raises(SystemExit):
                take(tmp_path, put("b", 1, "n = 1"), delete("a", 2))
        assert answers(tmp_path) == before

    take(tmp_path, put("b", 1), delete("a", 2))

    assert answers(tmp_path) == [(1, "b", 1.0)]


def _failing(*_: Any) -> None:
    raise SystemExit("killed")


def test_versions_are_kept_as_long_as_they_are_needed(tmp_path: Path) -> None:
    """Young ones, the one before, and those of streams stay; the parts that they share stay with the last of them."""
    take(tmp_path, put("a", 1), keep_s=0.0)
    first, _ = pinned(tmp_path, "stream", 0)
    take(tmp_path, put("b", 1), keep_s=0.0)
    take(tmp_path, put("c", 0, "n = 2"), keep_s=60.0)
    young = IndexFolder.read(tmp_path)
    for number in range(1, 20):
        take(tmp_path, put("c", number), keep_s=60.0)
    assert asked(young.open(), EVENTS) == [(1, "a", 1.0), (1, "b", 1.0), (2, "c", 1.0)]

    for number in range(20, 24):
        take(tmp_path, put("c", number), keep_s=0.0)

    assert asked(first.open(), EVENTS) == [(1, "a", 1.0)]
    with pytest.raises(SegmentError):
        young.open()
    assert [name for _, name, _ in answers(tmp_path)] == ["a", "b", "c"]
    assert pinned(tmp_path, "stream", 0)[0] == first
    assert pinned(tmp_path, "stream", 1)[0] == pinned(tmp_path, "stream", 1)[0] == IndexFolder.read(tmp_path)
    pinned(tmp_path, "stream", 2)
    take(tmp_path, put("c", 90), keep_s=0.0)
    take(tmp_path, put("c", 91), keep_s=0.0)
    assert pinned(tmp_path, "stream", 1)[0].open()
    with pytest.raises(SegmentError):
        IndexFolder.read(tmp_path, first.version)
    compact_all(tmp_path)
    take(tmp_path, put("c", 92), keep_s=0.0)
    assert len(answers(tmp_path)) == 3


@pytest.mark.parametrize("place", ["pins/stream/0", "version-*/version.json", "manifest.json"])
def test_a_read_that_fails_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Such as that of a process with too many open files: the versions that it could not read about stay."""
    take(tmp_path, put("a", 1), keep_s=0.0)
    if place.startswith("pins"):
        pinned(tmp_path, "stream", 0)
    for number in range(2, 5):
        take(tmp_path, put("b", number), keep_s=0.0)
    before = IndexFolder.read(tmp_path)
    read = Path.read_text

    def failing(path: Path, *given: Any, **options: Any) -> str:
        if is_publishing and path.match(place):
            raise OSError(errno.EMFILE, "Too many open files")
        return read(path, *given, **options)

    monkeypatch.setattr(Path, "read_text", failing)
    publish, is_publishing = Publication.publish, False

    def published(*given: Any, **options: Any) -> IndexFolder:
        nonlocal is_publishing
        is_publishing = True
        try:
            return publish(*given, **options)
        finally:
            is_publishing = False

    monkeypatch.setattr(Publication, "publish", published)
    if place == "manifest.json":  # whether another one published meanwhile is not known
        with pytest.raises(SegmentError, match="Too many open files"):
            take(tmp_path, put("b", 9), keep_s=0.0)
        assert IndexFolder.read(tmp_path) == before
    else:
        take(tmp_path, put("b", 9), keep_s=0.0)
    monkeypatch.undo()

    if place.startswith("pins"):
        assert asked(pinned(tmp_path, "stream", 0)[0].open(), EVENTS) == [(1, "a", 1.0)]
    assert before.open()
    take(tmp_path, put("b", 10), keep_s=0.0)
    assert next(name for _, name, _ in answers(tmp_path)) == "a"


def test_a_pinned_version_that_is_gone_is_told(tmp_path: Path) -> None:
    """A replay does not answer from another version without a word."""
    take(tmp_path, put("a", 1))
    version = pinned(tmp_path, "stream", 3)[0].version
    (tmp_path / f"version-{version}" / "version.json").unlink()

    with pytest.raises(
        SegmentError, match=rf"batch 3 of stream stream began with version {version}, which was deleted"
    ):
        pinned(tmp_path, "stream", 3)


def test_a_pin_keeps_the_present(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All who ask later get the first one's present. A pin of tocsin 0.2 has none: the file's age is its present."""
    take(tmp_path, put("a", 1))
    moments = [Instant(5), Instant(7)]
    monkeypatch.setattr(pins, "present", lambda: moments.pop(0))
    for batch, moment in ((0, 5), (0, 5), (1, 7), (0, 5)):
        assert pinned(tmp_path, "stream", batch)[1] == Instant(moment)

    old = tmp_path / "pins" / "stream" / "2"
    old.write_text(IndexFolder.read(tmp_path).version + "\n")
    os.utime(old, ns=(0, 1_700_000_000_123_456_000))
    assert pinned(tmp_path, "stream", 2) == (IndexFolder.read(tmp_path), Instant(1_700_000_000_123_456))


def test_changes_that_no_row_could_be_right_in_are_refused(tmp_path: Path) -> None:
    """Columns that are missing or of a wrong type, and ids of another kind than the index has."""
    good = table(put("a", 1))
    amend(tmp_path, read_changes(good), choose())
    for bad, words in (
        (good.drop_columns(["version"]), "version is missing"),
        (good.set_column(2, "version", pa.array(["1"])), "the column version is string; versions are integers"),
        (good.set_column(0, "id", pa.array([1.5])), "the column id is double"),
    ):
        with pytest.raises(InvalidInput, match=words):
            read_changes(bad)
    with pytest.raises(InvalidInput, match="are strings, but those of the changes are integers"):
        amend(tmp_path, read_changes(good.set_column(0, "id", pa.array([1]))), choose())


@pytest.mark.parametrize(
    ("row", "field", "words"),
    [
        ({"id": None, "change": "delete", "version": 1}, "id", "missing"),
        ({"id": "x", "change": "delete", "version": None}, "version", "missing"),
        ({"id": "x", "change": "drop", "version": 1}, "change", "one of insert, update, delete, rescore"),
        ({"id": "x", "change": None, "version": 1}, "change", "one of"),
        ({"id": "x", "change": "rescore", "version": 1}, "score", "missing"),
        ({"id": "x", "change": "rescore", "version": 1, "score": float("inf")}, "score", "finite"),
        ({"id": "x", "change": "insert", "version": 1}, "where", "no expression"),
        ({"id": "x", "change": "insert", "version": 1, "where": "n >"}, "where", "line 1"),
        ({"id": None, "change": "insert", "version": 1, "where": "n > 1"}, "id", ""),
    ],
)
def test_a_bad_change_is_told_and_the_rest_is_taken(tmp_path: Path, row: Any, field: str, words: str) -> None:
    """With its row, its id, the field and the reason."""
    done = take(tmp_path, put("a", 1), row, put("b", 1))

    assert [(one.row, one.id, one.field) for one in done.rejects] == [(1, row["id"], field)]
    assert words in done.rejects[0].reason
    assert [name for _, name, _ in answers(tmp_path)] == ["a", "b"]


def test_what_an_index_by_name_cannot_hold_is_a_reject(tmp_path: Path) -> None:
    """The rest of the batch is taken."""
    done = take(tmp_path, put("a", 1), put("b", 1, "n = 1 OR m = 2"), put("c", 1), index="r_tree")

    assert [(one.id, one.field) for one in done.rejects] == [("b", "where")]
    assert [name for _, name, _ in answers(tmp_path)] == ["a", "c"]


def test_a_damaged_note_of_changes_is_refused(tmp_path: Path) -> None:
    """Nothing is answered from a version of which one file is cut off."""
    take(tmp_path, put("a", 1), put("c", 1))
    take(tmp_path, delete("a", 2), put("b", 1))
    (note,) = tmp_path.glob("version-*/changes-*.npz")
    whole = note.read_bytes()
    for spoilt in (b"", whole[:-30], whole[:100] + b"\xff" + whole[101:]):
        note.write_bytes(spoilt)
        with pytest.raises(SegmentError, match="damaged"):
            open_index(tmp_path)


def test_the_constants_are_what_the_documents_say() -> None:
    """docs/spark.md and docs/internals.md name them."""
    assert (amending.KEEP_S, *RULE) == (600.0, 4096, 4, 0.25)
