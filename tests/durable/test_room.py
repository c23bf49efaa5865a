"""The room that a store takes on its disk."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from tocsin.store import Database, database

PAGE = 4096


class Usage(NamedTuple):
    """The room of a disk, as `shutil.disk_usage` tells it."""

    total: int
    used: int
    free: int


def fill(store: Database, pages: int) -> None:
    with store.transaction():
        store.put_meta("filler", "x" * (pages * PAGE))


def test_what_was_deleted_is_given_back_to_the_file_system(tmp_path: Path) -> None:
    Database.create(tmp_path)
    with closing(Database.open(tmp_path)) as store:
        fill(store, 600)
        store.fold_log()
        before = store.bytes
        fill(store, 0)
        store.fold_log()
        assert before - store.bytes == database._FREE_PAGES * PAGE
        for _ in range(3):
            store.fold_log()
        assert (tmp_path / "store.db").stat().st_size == store.bytes < before - 590 * PAGE


@pytest.mark.parametrize("has_little_room", [False, True])
def test_the_log_is_folded_sooner_on_a_disk_with_little_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_little_room: bool
) -> None:
    """A full disk may have no room for what a large log would add to the database."""
    free = 1 << 20 if has_little_room else 1 << 40
    monkeypatch.setattr(database.shutil, "disk_usage", lambda folder: Usage(1 << 40, 0, free))
    monkeypatch.setattr(database, "_FOLD_S", 1e9)
    Database.create(tmp_path)
    with closing(Database.open(tmp_path)) as store:
        for pages in (300, 600, 900):
            fill(store, pages)
            assert not store.fold_log_at_times()
        assert ((tmp_path / "store.db").stat().st_size >= 900 * PAGE) == has_little_room
