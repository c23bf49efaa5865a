"""The one process that writes a store."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Final

from tocsin.errors import StoreError
from tocsin.locks import Lock
from tocsin.spelling import only_in_python

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
