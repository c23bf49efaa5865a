"""Stores that are spoilt while no server runs: a start has everything that was stored, or is refused in words."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import tocsin
from tests.service.served import served
from tocsin.errors import StoreError
from tocsin.store import Database


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


def damage_log(folder: Path) -> None:
    """Flip a bit of the first of many commits."""
    with tocsin.Engine.open(folder) as engine, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "fold_log_at_times", lambda database: False)
        for number in range(9):
            engine.subscribe(f"more{number}", "n = 1")
        left = {name: (folder / name).read_bytes() for name in ("store.db", "store.db-wal", "store.db-shm")}
    for name, content in left.items():
        (folder / name).write_bytes(content)
    with (folder / "store.db-wal").open("r+b") as file:
        file.seek(1000)
        file.write(bytes([left["store.db-wal"][1000] ^ 4]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("tenant", "spoil"),
    [("", cut_in_half), ("", empty), ("", overwrite_pages), ("", damage_log), ("acme", damage_log)],
)
def test_the_other_tenants_of_a_spoilt_one_are_served(
    tmp_path: Path, tenant: str, spoil: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """The default tenant is left out as any other is. It comes back once its store can be opened."""
    names = ("", "acme")
    with served(tmp_path) as server:
        tokens = {name: server.token(tenant=name) for name in names}
        for name in names:
            answer = server.client_of(tokens[name]).put("/v1/subscriptions/s", json={"where": "n = 1"})
            assert answer.status_code == 201
    folder = tmp_path / "tenants" / "acme" if tenant else tmp_path
    shutil.copytree(folder, tmp_path.parent / f"{tmp_path.name}-sound")
    spoil(folder)

    with served(tmp_path) as server:
        for name in names:
            status = server.client_of(tokens[name]).get("/v1/subscriptions/s").status_code
            assert status == (503 if name == tenant else 200)
        assert server.client.get("/v1/subscriptions/s").status_code == 401
        assert [server.client.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
        assert f"the {'tenant acme' if tenant else 'default tenant'} is left out" in caplog.text
        shutil.copy(tmp_path.parent / f"{tmp_path.name}-sound" / "store.db", folder / "store.db")
        for file in ("store.db-wal", "store.db-shm"):
            (folder / file).unlink(missing_ok=True)
        assert server.client_of(tokens[tenant]).get("/v1/subscriptions/s").status_code == 200


def test_a_second_server_is_refused_although_there_are_other_tenants(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        assert server.client_of(server.token(tenant="acme")).get("/v1/subscriptions").status_code == 200
        with pytest.raises(StoreError, match="is open for writing"), served(tmp_path):
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
