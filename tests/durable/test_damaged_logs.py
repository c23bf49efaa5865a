"""A write-ahead log that is damaged while nobody has the store open is noticed, and a torn one is not taken for it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

import tocsin
from tests.cli.calling import run
from tocsin.errors import StoreError
from tocsin.store import Database
from tocsin.store.write_ahead_log import RELAXED, find_damage

PAGE: Final = 512
FRAME: Final = 24 + PAGE
ROWS: Final = (1, 1, 40, 1, 60, 1)
"""Rows of 30 bytes of each transaction: some take several pages."""


def fill(place: Path, rows: tuple[int, ...] = ROWS) -> tuple[sqlite3.Connection, list[int]]:
    """A database whose log has some transactions, and the number of frames after each of them."""
    connection = sqlite3.connect(place, isolation_level=None)
    connection.executescript(f"PRAGMA page_size = {PAGE}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    connection.executescript("PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x); PRAGMA wal_checkpoint(TRUNCATE)")
    ends = []
    for count in rows:
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 30,)] * count)
        connection.execute("COMMIT")
        ends.append((Path(f"{place}-wal").stat().st_size - 32) // FRAME)
    return connection, ends


def copied(place: Path, folder: Path, *, with_index: bool) -> Path:
    """What a killed process leaves, or a machine whose power was cut."""
    folder.mkdir()
    for name in ("store.db", "store.db-wal", *(["store.db-shm"] if with_index else [])):
        shutil.copy(place.with_name(name), folder / name)
    return folder / "store.db"


def flips(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The content with a bit flipped, and the frame that has it: all bits of headers, some of pages. Header: -1."""
    for position in range(len(content)):
        within = (position - 32) % FRAME if position >= 32 else 0
        for bit in range(8) if within < 24 else [position % 8] if position % 97 == 0 else []:
            changed = bytearray(content)
            changed[position] ^= 1 << bit
            yield (position - 32) // FRAME, bytes(changed)


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    """A database and its log, as a process left them."""
    folder = tmp_path_factory.mktemp("left")
    connection, ends = fill(folder / "store.db")
    copied(folder / "store.db", folder / "killed", with_index=True)
    connection.close()
    return folder / "killed" / "store.db", ends


def test_each_flipped_bit_is_noticed_after_a_kill(left: tuple[Path, list[int]], tmp_path: Path) -> None:
    """The index of the log counts all frames that were committed."""
    place = copied(left[0], tmp_path / "copy", with_index=True)
    log = Path(f"{place}-wal")
    assert find_damage(place) is None

    for frame, content in flips(log.read_bytes()):
        log.write_bytes(content)
        damage = find_damage(place)
        assert damage is not None
        assert damage.frame == max(frame, 0) + 1


def test_each_flipped_bit_before_a_later_transaction_is_noticed(left: tuple[Path, list[int]], tmp_path: Path) -> None:
    """Without the index, as after a power cut, the later transaction is the proof. The last one may be torn."""
    place, ends = copied(left[0], tmp_path / "copy", with_index=False), left[1]
    log = Path(f"{place}-wal")
    assert find_damage(place) is None

    for frame, content in flips(log.read_bytes()):
        log.write_bytes(content)
        assert (find_damage(place) is not None) == (frame < ends[-2])


def test_a_torn_last_transaction_is_not_damage(left: tuple[Path, list[int]], tmp_path: Path) -> None:
    """A power cut may leave any of its sectors, and lose any."""
    place, ends = copied(left[0], tmp_path / "copy", with_index=False), left[1]
    log = Path(f"{place}-wal")
    content = log.read_bytes()
    size, begin = 32 + ends[4] * FRAME, 32 + ends[3] * FRAME  # without the last one, the transaction of 60 rows is last

    for cut in range(begin, size, 37):
        log.write_bytes(content[:cut])
        assert find_damage(place) is None
    for sector in range(begin // 512, size // 512 + 1):
        for lost in (b"\0" * 512, b"\xa5" * 512, content[:512]):
            start, end = max(sector * 512, begin), min(sector * 512 + 512, size)
            log.write_bytes(content[:start] + lost[: end - start] + content[end:size])
            assert find_damage(place) is None


def test_frames_of_earlier_generations_are_not_damage(tmp_path: Path) -> None:
    """Nor is what a transaction left that was taken back."""
    connection, _ = fill(tmp_path / "store.db")
    with closing(connection):
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        connection.execute("INSERT INTO t VALUES (1)")
        assert find_damage(copied(tmp_path / "store.db", tmp_path / "again", with_index=False)) is None
        connection.execute("PRAGMA cache_size = 2")
        for count in (400, 200, 30):
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO t VALUES (?)", [("y" * 100,)] * count)
            assert find_damage(copied(tmp_path / "store.db", tmp_path / f"open{count}", with_index=True)) is None
            connection.execute("ROLLBACK")
            connection.execute("INSERT INTO t VALUES (1)")
            assert find_damage(copied(tmp_path / "store.db", tmp_path / f"back{count}", with_index=True)) is None


@pytest.fixture
def _unfolded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log keeps all frames."""
    monkeypatch.setattr(Database, "fold_log_at_times", lambda database: False)


def killed(folder: Path, sync: str = "full") -> Path:
    """The folder of an engine whose process was killed after thirty subscriptions."""
    with tocsin.Engine.open(folder / "live", sync=sync) as engine:
        for number in range(30):
            engine.subscribe(f"s{number}", "a = 1")
        shutil.copytree(folder / "live", folder / "killed")
    return folder / "killed"


def damage(folder: Path) -> None:
    log = folder / "store.db-wal"
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 4
    log.write_bytes(content)


@pytest.mark.usefixtures("_unfolded")
def test_a_damaged_log_is_refused_until_it_is_salvaged(tmp_path: Path, capfd: Any) -> None:
    """Each open says so, of a writer or of a reader, and changes nothing."""
    folder = killed(tmp_path)
    damage(folder)
    spoilt = (folder / "store.db-wal").read_bytes()

    for read_only in (True, False, False):
        with pytest.raises(StoreError, match=r"log of the store in .* is damaged: frame \d+ .* 1\d transactions"):
            tocsin.Engine.open(folder, read_only=read_only)
    assert run(capfd, "doctor", str(folder))[0] == 1
    assert (folder / "store.db-wal").read_bytes() == spoilt

    assert "has the files as they were" in run(capfd, "doctor", str(folder), "--salvage")[1]
    (aside,) = folder.glob("damaged-*")
    assert (aside / "store.db-wal").read_bytes() == spoilt
    with tocsin.Engine.open(folder) as engine:
        assert 0 < len(engine) < 30
        engine.subscribe("new", "a = 1")
    assert "not damaged" in run(capfd, "doctor", str(folder), "--salvage")[1]


def fences(folder: Path) -> Any:
    engine = tocsin.Engine()
    engine.subscribe("city", "S_INTERSECTS(place, BBOX(0, 0, 9, 9))")
    return tocsin.Fences.open(folder, engine, key="car")


def window(folder: Path) -> Any:
    return tocsin.Window.open(folder, size=100, bounds=(0, 0, 9, 9))


def change(store: Any, number: int) -> None:
    if isinstance(store, tocsin.Window):
        store.subscribe(number, words=["a"], location=[1, 1])
    else:
        store.push({"car": number, "place": [1, 1]})


@pytest.mark.usefixtures("_unfolded")
@pytest.mark.parametrize("open_store", [fences, window])
def test_stores_of_fences_and_windows_are_refused_too(tmp_path: Path, open_store: Callable[[Path], Any]) -> None:
    with open_store(tmp_path / "live") as store:
        for number in range(9):
            change(store, number)
        shutil.copytree(tmp_path / "live", tmp_path / "killed")
    with open_store(shutil.copytree(tmp_path / "killed", tmp_path / "sound")):
        """Nothing is wrong with it."""
    damage(tmp_path / "killed")

    with pytest.raises(StoreError, match="is damaged: frame"):
        open_store(tmp_path / "killed")


@pytest.mark.usefixtures("_unfolded")
def test_a_log_that_is_cut_is_noticed(tmp_path: Path) -> None:
    """Its index counts more frames."""
    folder = killed(tmp_path)
    with (folder / "store.db-wal").open("r+b") as file:
        file.truncate(32 + 4120 * 3)

    with pytest.raises(StoreError, match="cannot be read"):
        tocsin.Engine.open(folder)


@pytest.mark.usefixtures("_unfolded")
def test_commits_that_were_not_synced_are_not_examined(tmp_path: Path) -> None:
    """With sync="relaxed" a power cut may leave the same. The next full open syncs all, and says so."""
    folder = killed(tmp_path, sync="relaxed")
    assert (folder / RELAXED).exists()
    damage(folder)

    with tocsin.Engine.open(folder) as engine:
        assert len(engine) < 30
        assert not (folder / RELAXED).exists()
