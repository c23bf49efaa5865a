"""Stores that are spoilt while no server runs: a start has everything that was stored, or is refused in words."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.service.served import served
from tocsin.errors import StoreError


def cut_in_half(folder: Path) -> None:
    os.truncate(folder / "store.db", (folder / "store.db").stat().st_size // 2)


def empty(folder: Path) -> None:
    os.truncate(folder / "store.db", 0)


def overwrite_pages(folder: Path) -> None:
    with (folder / "store.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * 4096 * 8)


def spoil_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_bytes(b"\xa5" * 200)


def cut_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_bytes((folder / "manifest.json").read_bytes()[:100])


def delete_index(folder: Path) -> None:
    for version in folder.glob("version*"):
        shutil.rmtree(version)


def fill(folder: Path) -> None:
    """A store with subscriptions and a delivery, and with an index beside it."""
    with served(folder) as server:
        server.destination()
        for number in range(20):
            server.subscribe(f"s{number}", f"n >= {number}", destination="d")
        assert server.publish({"n": 100}).json()["matches"] == 20
    assert (folder / "manifest.json").exists()


@pytest.mark.parametrize("spoil", [cut_in_half, empty, overwrite_pages], ids=lambda one: one.__name__)
def test_a_spoilt_database_is_refused(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """It is never taken for an empty one."""
    fill(tmp_path)
    spoil(tmp_path)

    with pytest.raises(StoreError, match=r"run `tocsin doctor`|is not a store of tocsin"), served(tmp_path):
        pass


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("spoil", [spoil_manifest, cut_manifest, delete_index], ids=lambda one: one.__name__)
def test_a_spoilt_index_is_made_again(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """Nothing is lost with it."""
    fill(tmp_path)
    spoil(tmp_path)

    with served(tmp_path) as server:
        assert len(server.client.post("/v1/match", json={"n": 10}).json()["matches"]) == 11
        assert [one["event"] for one in server.pulled(after=0)] == [{"n": 100}]
