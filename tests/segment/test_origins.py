"""An index on an object store answers like its folder: its parts are copied once, and old copies go."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.segment.samples import asked
from tests.segment.test_amending import EVENTS, put, take
from tocsin.errors import InvalidInput, SegmentError
from tocsin.segment import IndexFolder, mapping, pins
from tocsin.segment.folder import local_folder
from tocsin.segment.origins import CACHE, Origin
from tocsin.segment.outlines import bytes_of, outline_of
from tocsin.segment.pins import pinned
from tocsin.segment.retention import KEEP_COPIES_S
from tocsin.segment.storage import ARRAYS
from tocsin.segment.uploading import upload

ARRAYS_OF_A_PART = "version-*/part-*/" + ARRAYS


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an index that is not there yet. Arrow and fsspec take a folder for an object store, too."""
    monkeypatch.setenv(CACHE, str(tmp_path / "copies"))
    pins._in_store.cache_clear()
    return (tmp_path / "store" / "index").as_uri()


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file was copied from a store."""
    seen: Counter[str] = Counter()
    get = Origin._get

    def counted(origin: Origin, name: str, target: Path) -> None:
        seen[name] += 1
        get(origin, name, target)

    monkeypatch.setattr(Origin, "_get", counted)
    return seen


def opened(store: str) -> list[tuple[int, Any, float]]:
    """The answers of the version that is current in a store, as a task has them."""
    return asked(mapping.opened(IndexFolder.read(store).here()), EVENTS)


def test_it_answers_like_its_folder_and_copies_each_file_once(
    tmp_path: Path, store: str, fetched: Counter[str]
) -> None:
    """Also after a change: parts that versions share are neither sent nor copied again."""
    folder = tmp_path / "index"
    take(folder, put("a", 1), put("b", 1, "n >= 2"))
    upload(folder, store)
    first = opened(store)
    parts = len(IndexFolder.read(folder).parts)
    take(folder, put("c", 2, "n = 3"), keep_s=0.0)
    version = upload(folder, store)

    assert first == [(1, "a", 1.0), (2, "b", 1.0), (3, "b", 1.0)]
    assert opened(store) == opened(store) == asked(IndexFolder.read(folder).open(), EVENTS)
    assert IndexFolder.read(store).version == version == IndexFolder.read(folder).version
    assert set(fetched.values()) == {1}
    assert sum(name.endswith(ARRAYS) for name in fetched) == parts + 1


def test_processes_of_a_machine_copy_once(tmp_path: Path, store: str, fetched: Counter[str]) -> None:
    """Those that come later wait for the one that copies, and nothing unfinished is left."""
    take(tmp_path / "index", put("a", 1))
    upload(tmp_path / "index", store)

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: asked(IndexFolder.read(store).here().open(), EVENTS), range(8)))

    assert answers == [[(1, "a", 1.0)]] * 8
    assert set(fetched.values()) == {1}
    assert not list((tmp_path / "copies").rglob(".*"))


def test_an_outline_copies_no_arrays(tmp_path: Path, store: str, fetched: Counter[str]) -> None:
    """A task that sends events to parts, or a driver, needs small files alone; the sizes come from the store."""
    take(tmp_path / "index", put("a", 1))
    upload(tmp_path / "index", store)
    folder = IndexFolder.read(store)

    assert outline_of(folder.here()).wanted.names == outline_of(IndexFolder.read(tmp_path / "index")).wanted.names
    assert bytes_of(folder) == bytes_of(IndexFolder.read(tmp_path / "index")) > 0
    assert fetched
    assert not [name for name in fetched if name.endswith(ARRAYS)]


def test_copies_that_no_task_uses_go(tmp_path: Path, store: str) -> None:
    """An hour after their last use; what is mapped still answers, and what later versions share stays."""
    folder = tmp_path / "index"
    take(folder, put("a", 1))
    upload(folder, store)
    before = IndexFolder.read(store).here()
    old = before.open()
    take(folder, put("a", 2, "n = 2"), put("b", 1), keep_s=0.0)
    upload(folder, store)
    opened(store)
    copied = before.path / before.parts[0].path
    assert copied.exists()

    manifest = before.path / f"version-{before.version}" / "version.json"
    os.utime(manifest, (manifest.stat().st_mtime - KEEP_COPIES_S - 1,) * 2)
    new = IndexFolder.read(folder)
    take(folder, put("d", 3), keep_s=0.0)
    upload(folder, store)
    answers = opened(store)

    assert not manifest.exists()
    assert copied.exists() == (before.parts[0].path in {part.path for part in IndexFolder.read(folder).parts})
    assert (before.path / f"version-{new.version}").exists(), "it was used a moment ago"
    assert asked(old, EVENTS) == [(1, "a", 1.0)]
    assert answers == asked(IndexFolder.read(folder).open(), EVENTS)


def test_a_missing_copy_is_made_again(tmp_path: Path, store: str) -> None:
    """Whoever empties the folder of copies loses nothing."""
    take(tmp_path / "index", put("a", 1))
    upload(tmp_path / "index", store)
    folder = IndexFolder.read(store).here()
    folder.open()
    (folder.path / folder.parts[0].path / ARRAYS).unlink()

    assert asked(folder.open(), EVENTS) == [(1, "a", 1.0)]


def test_an_upload_that_fails_changes_nothing_for_readers(
    tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After whichever file it ends, they have the version before; the next attempt sends the rest."""
    folder = tmp_path / "index"
    take(folder, put("a", 1))
    upload(folder, store)
    take(folder, put("b", 1, "n = 2"), keep_s=0.0)
    put_file, sent = Origin.put, list[str]()

    def failing(origin: Origin, file: Path, name: str) -> None:
        if len(sent) == attempt:
            raise SegmentError("the network is gone")
        put_file(origin, file, name)
        sent.append(name)

    monkeypatch.setattr(Origin, "put", failing)
    attempt, is_whole = 0, False
    while not is_whole:
        attempt += 1
        try:
            upload(folder, store)
            is_whole = True
        except SegmentError:
            assert opened(store) == [(1, "a", 1.0)]

    assert sent[-1] == "manifest.json"
    assert len(sent) == len(set(sent)) == attempt > 3
    assert opened(store) == [(1, "a", 1.0), (2, "b", 1.0)]


def test_a_batch_of_a_stream_keeps_its_version(tmp_path: Path, store: str) -> None:
    """Of tasks that ask at once one decides; a replay has its version, although others were uploaded."""
    folder = tmp_path / "index"
    take(folder, put("a", 1))
    upload(folder, store)
    with ThreadPoolExecutor(8) as threads:
        asked_at_once = list(threads.map(lambda _: pins._in_store.__wrapped__(Origin(store), "s", 0), range(8)))
    for version in range(2, 5):
        take(folder, put("a", version, "n = 2"), keep_s=0.0)
        upload(folder, store, keep_s=0.0)

    assert len(set(asked_at_once)) == 1
    first, present = pinned(store, "s", 0)
    assert (first.version, present) == tuple(asked_at_once[0])
    assert asked(first.here().open(), EVENTS) == [(1, "a", 1.0)]
    assert asked(pinned(store, "s", 1)[0].here().open(), EVENTS) == [(2, "a", 1.0)]
    pinned(store, "s", 2)
    assert sorted(name for name, _ in Origin(store).names("pins")) == ["pins/s/1", "pins/s/2"]


def test_versions_that_nobody_needs_leave_the_store(tmp_path: Path, store: str) -> None:
    """The current one, the one before, and those of streams stay."""
    folder = tmp_path / "index"
    versions = []
    for number in range(4):
        take(folder, put(f"s{number}", number + 1, f"n = {number}"), keep_s=0.0)
        versions.append(upload(folder, store, keep_s=0.0))
        if not number:
            pinned(store, "stream", 0)

    left = [version for version in versions if Origin(store).text(f"version-{version}/version.json") is not None]
    assert left == [versions[0], *versions[2:]]
    assert asked(IndexFolder.read(store, versions[0]).here().open(), EVENTS) == [(0, "s0", 1.0)]
    with pytest.raises(SegmentError, match=versions[1]):
        IndexFolder.read(store, versions[1])


def test_what_cannot_be_is_told(tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No index, no upload, no URL, no folder for copies: each error names the URL and what to do."""
    with pytest.raises(SegmentError, match=r"no tocsin index at file://.*upload"):
        IndexFolder.read(store)
    take(tmp_path / "index", put("a", 1))
    with pytest.raises(InvalidInput, match="give a URL"):
        upload(tmp_path / "index", str(tmp_path / "other"))
    with pytest.raises(InvalidInput, match="upload it there"):
        local_folder(store)
    upload(tmp_path / "index", store)
    (tmp_path / "file").touch()
    monkeypatch.setenv(CACHE, str(tmp_path / "file"))
    with pytest.raises(SegmentError, match=f"file://.*{CACHE}"):
        IndexFolder.read(store).here()
    with pytest.raises(SegmentError, match="there is no folder"):
        upload(tmp_path / "none", store)
