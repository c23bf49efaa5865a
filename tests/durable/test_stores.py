"""What a store takes, what it refuses, and what it says of damage."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tocsin import InvalidInput, RecordError, SegmentError, StoreError
from tocsin.spark.versions import published
from tocsin.store import Database, missing_changes
from tocsin.store.owner import require_local

FORK = multiprocessing.get_context("fork")


def filled(folder: Path, count: int = 3) -> Path:
    with tocsin.Engine.open(folder) as engine:
        engine.subscribe_many([{"id": f"s{i}", "where": f"n >= {i}", "payload": {"i": i}} for i in range(count)])
    return folder


def ids(folder: Path) -> list[Any]:
    with tocsin.Engine.open(folder) as engine:
        return list(engine)


def test_everything_of_a_subscription_is_kept(tmp_path: Path) -> None:
    with tocsin.Engine.open(tmp_path, texts={"title": "text english stem"}) as engine:
        engine.subscribe("é\0", "n = 1 AND s = 'a\0ü'", score=-0.5, payload={"to": [1, None, "ü"]}, weights={"n": 2.0})
        engine.subscribe("title", "TEXT(title, 'runs')")
        engine.subscribe_many([{"id": "json", "where": {"op": ">", "args": [{"property": "n"}, 5]}, "payload": None}])
        held = [engine.get(name) for name in engine]
    with tocsin.Engine.open(tmp_path) as engine:
        assert [engine.get(name) for name in engine] == held
        assert [one.subscription for one in engine.match({"title": "running"})] == ["title"]
        assert [one.payload for one in engine.match({"n": 1, "s": "a\0ü"}, payload=True)] == [{"to": [1, None, "ü"]}]


def test_a_second_writer_is_refused_and_told_of_the_first(tmp_path: Path) -> None:
    with tocsin.Engine.open(tmp_path), pytest.raises(StoreError, match=f"process {os.getpid()} on .*read_only=True"):
        tocsin.Engine.open(tmp_path)
    with tocsin.Engine.open(tmp_path):
        pass


def test_a_reader_changes_nothing(tmp_path: Path) -> None:
    with tocsin.Engine.open(filled(tmp_path), read_only=True) as reader:
        for change in (
            lambda: reader.subscribe("a", "n = 1"),
            lambda: reader.subscribe_many([{"id": "a", "where": "n = 1"}]),
            lambda: reader.unsubscribe("s1"),
            lambda: reader.rescore("s1", 2.0),
            reader.checkpoint,
        ):
            with pytest.raises(InvalidInput, match="read_only=True; its writer makes changes"):
                change()
        assert list(reader) == ["s0", "s1", "s2"]
    with pytest.raises(StoreError, match=r"has no store: store\.db is missing"):
        tocsin.Engine.open(tmp_path / "other", read_only=True)


def test_a_refused_change_is_not_counted(tmp_path: Path) -> None:
    with tocsin.Engine.open(filled(tmp_path)) as engine:
        before = engine.sequence
        with pytest.raises(tocsin.DuplicateSubscription):
            engine.subscribe("s1", "n = 1")
        with pytest.raises(RecordError, match="use one kind"):
            engine.subscribe(5, "n = 1")
        for odd in ("nobody", True, 1.0, "\ud800", 2**70, None):
            with pytest.raises(tocsin.UnknownSubscription):
                engine.unsubscribe(odd)  # type: ignore[arg-type]
        with pytest.raises(RecordError):
            engine.subscribe_many([{"id": "new", "where": "n = 1"}, {"id": "bad"}], strict=True)
        assert engine.sequence == before
        assert "new" not in engine
    assert ids(tmp_path) == ["s0", "s1", "s2"]


def test_threads_share_transactions_and_all_is_kept(tmp_path: Path) -> None:
    with tocsin.Engine.open(tmp_path) as engine:
        statements: list[str] = []
        engine._database._connection.set_trace_callback(statements.append)

        def work(thread: int) -> None:
            for i in range(25):
                engine.subscribe(f"{thread}-{i}", f"n = {i}")

        threads = [threading.Thread(target=work, args=(one,)) for one in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert engine.sequence == len(engine) == 200
        assert statements.count("COMMIT") < 200
    assert len(ids(tmp_path)) == 200


def test_a_forked_child_matches_but_does_not_write(tmp_path: Path) -> None:
    engine = tocsin.Engine.open(filled(tmp_path))

    def look(found: Any) -> None:
        try:
            engine.subscribe("child", "n = 1")
        except StoreError as error:
            found.put((str(error), len(engine.match({"n": 1}))))
        engine.close()  # of no effect: it is the parent's

    found = FORK.SimpleQueue()
    child = FORK.Process(target=look, args=(found,))
    child.start()
    message, matches = found.get()
    child.join()
    assert f"belongs to process {os.getpid()}" in message
    assert matches == 2
    engine.subscribe("parent", "n = 1")
    engine.close()
    assert ids(tmp_path) == ["parent", "s0", "s1", "s2"]


def test_a_forked_child_of_a_reader_follows_by_itself(tmp_path: Path) -> None:
    with tocsin.Engine.open(filled(tmp_path)) as engine, tocsin.Engine.open(tmp_path, read_only=True) as reader:
        found = FORK.SimpleQueue()

        def look() -> None:
            before = reader._database
            found.put((reader.lag, reader.refresh(), len(reader), reader._database is before))

        engine.subscribe("later", "n = 1")
        child = FORK.Process(target=look)
        child.start()
        assert found.get() == (1, 4, 4, False)
        child.join()
        assert (reader.lag, reader.refresh()) == (1, 4)


def test_only_the_writer_publishes_into_the_folder(tmp_path: Path) -> None:
    filled(tmp_path / "store")
    other = tocsin.Engine()
    with pytest.raises(SegmentError, match=r"belongs to a durable engine.*tocsin update"):
        other.save(tmp_path / "store")
    assert [one.subscription for one in tocsin.Engine.load(tmp_path / "store").match({"n": 0})] == ["s0"]


def test_an_index_becomes_a_store_once(tmp_path: Path) -> None:
    saved = tocsin.Engine(texts={"title": "text"})
    saved.subscribe_many([{"id": 1, "where": "n = 1", "payload": 5}, {"id": 2, "where": "TEXT(title, 'a')"}])
    saved.save(tmp_path)
    with pytest.warns(UserWarning, match=r"was an index; its 2 subscriptions were copied to store\.db"):
        engine = tocsin.Engine.open(tmp_path)
    assert (list(engine), engine.payload(1), engine.sequence) == ([1, 2], 5, 2)
    assert [one.subscription for one in engine.match({"title": "a b"})] == [2]
    engine.close()
    assert ids(tmp_path) == [1, 2]


def test_a_checkpoint_writes_only_what_is_new(tmp_path: Path) -> None:
    filled(tmp_path, 2_000)
    with tocsin.Engine.open(tmp_path) as engine:
        before = {one: one.stat().st_ino for one in tmp_path.glob("version-*/part-*/arrays.bin")}
        engine.unsubscribe("s5")
        engine.rescore("s6", 9.0)
        engine.checkpoint()
        assert {one: one.stat().st_ino for one in tmp_path.glob("version-*/part-*/arrays.bin")} == before
        assert list(tmp_path.glob("version-*/changes-*.npz"))
    loaded = tocsin.Engine.load(tmp_path)
    assert ("s5" in loaded, loaded.get("s6")["score"], len(loaded)) == (False, 9.0, 1_999)


@pytest.mark.parametrize("harm", ["index gone", "index of another store", "index ahead", "index damaged"])
def test_an_index_of_no_use_is_told_and_made_again(harm: str, tmp_path: Path) -> None:
    folder = filled(tmp_path / "store")
    if harm == "index gone":
        (folder / "manifest.json").unlink()
    elif harm == "index of another store":
        other = filled(tmp_path / "other", 7)
        for one in (*folder.glob("version-*"), folder / "manifest.json"):
            shutil.rmtree(one) if one.is_dir() else one.unlink()
        for one in (*other.glob("version-*"), other / "manifest.json"):
            (shutil.copytree if one.is_dir() else shutil.copy)(one, folder / one.name)
    elif harm == "index ahead":
        with sqlite3.connect(folder / "store.db") as connection:
            connection.execute("DELETE FROM subscriptions WHERE sequence = 3")
    else:
        (arrays,) = folder.glob("version-*/part-*/arrays.bin")
        arrays.write_bytes(arrays.read_bytes()[:-8])
    told = pytest.warns(UserWarning, match="all subscriptions are read from the store")
    if harm == "index gone":
        assert ids(folder) == ["s0", "s1", "s2"]
        return
    with told:
        assert ids(folder) == (["s0", "s1"] if harm == "index ahead" else ["s0", "s1", "s2"])
    assert len(ids(folder)) >= 2  # without a warning


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (b"not a database at all" * 100, "not a database"),
        (b"", "is not a store of tocsin"),
    ],
)
def test_a_damaged_store_is_an_error(harm: bytes, told: str, tmp_path: Path) -> None:
    (filled(tmp_path) / "store.db").write_bytes(harm)
    with pytest.raises(StoreError, match=told):
        tocsin.Engine.open(tmp_path)
    with pytest.raises(StoreError, match=told):
        tocsin.Engine.open(tmp_path, read_only=True)


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(filled(tmp_path) / "store.db") as connection:
        connection.execute("PRAGMA user_version = 9")
    with pytest.raises(StoreError, match="of version 9, and this release knows 2; use a newer tocsin"):
        tocsin.Engine.open(tmp_path)


def test_a_full_disk_refuses_a_change_and_loses_nothing(tmp_path: Path) -> None:
    with tocsin.Engine.open(filled(tmp_path)) as engine:
        connection = engine._database._connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="is full"):
            engine.subscribe("large", "n = 1", payload="x" * 100_000)
        assert "large" not in engine
        connection.execute("PRAGMA max_page_count = 1000000")
        engine.subscribe("later", "n = 1")
    assert ids(tmp_path) == ["later", "s0", "s1", "s2"]


def test_a_reader_far_behind_reads_everything_again(tmp_path: Path) -> None:
    with tocsin.Engine.open(filled(tmp_path)) as engine, tocsin.Engine.open(tmp_path, read_only=True) as reader:
        engine.unsubscribe("s1")
        engine.checkpoint()
        engine._database.forget_tombstones(engine.sequence)
        assert reader.lag == 1
        with pytest.warns(UserWarning, match="it is read again"):
            reader.refresh()
        assert list(reader) == ["s0", "s2"]


def test_a_checkpoint_while_a_reader_opens_is_of_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index that it maps is not ahead of the state of the store that it reads."""
    with tocsin.Engine.open(filled(tmp_path)) as engine:
        original = Database.identity.fget

        def identity(database: Database) -> Any:
            found = original(database)  # from here on, the reader sees one state of the store
            if "later" not in engine:
                engine.subscribe("later", "n = 1")
                engine.checkpoint()
            return found

        monkeypatch.setattr(Database, "identity", property(identity))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            reader = tocsin.Engine.open(tmp_path, read_only=True)
        assert (list(reader), reader.lag) == (["s0", "s1", "s2"], 1)
        reader.refresh()
        assert "later" in reader
        reader.close()


def test_a_backup_is_another_history(tmp_path: Path) -> None:
    with tocsin.Engine.open(filled(tmp_path / "one")) as engine:
        engine.backup(tmp_path / "copy")
        with pytest.raises(StoreError, match="has a store already"):
            engine.backup(tmp_path / "copy")
        engine.subscribe("later", "n = 1")
    with tocsin.Engine.open(tmp_path / "copy") as copy:
        assert list(copy) == ["s0", "s1", "s2"]
        assert copy._identity.store == engine._identity.store
        assert copy._identity.epoch != engine._identity.epoch


def test_options_that_contradict(tmp_path: Path) -> None:
    before = committing()  # of engines that other tests left open
    with pytest.raises(InvalidInput, match="sync is 'none'; it is one of full, relaxed"):
        tocsin.Engine.open(tmp_path, sync="none")
    filled(tmp_path)
    with pytest.raises(InvalidInput, match=r"texts gives 'title' the type .*does not have it"):
        tocsin.Engine.open(tmp_path, texts={"title": "text"})
    assert ids(tmp_path) == ["s0", "s1", "s2"]  # it was not left locked
    fences = tocsin.Fences.open(tmp_path / "fences", tocsin.Engine(), key="car")
    fences.close()
    with pytest.raises(InvalidInput, match="key is 'bus'"):
        tocsin.Fences.open(tmp_path / "fences", tocsin.Engine(), key="bus")
    assert not committing() - before


def committing() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name == "tocsin-commit"}


def test_a_closed_engine_still_answers(tmp_path: Path) -> None:
    engine = tocsin.Engine.open(filled(tmp_path))
    engine.close()
    engine.close()
    assert len(engine.match({"n": 1})) == 2
    with pytest.raises(StoreError, match="is closed"):
        engine.subscribe("a", "n = 1")


def test_network_file_systems_are_refused(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/a / ext4 rw 0 0\nserver:/x {tmp_path}/share nfs4 rw 0 0\n")
    with pytest.raises(StoreError, match=r"on a network file system \(nfs4\)"):
        require_local(tmp_path / "share" / "alerts", mounts)
    require_local(tmp_path / "alerts", mounts)


def test_who_reads_the_index_alone_is_told_what_it_lacks(tmp_path: Path) -> None:
    """`Engine.load`, and Spark's driver; tasks never open a store."""
    engine = tocsin.Engine.open(filled(tmp_path))
    assert missing_changes(tmp_path) == 0
    engine.subscribe("later", "n = 1")
    engine.unsubscribe("s1")
    with pytest.warns(UserWarning, match="lacks the last 2 changes of its store; Engine.open has them"):
        assert list(tocsin.Engine.load(tmp_path)) == ["s0", "s1", "s2"]
    with pytest.warns(UserWarning, match="is matched at change 3; its store has 2 more"):
        assert published(tmp_path).subscriptions == 3
    engine.close()
    assert missing_changes(tmp_path) == 0
    assert list(tocsin.Engine.load(tmp_path)) == ["later", "s0", "s2"]  # without a warning


@pytest.mark.parametrize("below", ["", "in/it"])
def test_a_file_in_place_of_the_folder_is_named(below: str, tmp_path: Path) -> None:
    """By an engine and fences that would be kept there, and by a save; the file may be above the folder."""
    file = tmp_path / "alerts"
    file.write_text("mine")

    for call in (tocsin.Engine.open, lambda folder: tocsin.Fences.open(folder, tocsin.Engine(), key="k")):
        with pytest.raises(StoreError, match=f"^{file} is a file, not a folder; name a folder$"):
            call(file / below)
    with pytest.raises(
        SegmentError, match=rf"cannot be written \({file if below else 'it'} is a file\)\. Name a folder\."
    ):
        tocsin.Engine().save(file / below)
    assert file.read_text() == "mine"


@pytest.mark.parametrize("is_durable", [True, False])
def test_a_folder_that_is_changed_by_many_processes_stays_in_few_parts(is_durable: bool, tmp_path: Path) -> None:
    for number in range(12):
        if is_durable:
            engine: tocsin.Engine = tocsin.Engine.open(tmp_path)
        else:
            engine = tocsin.Engine.load(tmp_path) if number else tocsin.Engine()
        engine.subscribe(f"s{number}", "n = 1")
        engine.subscribe("same", f"n = {number}", replace=True)
        if not is_durable:
            engine.save(tmp_path)
        engine.close()
    loaded = tocsin.Engine.load(tmp_path)
    assert len(loaded.stats.segments) <= 2 and len(loaded) == 13
