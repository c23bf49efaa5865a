"""A restored folder has what the served one had when it was copied, or there is no restored folder."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import tocsin
from tests.service.receivers import hook
from tests.service.served import Served, served
from tests.service.windowed import BOUNDS, PATH, interest, push, results
from tests.waiting import awaited
from tocsin.cli.main import main
from tocsin.errors import StoreError
from tocsin.service import backups
from tocsin.service.access.token_file import TokenFile

NOBODY: Final = "http://127.0.0.1:9/"
PATHS: Final = (
    "subscriptions", "subscriptions/s1", "destinations/d/deliveries?after=2", "destinations/w/dead-letters", "windows",
    "windows/news/subscriptions", "windows/news/results/u1", "fences", "audit",
)  # fmt: skip
UNFINISHED: Final = "copy.tocsin-unfinished"


def engine_folder(folder: Path, count: int = 3) -> Path:
    with tocsin.Engine.open(folder) as engine:
        engine.subscribe_many([{"id": f"s{n}", "where": f"n >= {n}", "payload": {"n": n}} for n in range(count)])
    return folder


def shown(server: Served, token: str) -> dict[str, Any]:
    """What clients can read, without the names of histories."""
    client = server.client_of(token)
    documents = {path: client.get(f"/v1/{path}").json() for path in PATHS}
    for name in "dw":
        destination = client.get(f"/v1/destinations/{name}").json()
        documents[name] = {key: destination[key] for key in ("kind", "newest", "acknowledged", "earliest")}
    documents["destinations/d/deliveries?after=2"].pop("epoch")
    return documents


def fill(server: Served) -> None:
    """One of everything that a tenant may have, with deliveries that wait."""
    server.destination()
    assert server.client.put(PATH, json={"size": 100, "bounds": BOUNDS}).status_code == 201
    assert interest(server).status_code == 201
    assert push(server, "seafood", text_of="x").status_code == 202
    assert server.client.put("/v1/fences/cars", json={"key": "car"}).status_code == 201
    hook(server, NOBODY)
    assert server.subscribe("s1", "n >= 1", destination="d", payload={"user": "ann"}).status_code == 201
    for n in range(4):
        assert server.publish({"n": n}).status_code == 202
    assert server.client.post("/v1/destinations/d/ack", json={"sequence": 2}).status_code == 200


def test_a_restored_server_answers_like_the_one_that_was_copied(tmp_path: Path, capsys: Any) -> None:
    """Of both tenants: subscriptions, deliveries after a cursor, webhooks, windows, fences, the audit log, tokens."""
    alerts, copy, restored = (str(tmp_path / name) for name in ("alerts", "copy", "restored"))
    with served(Path(alerts)) as server:
        fill(server)
        tokens = [server.token(), server.token(tenant="acme")]
        awaited(lambda: server.client.get("/v1/subscriptions").status_code == 401)
        acme = server.client_of(tokens[1])
        assert acme.put("/v1/subscriptions/hers", json={"where": "n = 1"}).status_code == 201
        before = shown(server, tokens[0]), acme.get("/v1/subscriptions").json()
        epoch = server.client_of(tokens[0]).get("/v1/destinations/d").json()["epoch"]
        assert main(["backup", alerts, copy]) == 0
        assert server.client_of(tokens[0]).post("/v1/events", json={"n": 9}).status_code == 202  # not in the copy
    assert main(["restore", copy, restored]) == 0
    with served(Path(restored)) as server:
        after = shown(server, tokens[0]), server.client_of(tokens[1]).get("/v1/subscriptions").json()
        assert after == before
        assert server.client_of(tokens[0]).get("/v1/destinations/d").json()["epoch"] != epoch
        assert server.client.get("/v1/subscriptions").status_code == 401

    assert [one["event"]["n"] for one in after[0]["destinations/d/deliveries?after=2"]["deliveries"]] == [2, 3]
    assert capsys.readouterr().out.startswith("3 stores and the tokens, 0.")
    modes = {one.stat().st_mode & 0o777 for one in Path(restored).rglob("*.db")}
    assert modes == {0o600}


def test_stores_of_a_copy_are_of_one_moment(tmp_path: Path) -> None:
    """A window's messages and the deliveries of their changes agree, although both grow while they are copied."""
    stop = threading.Event()
    with served(tmp_path / "alerts") as server:
        server.destination()
        assert server.client.put(PATH, json={"size": 10_000, "bounds": BOUNDS}).status_code == 201
        assert interest(server, k=1000).status_code == 201

        def write() -> None:
            while not stop.is_set():
                assert push(server, "seafood").status_code == 202

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(3):
                before = server.client.get(PATH).json()["next"]
                awaited(lambda least=before + 5: server.client.get(PATH).json()["next"] >= least)
                backups.back_up(tmp_path / "alerts", tmp_path / f"copy{number}")
        finally:
            stop.set()
            writer.join()
    for number in range(3):
        backups.restore(tmp_path / f"copy{number}", tmp_path / f"restored{number}")
        with served(tmp_path / f"restored{number}") as server:
            taken = server.client.get(PATH).json()["next"]
            awaited(lambda: server.client.get("/v1/destinations/d").json()["newest"] >= taken)  # noqa: B023
            assert [one["event"]["number"] for one in server.pulled(limit=1000)] == list(range(min(taken, 1000)))
            assert len(results(server)) == min(taken, 1000) >= 5


@pytest.mark.parametrize("is_window", [False, True], ids=["engine", "window"])
def test_the_folder_of_a_library(tmp_path: Path, is_window: bool, capsys: Any) -> None:
    folder = tmp_path / "store"
    if is_window:
        with tocsin.Window.open(folder, bounds=(0, 0, 8, 4), size=10) as window:
            window.subscribe("a", words=["x"], location=(1, 1))
            window.push(words=["x"], location=(1, 1))
    else:
        engine_folder(folder)
    assert main(["backup", str(folder), str(tmp_path / "copy")]) == 0
    assert main(["restore", str(tmp_path / "copy"), str(tmp_path / "new")]) == 0
    assert "1 store, 0." in capsys.readouterr().out

    if is_window:
        with tocsin.Window.open(tmp_path / "new") as window:
            assert [message for message, _ in window.results("a")] == [0]
    else:
        with tocsin.Engine.open(folder) as old, tocsin.Engine.open(tmp_path / "new") as new:
            assert [new.get(id) for id in new] == [old.get(id) for id in old]
            assert new.sequence == old.sequence
    assert main(["doctor", str(tmp_path / "new")]) == 0


KILLED: Final = """
import os, signal, sys
from pathlib import Path
from tocsin.service import backups
calls = 0
def tell(share):
    global calls
    calls += 1
    if calls == 3:
        os.kill(os.getpid(), signal.SIGKILL)
getattr(backups, sys.argv[1])(Path(sys.argv[2]), Path(sys.argv[3]), tell)
"""


@pytest.mark.parametrize("verb", ["back_up", "restore"])
def test_a_kill_in_the_middle_leaves_no_copy_and_the_next_attempt_makes_it(tmp_path: Path, verb: str) -> None:
    source, target = engine_folder(tmp_path / "alerts"), tmp_path / "copy"
    engine_folder(source / "tenants" / "b")
    if verb == "restore":
        backups.back_up(source, tmp_path / "backup")
        source = tmp_path / "backup"
    done = subprocess.run([sys.executable, "-c", KILLED, verb, source, target], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not target.exists()
    assert (tmp_path / UNFINISHED).exists()
    getattr(backups, verb)(source, target)

    assert not (tmp_path / UNFINISHED).exists()
    for folder in (target, target / "tenants" / "b"):
        with tocsin.Engine.open(folder, read_only=True) as engine:
            assert list(engine) == ["s0", "s1", "s2"]


@pytest.mark.parametrize("verb", [backups.back_up, backups.restore])
def test_an_interruption_leaves_nothing(tmp_path: Path, verb: Callable[..., Any]) -> None:
    source = engine_folder(tmp_path / "alerts")
    if verb is backups.restore:
        backups.back_up(source, tmp_path / "backup")
        source = tmp_path / "backup"
    before = sorted(tmp_path.iterdir())

    def interrupt(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verb(source, tmp_path / "copy", interrupt)
    assert sorted(tmp_path.iterdir()) == before


def test_the_share_that_is_done_grows_to_the_whole(tmp_path: Path) -> None:
    shares: list[float] = []
    backups.back_up(engine_folder(tmp_path / "alerts", 20_000), tmp_path / "copy", shares.append)
    assert shares == sorted(shares)
    assert (len(shares) > 2, shares[-1]) == (True, 1.0)
    shares.clear()
    backups.restore(tmp_path / "copy", tmp_path / "new", shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def _flip(copy: Path) -> None:
    content = bytearray((copy / "store.db").read_bytes())
    content[-1] ^= 1
    (copy / "store.db").write_bytes(content)


def _set(copy: Path, statement: str) -> None:
    with sqlite3.connect(copy / "store.db") as connection:
        connection.execute(statement)
    connection.close()


def _manifest(copy: Path, **changes: Any) -> None:
    document = json.loads((copy / "backup.json").read_text())
    (copy / "backup.json").write_text(json.dumps({**document, **changes}))


FILE: Final = {"path": "store.db", "bytes": 1, "sha256": ""}
REFUSED: Final[dict[str, tuple[Callable[[Path], object], str]]] = {
    "a flipped bit": (_flip, "store.db is damaged, or was changed since"),
    "a longer file": (lambda copy: (copy / "store.db").open("ab").write(b"x"), "was changed since"),
    "a missing file": (lambda copy: (copy / "store.db").unlink(), "store.db is missing"),
    "no manifest": (lambda copy: (copy / "backup.json").unlink(), "is not a backup: backup.json is missing"),
    "no JSON": (lambda copy: (copy / "backup.json").write_text("{"), "cannot be read"),
    "deep JSON": (lambda copy: (copy / "backup.json").write_text("[" * 100_000), "cannot be read"),
    "a list": (lambda copy: (copy / "backup.json").write_text("[]"), "is damaged"),
    "a newer manifest": (lambda copy: _manifest(copy, version=2, tocsin="9.1"), "by tocsin 9.1, and this release"),
    "another format": (lambda copy: _manifest(copy, format="zip"), "is damaged"),
    "a newer store": (lambda copy: _set(copy, "PRAGMA user_version = 99"), "version 99, .* use a newer tocsin"),
    "newer tables": (lambda copy: _set(copy, "INSERT INTO meta VALUES ('service', 99)"), "by a newer release"),
    "no files": (lambda copy: _manifest(copy, files=[]), "is damaged"),
    "the same file twice": (lambda copy: _manifest(copy, files=[FILE, FILE]), "is damaged"),
    "a path outside": (lambda copy: _manifest(copy, files=[FILE, {**FILE, "path": "../store.db"}]), "is damaged"),
    "a tenant outside": (lambda copy: _manifest(copy, files=[FILE, {**FILE, "path": "tenants/../store.db"}]), "is dam"),
    "an absolute path": (lambda copy: _manifest(copy, files=[FILE, {**FILE, "path": "/etc/passwd"}]), "is damaged"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_damaged_or_newer_is_not_restored(tmp_path: Path, name: str) -> None:
    spoil, message = REFUSED[name]
    backups.back_up(engine_folder(tmp_path / "alerts"), tmp_path / "backup")
    spoil(tmp_path / "backup")
    before = sorted(tmp_path.iterdir())

    with pytest.raises(StoreError, match=message):
        backups.restore(tmp_path / "backup", tmp_path / "copy")
    assert sorted(tmp_path.iterdir()) == before


def test_a_damaged_store_makes_no_backup(tmp_path: Path) -> None:
    store = engine_folder(tmp_path / "alerts", 5000) / "store.db"
    content = bytearray(store.read_bytes())
    content[5 * 4096 : 7 * 4096] = bytes(2 * 4096)
    store.write_bytes(content)

    with pytest.raises(StoreError, match="tocsin doctor"):
        backups.back_up(tmp_path / "alerts", tmp_path / "copy")
    assert [one.name for one in tmp_path.iterdir()] == ["alerts"]


def test_unreadable_tokens_make_no_backup(tmp_path: Path) -> None:
    folder = engine_folder(tmp_path / "alerts")
    TokenFile(folder).create("", ["read"])
    (folder / "access" / "tokens.json").write_text("{")

    with pytest.raises(StoreError, match="cannot be read"):
        backups.back_up(folder, tmp_path / "copy")
    assert [one.name for one in tmp_path.iterdir()] == ["alerts"]


def test_places_that_are_refused(tmp_path: Path) -> None:
    """Nothing that is there is replaced, and a copy is never taken for a tenant."""
    folder = engine_folder(tmp_path / "alerts")
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("there", "link"):
        with pytest.raises(StoreError, match="exists already; name a new folder"):
            backups.back_up(folder, tmp_path / name)
    for name in ("alerts/copy", "alerts/tenants/copy"):
        with pytest.raises(StoreError, match="is inside"):
            backups.back_up(folder, tmp_path / name)
    with pytest.raises(StoreError, match=r"has no store: store\.db is missing"):
        backups.back_up(tmp_path / "there", tmp_path / "copy")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["alerts", "link", "there"]


def test_two_attempts_at_the_same_name(tmp_path: Path) -> None:
    folder = engine_folder(tmp_path / "alerts")
    errors: list[str] = []

    def again(share: float) -> None:
        try:
            backups.back_up(folder, tmp_path / "copy")
        except StoreError as error:
            errors.append(str(error))

    backups.back_up(folder, tmp_path / "copy", again)
    assert set(errors) == {f"another process writes {tmp_path / 'copy'}"}
    backups.restore(tmp_path / "copy", tmp_path / "new")


def test_a_disk_without_room_is_noticed_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = engine_folder(tmp_path / "alerts")
    monkeypatch.setattr(backups.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 1000}))
    with pytest.raises(StoreError, match=r"the disk has 0\.0 MB, and"):
        backups.back_up(folder, tmp_path / "copy")
    assert [one.name for one in tmp_path.iterdir()] == ["alerts"]
