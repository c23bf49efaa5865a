"""SQLite's write-ahead log, read before SQLite reads it, so that damage is noticed.

SQLite reads a log up to the first frame whose checksum is wrong, because a power cut may leave such a frame. It drops
all later transactions without a word. A log is damaged if it shows that the wrong frame had reached the disk:

- a commit frame at or after it has a successor. The next transaction begins only after that commit was synced;
- or the index of the log, which SQLite shares between processes, counts it. SQLite updates it after each sync.

A torn last transaction shows neither. With `sync="relaxed"` commits are not synced, and such a log is not examined.

Source: https://www.sqlite.org/fileformat2.html#the_write_ahead_log, https://www.sqlite.org/walformat.html
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.errors import StoreError
from tocsin.locks import Lock
from tocsin.segment.folder import STORE
from tocsin.store.connections import sync
from tocsin.store.owner import OWNER, Owner

_HEADER, _FRAME_HEADER = 32, 24
_BIG, _LITTLE = 0x377F0683, 0x377F0682
_VERSION: Final = 3_007_000
_PAGES: Final = (4096, 512, 1024, 2048, 8192, 16384, 32768)
"""Sizes of a page, first that of stores. A database of larger ones is not a store."""
_SECTOR: Final = 512
_PIECE: Final = 8 << 20
_INDEX: Final = 48  # bytes of each of its two copies
RELAXED: Final = "store.relaxed"
"""The file beside a store whose last commits may not have been synced."""

Words = NDArray[np.uint32]


class Damage(NamedTuple):
    """The first unreadable frame, the number of frames, and how many transactions at least are lost with it."""

    frame: int
    frames: int
    transactions: int
    is_in_database: bool  # all of the log had been copied into the database

    def describe(self, folder: Path) -> str:
        lost = "1 transaction" if self.transactions == 1 else f"{self.transactions:,} transactions"
        return (
            f"the write-ahead log of the store in {folder} is damaged: frame {self.frame:,} of {self.frames:,} cannot "
            f"be read, and at least {lost} from there on; restore a backup, or run `tocsin doctor {folder} --salvage`, "
            "which copies the files aside and goes on with what can be read"
        )


class _Checksum:
    """The checksum of a log's frames. It is linear in the words and in the checksum before, all modulo 2^32.

    So those of many frames are one product with a matrix.
    """

    def __init__(self, words: int) -> None:
        step = np.array([[1, 1], [1, 2]], np.uint32)  # two sums, after two words
        power = np.eye(2, dtype=np.uint32)
        self._weights = np.empty((words, 2), np.uint32)
        for pair in range(words - 2, -1, -2):
            self._weights[pair] = power[:, 0] + power[:, 1]
            self._weights[pair + 1] = power[:, 1]
            power = power @ step
        self._power = power

    def of(self, rows: Words, before: Words) -> Words:
        """The checksums of rows of words, each with the one that precedes it."""
        sums: Words = rows @ self._weights + before @ self._power.T
        return sums


class _Index(NamedTuple):
    """The index of a log: how many frames were committed, and how many of them are in the database."""

    salts: bytes
    committed: int
    copied: int

    @classmethod
    def read(cls, place: Path) -> _Index | None:
        """The index, if it is there and whole."""
        content = _content(place, 2 * _INDEX + 4)
        if len(content) < 2 * _INDEX + 4 or content[:_INDEX] != content[_INDEX : 2 * _INDEX] or not content[12]:
            return None
        words = np.frombuffer(content, np.uint32)
        if not np.array_equal(_Checksum(10).of(words[:10], np.zeros(2, np.uint32)), words[10:12]):
            return None
        return cls(content[32:40], int(words[4]), int(words[2 * _INDEX // 4]))


def _content(place: Path, size: int) -> bytes:
    """The first bytes of a file that SQLite locks.

    If this process closed a descriptor of it, all locks of SQLite would go. So one that is open is used.
    """
    if sys.platform != "linux":
        return b""
    try:
        status = place.stat()
        for link in Path("/proc/self/fd").iterdir():
            with suppress(OSError):  # it was closed meanwhile
                if os.path.samestat(os.fstat(int(link.name)), status):
                    return os.pread(int(link.name), size, 0)
        with place.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


class _Log:
    """The frames of a log: which are commits, have the salts of the header, and continue the frame before them."""

    def __init__(self, place: Path) -> None:
        self._place = place
        with place.open("rb") as file:
            header = file.read(_HEADER)
            words = np.frombuffer(header.ljust(_HEADER, b"\0"), ">u4")
            self.is_headed = self._understand(words)
            self._size = file.seek(0, os.SEEK_END)
            file.seek(_HEADER + 8)
            self.salts = header[16:24] if self.is_headed else file.read(8)
        self._divide(self._page)
        if not self.is_headed:
            self._divide(next(filter(self._is_size_of_page, _PAGES), self._page))
        self._read()

    def _divide(self, page: int) -> None:
        self.frame_bytes = _FRAME_HEADER + page
        self.frames = max(self._size - _HEADER, 0) // self.frame_bytes
        self._checksum = _Checksum(2 + page // 4)

    def _is_size_of_page(self, page: int) -> bool:
        """Whether the second frame continues the first one, with pages of a size."""
        self._divide(page)
        return self.frames > 1 and self._agrees(1, self._stored(0))

    def _understand(self, words: NDArray[np.uint32]) -> bool:
        """Take page size and byte order from the header; returns whether it is whole. Otherwise they are the usual."""
        page, self._before = int(words[2]), words[6:8].astype(np.uint32)
        is_known = words[0] in (_BIG, _LITTLE) and words[1] == _VERSION and page in _PAGES
        self._order = np.dtype(">u4" if words[0] == _BIG else "<u4")
        is_whole = bool(is_known and np.array_equal(self._after_header(words), self._before))
        if not is_whole:
            self._order = np.dtype(np.uint32)
        self._page = page if is_whole else _PAGES[0]
        self._computed = self._after_header(words)
        return is_whole

    def _after_header(self, words: NDArray[np.uint32]) -> Words:
        raw = np.frombuffer(words[:6].tobytes(), self._order).astype(np.uint32)
        return _Checksum(6).of(raw, np.zeros(2, np.uint32))

    def _rows(self, first: int, count: int) -> NDArray[np.uint8]:
        """The bytes of frames, a row each; zeros if the log was cut meanwhile."""
        rows = np.zeros((count, self.frame_bytes), np.uint8)
        with self._place.open("rb") as file:
            file.seek(_HEADER + first * self.frame_bytes)
            file.readinto(rows.data)
        return rows

    def _sums(self, rows: NDArray[np.uint8], before: Words) -> Words:
        words = rows.view(self._order)
        summed = np.concatenate((words[:, :2], words[:, _FRAME_HEADER // 4 :]), axis=1).astype(np.uint32, copy=False)
        return self._checksum.of(summed, before)

    def _read(self) -> None:
        self.commits, self.current, self.linked = (np.zeros(self.frames, np.bool_) for _ in range(3))
        at_once, before = max(_PIECE // self.frame_bytes, 1), self._before
        for first in range(0, self.frames, at_once):
            rows = self._rows(first, min(at_once, self.frames - first))
            piece = slice(first, first + len(rows))
            heads = rows[:, :_FRAME_HEADER].copy().view(">u4").astype(np.uint32)
            stored = heads[:, 4:]
            sums = self._sums(rows, np.concatenate((before[None], stored[:-1])))
            self.commits[piece] = heads[:, 1] != 0
            self.current[piece] = (rows[:, 8:16] == np.frombuffer(self.salts, np.uint8)).all(axis=1)
            self.linked[piece] = (sums == stored).all(axis=1)
            before = stored[-1]

    @property
    def readable(self) -> int:
        """How many frames SQLite reads."""
        if not self.is_headed:
            return 0
        wrong = ~(self.linked & self.current)
        return int(wrong.argmax()) if wrong.any() else self.frames

    def commits_after(self, first: int) -> bool:
        """Whether a whole transaction follows a number of frames."""
        return bool((self.commits & self.current & self.linked)[first:].any())

    def is_synced_after(self, first: int) -> bool:
        """Whether a commit at or after a wrong frame has a successor."""
        linked, trusted = self.linked.copy(), self.linked & self.current
        if self.is_headed and first < self.frames:
            # A sector of the disk is written whole, so the length and the salts of a frame are as old as each other.
            is_split = (_HEADER + first * self.frame_bytes + 8) % _SECTOR == 0
            trusted[first] = linked[first] or (self.current[first] and not is_split)
            if self._continues(first):
                trusted[first] = linked[first + 1] = True
                trusted[first + 1] = self.current[first + 1]
        elif self.frames:
            linked[0] |= self._agrees(0, self._computed)
            trusted[0] = linked[0]
        successors = linked & self.current
        return bool(np.any((self.commits & trusted)[first:-1] & successors[first + 1 :]))

    def _continues(self, wrong: int) -> bool:
        """Whether the frame after a wrong one continues its content, so that only its checksum is wrong."""
        if wrong + 1 >= self.frames:
            return False
        before = self._stored(wrong - 1) if wrong else self._before
        return self._agrees(wrong + 1, self._sums(self._rows(wrong, 1), before[None])[0])

    def _stored(self, frame: int) -> Words:
        """The checksum that a frame has."""
        return self._rows(frame, 1)[0, 16:24].copy().view(">u4").astype(np.uint32)

    def _agrees(self, frame: int, before: Words) -> bool:
        return np.array_equal(self._sums(self._rows(frame, 1), before[None])[0], self._stored(frame))


def find_damage(database: Path) -> Damage | None:
    """The damage of a store's log, if there is any. Nobody may write the store meanwhile.

    Cost: reads the log once, by pieces, at about a gigabyte a second.
    """
    place = database.with_name(f"{database.name}-wal")
    if is_relaxed(database.parent):
        return None
    try:
        log = _Log(place)
    except FileNotFoundError:
        return None
    index = _Index.read(database.with_name(f"{database.name}-shm"))
    readable = log.readable
    if index is not None and (index.salts != log.salts or not log.frames):
        index = None  # of another generation of the log
    committed = 0 if index is None else index.committed
    if committed <= readable and (readable == log.frames or not log.is_synced_after(readable)):
        return None
    lost = int((log.commits & log.current)[readable:].sum())
    is_copied = index is not None and index.copied == committed and not log.commits_after(committed)
    return Damage(readable + 1, max(log.frames, committed), max(lost, 1), is_copied)


def require_sound(database: Path, *, read_only: bool) -> None:
    """Raise `StoreError` if the log of a store is damaged. A process that opens it for writing is its only writer."""
    damage = find_damage(database)
    if damage is None:
        return
    if read_only:
        with Lock(database.parent / OWNER, 0.0) as lock:
            if lock.waited:  # its writer has examined it, and writes it meanwhile
                return
            damage = find_damage(database)
    if damage is not None:
        raise StoreError(damage.describe(database.parent))


def is_relaxed(folder: Path) -> bool:
    """Whether the last commits of a store may not have been synced."""
    return (folder / RELAXED).exists()


def mark_relaxed(folder: Path) -> None:
    """Say, before the first commit, that commits are not synced."""
    (folder / RELAXED).touch(0o600)
    sync(folder)


def mark_synced(folder: Path, *, is_empty: bool) -> None:
    """Say that commits are synced, once the log has none of those that were not."""
    if is_empty:
        (folder / RELAXED).unlink(missing_ok=True)


def salvage(folder: Path) -> Path | None:
    """Copy a damaged log and its database aside, and leave what can be read; None if nothing is damaged.

    Returns the folder of the copies. Raises `StoreError` if another process writes the store.
    """
    database, owner = folder / STORE, Owner(folder)
    try:
        damage = find_damage(database)
        if damage is None:
            return None
        log = database.with_name(f"{STORE}-wal")
        aside = folder / time.strftime("damaged-%Y%m%dT%H%M%SZ", time.gmtime())
        aside.mkdir(mode=0o700)
        for file in (database, log):
            shutil.copy2(file, aside / file.name)
        kept = 0 if damage.is_in_database else damage.frame - 1
        os.truncate(log, _HEADER + kept * _Log(log).frame_bytes if kept else 0)
        database.with_name(f"{STORE}-shm").unlink(missing_ok=True)  # it counts what is gone
        sync(folder)
        return aside
    finally:
        owner.release()
