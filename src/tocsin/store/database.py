"""The database of a store: subscriptions and tombstones, each with the sequence number of its last change.

    meta           the store's identity and its settings
    subscriptions  id, condition, score, payload, weights, sequence, version
    tombstones     ids of removed subscriptions, with the sequence and the version of the removal
    objects        the state of each object of fences

A store of a window has `window_tables` instead. One connection writes, in write-ahead mode. All others are opened
read-only. docs/format.md describes the tables.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from tocsin.errors import StoreError
from tocsin.model.texts import Text
from tocsin.segment.folder import STORE
from tocsin.spelling import only_in_python
from tocsin.store import connections, write_ahead_log
from tocsin.store.owner import DatabaseLock
from tocsin.store.schema import APPLICATION, SCHEMA, VERSION, statements_since
from tocsin.store.subscription_table import Row, SubscriptionTable
from tocsin.store.window_tables import WindowTables

DATABASE: Final = STORE
_SEQUENCE: Final = """
SELECT max(coalesce((SELECT max(sequence) FROM subscriptions), 0), coalesce((SELECT max(sequence) FROM tombstones), 0),
    (SELECT value FROM meta WHERE name = 'floor'))
"""
_PUT_META: Final = """
INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value IS NOT excluded.value
"""
_OLDEST_SQLITE: Final = (3, 37)  # it has strict tables
SYNCS: Final = {"full": "FULL", "relaxed": "NORMAL"}
_AT_ONCE: Final = 4096
_FOLD_S: Final = 1.0
_LARGE_WAL: Final = 64 << 20
_SMALL_WAL: Final = 1 << 20
_LITTLE_ROOM: Final = 4 * _LARGE_WAL
"""On a disk with less room, the log is folded sooner. A full disk may have no room for what a large log would add."""
ALARMING_LOG: Final = 4 * _LARGE_WAL
"""A log of so many bytes means that some reader keeps it from being folded."""
_FREE_PAGES: Final = 256
"""How many unused pages are given back to the file system after a checkpoint."""


class Identity(NamedTuple):
    """Which store, and which of its histories: a restored backup has a new epoch."""

    store: str
    epoch: str


class Database:
    """A connection to the database of a store. Not thread-safe: the owner of a writing connection serialises calls."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: DatabaseLock | None = None) -> None:
        self.folder = folder
        self._connection = connection
        self._lock = lock
        self._window = WindowTables(folder, connection)
        self._folded, self._has_little_room = time.monotonic(), False
        self._is_to_begin = False  # within a transaction that has had no statement yet
        self.subscriptions = SubscriptionTable(connection, self._begin)

    # Opening

    @classmethod
    def create(cls, folder: Path, fill: Callable[[Database], None] = lambda database: None) -> None:
        """Make an empty store, or one that `fill` fills, atomically."""
        place, beside = folder / DATABASE, folder / f".{DATABASE}.{uuid.uuid4().hex[:8]}"
        try:
            with connections.told(folder), connections.connected(beside, "rwc") as connection:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.executescript(SCHEMA)
                new = cls(folder, connection)
                with new.transaction():
                    new.put_meta("store", uuid.uuid4().hex)
                    new.put_meta("epoch", uuid.uuid4().hex[:12])
                    new.put_meta("floor", 0)
                    fill(new)
            with connections.told(folder):
                beside.rename(place)
                connections.sync(folder)
        finally:
            beside.unlink(missing_ok=True)

    @classmethod
    def open(
        cls, folder: Path, *, read_only: bool = False, sync: str = "full", lock: DatabaseLock | None = None
    ) -> Database:
        """Open the database of a store, and lock it; raises `StoreError`."""
        place = folder / DATABASE
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise StoreError(f"durable engines need SQLite 3.37, and this Python has {sqlite3.sqlite_version}")
        if not place.exists():
            raise StoreError(f"{folder} has no store: {DATABASE} is missing")
        with connections.told(folder), ExitStack() as opened:
            write_ahead_log.require_sound(place, read_only=read_only)
            with nullcontext() if lock is None else lock.taking(place):
                one = cls(folder, connections.connect(place, "ro" if read_only else "rw"), lock)
                opened.callback(one.close)
            with _may_lack_rights(folder):
                one._require_known()
            if not read_only:
                one._begin_to_write(sync)
            opened.pop_all()
        return one

    def _begin_to_write(self, sync: str) -> None:
        if sync != "full":
            write_ahead_log.mark_relaxed(self.folder)
        log = ("journal_mode = WAL", "wal_autocheckpoint = 0", f"journal_size_limit = {_LARGE_WAL}")
        for setting in (*log, f"synchronous = {SYNCS[sync]}"):
            self._connection.execute(f"PRAGMA {setting}")
        if sync == "full" and write_ahead_log.is_relaxed(self.folder):
            self.fold_log(whole=True)  # which syncs it
            write_ahead_log.mark_synced(self.folder, is_empty=self.log_bytes == 0)
        self._upgrade()
        self._look_for_room()

    def _require_known(self) -> None:
        if self._pragma("application_id") != APPLICATION:
            raise StoreError(f"{self.folder / DATABASE} is not a store of tocsin")
        version = self._pragma("user_version")
        if version > VERSION:
            raise StoreError(
                f"{self.folder} has a store of version {version}, and this release knows {VERSION}; use a newer tocsin"
            )

    def _upgrade(self) -> None:
        """Add the tables of later versions, in one transaction. A reader of an older store needs none of them."""
        version = self._pragma("user_version")
        if version < VERSION:
            with self.transaction():
                for statement in statements_since(version):
                    self.connection.execute(statement)
                self.connection.execute(f"PRAGMA user_version = {VERSION}")

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    def close(self) -> None:
        """Unlock the database, and close the connection."""
        if self._lock is not None:
            self._lock.release()
        self._connection.close()

    # Meta

    def meta(self, name: str) -> Any:
        """A setting; None if there is none."""
        with connections.told(self.folder):
            found = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if found is None else found[0]

    def put_meta(self, name: str, value: Any) -> None:
        """Change a setting, within a transaction. Nothing is written if it has that value."""
        self.connection.execute(_PUT_META, (name, value))

    @property
    def identity(self) -> Identity:
        """Which store this is."""
        return Identity(self.meta("store"), self.meta("epoch"))

    @property
    def sequence(self) -> int:
        """The number of the last change: that of a row, of a tombstone, or of the last one that is forgotten."""
        with connections.told(self.folder):
            return int(self._connection.execute(_SEQUENCE).fetchone()[0])

    @property
    def texts(self) -> dict[str, Text]:
        """The attributes of events that are texts."""
        return {name: Text.of(how) for name, how in json.loads(self.meta("texts") or "{}").items()}

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection, for tables of layers above: within a transaction, or to read."""
        self.subscriptions.flush()
        return self._connection

    @property
    def window(self) -> WindowTables:
        """The tables of a window: within a transaction, or to read."""
        self._begin()
        return self._window

    @property
    def changes(self) -> int:
        """How many rows this connection has written or deleted so far, also in transactions that were taken back."""
        return self._connection.total_changes

    # Transactions

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction, which is durable when the block ends.

        It begins with its first statement. Added subscriptions wait for that, and may be the only statement, which
        needs neither BEGIN nor COMMIT.
        """
        with connections.told(self.folder):
            self._is_to_begin = True
            try:
                yield
                if not (self._is_to_begin and self.subscriptions.flush_at_once()):
                    self.subscriptions.flush()
                    self._connection.execute("COMMIT")
            except BaseException:
                self.subscriptions.discard()
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                self._is_to_begin = False

    def _begin(self) -> None:
        if self._is_to_begin:
            self._connection.execute("BEGIN IMMEDIATE")
            self._is_to_begin = False

    # Reading

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """Everything that is read within the block is of the moment at which it begins."""
        with connections.told(self.folder):
            self._connection.execute("BEGIN")
            try:
                self._connection.execute("SELECT 1 FROM meta LIMIT 1").fetchone()  # SQLite begins with the first read
                yield
            finally:
                self._connection.execute("COMMIT")

    def rows(self, since: int = 0) -> Iterator[Row]:
        """The subscriptions whose last change came after `since`, in the order of their changes."""
        statement = (
            "SELECT id, condition, score, payload, weights, sequence, version FROM subscriptions WHERE sequence > ? "
            "ORDER BY sequence LIMIT ?"
        )
        while True:
            with connections.told(self.folder):
                found = self._connection.execute(statement, (since, _AT_ONCE)).fetchall()
            yield from map(Row._make, found)
            if len(found) < _AT_ONCE:
                return
            since = found[-1][5]

    def removed(self, since: int = 0) -> list[str | int]:
        """The ids of the subscriptions that were removed after `since`."""
        with connections.told(self.folder):
            statement = "SELECT id FROM tombstones WHERE sequence > ? ORDER BY sequence"
            return [id for (id,) in self._connection.execute(statement, (since,))]

    def count(self) -> int:
        """The number of subscriptions."""
        with connections.told(self.folder):
            return int(self._connection.execute("SELECT count(*) FROM subscriptions").fetchone()[0])

    def problems(self, table: str | None = None) -> list[str]:
        """What SQLite's own check finds damaged, in one table or in all; empty if nothing.

        Raises `sqlite3.OperationalError` if `interrupt` ended it.
        """
        part = "" if table is None else f"('{table}')"
        try:
            found = [text for (text,) in self._connection.execute(f"PRAGMA quick_check{part}")]
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                raise
            return [str(error)]
        return [] if found == ["ok"] else found

    def interrupt(self) -> None:
        """End what another thread does with the connection, if it does something."""
        with suppress(sqlite3.ProgrammingError):  # it is closed
            self._connection.interrupt()

    def tables(self) -> list[str]:
        """The names of all tables."""
        with connections.told(self.folder):
            found = self._connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return [name for (name,) in found]

    @property
    def bytes(self) -> int:
        """The size of the database, without its log."""
        with connections.told(self.folder):
            return self._pragma("page_count") * self._pragma("page_size")

    # Objects of fences

    def put_objects(self, states: Iterable[tuple[str, int, str]], gone: Iterable[str]) -> None:
        """Write the states of objects, each with its key and place in their order, and delete others."""
        self.connection.executemany("INSERT OR REPLACE INTO objects VALUES (?, ?, ?)", states)
        self.connection.executemany("DELETE FROM objects WHERE key = ?", ((key,) for key in gone))

    def objects(self) -> list[tuple[str, int, str]]:
        """The states of all objects, in order."""
        with connections.told(self.folder):
            return self._connection.execute("SELECT key, place, state FROM objects ORDER BY place").fetchall()

    # Housekeeping

    def forget_tombstones(self, until: int) -> None:
        """Delete the tombstones of changes up to `until`. A reader that is behind that must read everything again."""
        if until > int(self.meta("floor")):
            with self.transaction():
                self.connection.execute("DELETE FROM tombstones WHERE sequence <= ?", (until,))
                self.put_meta("floor", until)

    @property
    def log_bytes(self) -> int:
        """The size of SQLite's write-ahead log."""
        log = self.folder / f"{DATABASE}-wal"
        return log.stat().st_size if log.exists() else 0

    def fold_log(self, *, whole: bool = False) -> None:
        """Move the write-ahead log into the database; a large log is truncated, and so it is with `whole`.

        Only with `whole` it waits for readers of older states, which keep their part of the log. Raises `StoreError` if
        they keep more than `ALARMING_LOG` bytes.
        """
        size = self.log_bytes
        with connections.told(self.folder):
            self._connection.execute(f"PRAGMA busy_timeout = {connections.BUSY_MS if whole else 0}")
            try:
                mode = "TRUNCATE" if whole or size > _LARGE_WAL else "PASSIVE"
                (is_kept, *_) = self._connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
            finally:
                self._connection.execute(f"PRAGMA busy_timeout = {connections.BUSY_MS}")
            self._connection.executescript(f"PRAGMA incremental_vacuum({_FREE_PAGES})")  # `execute` frees one page
        if is_kept and size > ALARMING_LOG:
            raise StoreError(
                f"the log of the store in {self.folder} has grown to {size >> 20:,} MB, because a process has been "
                "reading one state of it all the time; end that process, or its transaction"
            )

    def fold_log_at_times(self) -> bool:
        """`fold_log` once a second, for a committing thread; returns whether it was time. What fails is tried again."""
        now = time.monotonic()
        is_time = now - self._folded >= _FOLD_S
        if is_time:
            self._folded = now
            self._look_for_room()
        if is_time or (self._has_little_room and self.log_bytes > _SMALL_WAL):
            self.fold_log()
        return is_time

    def _look_for_room(self) -> None:
        with suppress(OSError):
            self._has_little_room = shutil.disk_usage(self.folder).free < _LITTLE_ROOM


@contextmanager
def _may_lack_rights(folder: Path) -> Iterator[None]:
    """Convert the error of a first read in a folder where SQLite may not make the files of its log."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if os.access(folder, os.W_OK) or (folder / f"{DATABASE}-shm").exists():
            raise
        raise StoreError(
            f"{folder} cannot be written, and SQLite makes files beside a store that no process has open; read a copy"
            f"{only_in_python(', or the index with Engine.load')}"
        ) from error
