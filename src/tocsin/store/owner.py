"""The one process that writes a store."""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar, Final

from tocsin.errors import StoreError
from tocsin.forking import awaited
from tocsin.locks import Lock
from tocsin.spelling import only_in_python

if sys.platform == "linux":
    import fcntl

OWNER: Final = "store.lock"
_FAR: Final = 1 << 62
_NETWORK: Final = ("9p", "afs", "ceph", "cifs", "fuse.sshfs", "glusterfs", "lustre", "nfs", "nfs4", "smb3", "smbfs")
"""File systems without the locks and the shared memory that SQLite's write-ahead log needs."""


class InUse(StoreError):
    """Another process, or another object of this one, writes the store."""


class Owner:
    """The right to write the store in a folder, held until `release` or the end of the process.

    It is a lock on a file of its own, which can be deleted, and one on the database itself: see `DatabaseLock`.
    """

    def __init__(self, folder: Path) -> None:
        self._place = folder / OWNER
        self._process = os.getpid()
        self.database = DatabaseLock()
        self.trouble: str | None = None
        """Why nothing can be written, although this process began as the only writer; None if all is well."""
        self._lock = Lock(self._place, 0.0)
        if not self._lock.is_held:
            waited = self._lock.waited
            self._lock.release()
            if waited:
                raise InUse(f"{folder} is open for writing in {_named(self._place)}")
            raise StoreError(_no_locks(folder))
        self._write_name()

    def _write_name(self) -> None:
        """Write who has the lock. It holds without that, as on a full disk."""
        with suppress(OSError), self._place.open("r+") as file:
            file.write(json.dumps({"process": self._process, "host": socket.gethostname()}))
            file.truncate()

    def look(self) -> None:
        """Look for `trouble`, and make the lock file again if it was deleted."""
        if not self.database.is_in_place:
            self.trouble = "its database was deleted or replaced while it was open; open it again"
        elif self._lock.is_in_place:
            self.trouble = None
        else:
            self._lock_again()

    def _lock_again(self) -> None:
        lock = Lock(self._place, 0.0)
        if lock.is_held:
            self._lock.release()
            self._lock, self.trouble = lock, None
            self._write_name()
            warnings.warn(f"{self._place} was deleted, and is made again; it keeps a second writer out", stacklevel=2)
            return
        if lock.waited and not self.database.is_held:  # otherwise the other process is refused in a moment
            self.trouble = f"{OWNER} was deleted, and it is also open for writing in {_named(self._place)}"
        lock.release()

    def require(self, folder: Path) -> None:
        """Raise `StoreError` in a forked child, as the store belongs to its parent, and if there is `trouble`."""
        if not self.is_mine:
            raise StoreError(
                f"{folder} belongs to process {self._process}, which this one was forked from; changes are made there"
            )
        if self.trouble is not None:
            raise self.refusal(folder)

    def refusal(self, folder: Path) -> StoreError:
        """The error of those who want to change something while there is trouble."""
        return StoreError(f"{folder} cannot be written: {self.trouble}")

    @property
    def is_mine(self) -> bool:
        """Whether this process has the right; a forked child has not."""
        return os.getpid() == self._process

    def release(self) -> None:
        """Let another process write."""
        if self.is_mine:
            self._lock.release()


class DatabaseLock:
    """A lock on the database that this process opens for writing; unlike the lock file, nobody deletes it by mistake.

    It locks a byte far behind those that SQLite locks, for the open file description (`F_OFD_SETLK`). It uses SQLite's
    own descriptor: if another descriptor of the file were closed, all locks of SQLite would go. Only Linux has both.
    Elsewhere, and on file systems without such locks, nothing is locked, and `Owner.look` notices a second writer.
    """

    _taking: ClassVar = awaited(threading.Lock())
    _locked: ClassVar = set[int]()  # descriptors of this process

    def __init__(self) -> None:
        self._process = os.getpid()
        self._file: int | None = None
        self._opened: tuple[Path, os.stat_result] | None = None

    @property
    def is_held(self) -> bool:
        return self._file is not None

    @property
    def is_in_place(self) -> bool:
        """Whether the database that was opened is still at its path. Any change of another one would be lost."""
        try:
            return self._opened is None or os.path.samestat(self._opened[0].stat(), self._opened[1])
        except OSError as error:
            return not isinstance(error, FileNotFoundError | NotADirectoryError)

    @contextmanager
    def taking(self, database: Path) -> Iterator[None]:
        """Lock a database that SQLite opens for writing within the block.

        Raises `StoreError` if another connection has it locked, of this process or of another one.
        """
        with self._taking:
            before = _descriptors(database)
            yield
            self._opened = database, database.stat()
            free = _descriptors(database) - self._locked
            opened = free - before or free  # SQLite takes up a descriptor that it could not close before
            if opened:
                self._take(min(opened), database)

    def _take(self, file: int, database: Path) -> None:
        try:
            _lock_far_byte(file, is_locked=True)
        except BlockingIOError:
            raise InUse(
                f"{database.parent} is open for writing elsewhere, although {OWNER} was deleted meanwhile; "
                "close it there"
            ) from None
        except OSError:
            return  # a file system without such locks
        self._file = file
        self._locked.add(file)

    def release(self) -> None:
        """Unlock the database, which SQLite still has open. A forked child leaves the lock to its parent."""
        if self._file is not None:
            if os.getpid() == self._process:
                with suppress(OSError):
                    _lock_far_byte(self._file, is_locked=False)
            self._locked.discard(self._file)
            self._file = None


def _descriptors(database: Path) -> set[int]:
    """The descriptors by which this process may write a database; empty where the system does not list them."""
    if sys.platform != "linux":
        return set()
    descriptors = set[int]()
    try:
        status, numbers = database.stat(), [int(link.name) for link in Path("/proc/self/fd").iterdir()]
    except OSError:
        return descriptors
    for number in numbers:
        with suppress(OSError):  # it was closed meanwhile
            is_database = os.path.samestat(os.fstat(number), status)
            if is_database and fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR:
                descriptors.add(number)
    return descriptors


def _lock_far_byte(file: int, *, is_locked: bool) -> None:
    if sys.platform == "linux":
        kind = fcntl.F_WRLCK if is_locked else fcntl.F_UNLCK
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, _FAR, 1, 0))


def _named(place: Path) -> str:
    try:
        owner = json.loads(place.read_text())
        who = f"process {owner['process']} on {owner['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        who = "another process"
    return f"{who}; {only_in_python('open it with read_only=True, or ')}close it there"


def _no_locks(folder: Path) -> str:
    if not os.access(folder, os.W_OK):
        return f"{folder} cannot be written by this user{only_in_python('; open it with read_only=True')}"
    return f"{folder} cannot be locked, so that two processes could write it; use a folder on a local disk"


def require_local(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> None:
    """Raise `StoreError` for a folder on a network file system, where SQLite's files can be damaged."""
    try:
        lines = [line.split() for line in mounts.read_text(errors="replace").splitlines()]
    except OSError:
        return  # not Linux: nothing tells
    kinds = {line[1].replace("\\040", " "): line[2] for line in lines if len(line) > 2}
    absolute = folder.absolute()
    for one in (absolute, *absolute.parents):
        kind = kinds.get(str(one))
        if kind in _NETWORK:
            raise StoreError(
                f"{folder} is on a network file system ({kind}), where SQLite can lose data; use a folder on a local "
                "disk"
            )
        if kind is not None:
            return
