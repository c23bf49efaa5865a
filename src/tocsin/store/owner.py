"""The one process that writes a store."""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tocsin.errors import StoreError
from tocsin.locks import Lock
from tocsin.spelling import only_in_python

if TYPE_CHECKING:
    from tocsin.store.database import Database

_WRITER: Final = "writer"
_STARTED: Final = 19
"""The place of a process's start among the fields behind its name in /proc/PID/stat, in ticks since the machine's."""
OWNER: Final = "store.lock"
_NETWORK: Final = ("9p", "afs", "ceph", "cifs", "fuse.sshfs", "glusterfs", "lustre", "nfs", "nfs4", "smb3", "smbfs")
"""File systems without the locks and the shared memory that SQLite's write-ahead log needs."""


class Owner:
    """The right to write the store in a folder, held until `release` or the end of the process."""

    def __init__(self, folder: Path) -> None:
        place = folder / OWNER
        self._process = os.getpid()
        self._lock = Lock(place, 0.0)
        if not self._lock.is_held:
            waited = self._lock.waited
            self._lock.release()
            raise StoreError(f"{folder} is open for writing in {_named(place)}" if waited else _no_locks(folder))
        try:
            place.write_text(json.dumps({"process": self._process, "host": socket.gethostname()}))
        except OSError as error:
            self._lock.release()
            raise StoreError(f"{folder} cannot be written: {error.strerror or error}") from None

    def require(self, folder: Path) -> None:
        """Raise `StoreError` in a forked child: the store belongs to its parent."""
        if not self.is_mine:
            raise StoreError(
                f"{folder} belongs to process {self._process}, which this one was forked from; changes are made there"
            )

    @property
    def is_mine(self) -> bool:
        """Whether this process has the right; a forked child has not."""
        return os.getpid() == self._process

    def release(self) -> None:
        """Let another process write."""
        if self.is_mine:
            self._lock.release()


class Alive(NamedTuple):
    """A process that cannot be taken for a later one with its number. `boot` is the start of the machine."""

    process: int
    started: int
    boot: str

    @classmethod
    def of(cls, process: int) -> Alive | None:
        """A process that runs on this machine; None if there is none, or the system does not tell."""
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            return cls(process, int(fields[_STARTED]), Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        except (OSError, ValueError, IndexError):
            return None


def require_sole(database: Database) -> None:
    """Raise `StoreError` if the process that the store names as its writer still runs, and name this one.

    Somebody may have deleted the file of the lock, which would let a second process write. On a full disk, the process
    is not named.
    """
    written, own = database.meta(_WRITER), Alive.of(os.getpid())
    writer = None if written is None else Alive._make(json.loads(written))
    if writer is not None and own is not None and writer.process != own.process and Alive.of(writer.process) == writer:
        raise StoreError(
            f"{database.folder} is open for writing in process {writer.process}, although {OWNER} was deleted; "
            "close it there"
        )
    if own is not None:
        with suppress(StoreError), database.transaction():
            database.put_meta(_WRITER, json.dumps(own))


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
