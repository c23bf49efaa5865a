"""Space on the disk that a server keeps for itself.

On a full disk SQLite can neither fold its log nor delete anything. So a server has a file without a meaning beside its
store, and deletes it when the disk is full. Retention then has room to work, which other changes may not take.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

NAME: Final = "disk.reserve"
_MOST_BYTES: Final = 8 << 20
_SHARE: Final = 10
"""A small disk gives this part of its size at most."""
_BLOCK: Final = 1 << 16


class Reserve:
    """The reserve of a server, in the folder of its default tenant."""

    def __init__(self, folder: Path) -> None:
        self._path, self._folder = folder / NAME, folder
        self.is_spent = False
        """Whether the disk is full, or was and has not had room since to make the reserve again."""

    def look(self) -> None:
        """Give the reserve back if the disk is full, and make it if twice its size is free. Any thread may call it.

        The first time is before the stores are opened.
        """
        free, size = self._room()
        with suppress(OSError):  # a folder that nobody may write, or that is not there yet
            if free < size // 2:
                self.is_spent = True
                self._path.unlink(missing_ok=True)
                return
            is_made = self._path.exists()
            self.is_spent = not is_made and free < 2 * size
            if size and not is_made and not self.is_spent:
                self._write(size)

    def _room(self) -> tuple[int, int]:
        """How many bytes are free, and how many the reserve has. Both are 0 where the system does not tell."""
        try:
            total, _, free = shutil.disk_usage(self._folder)
        except OSError:
            return 0, 0
        return free, min(_MOST_BYTES, total // _SHARE)

    def _write(self, size: int) -> None:
        """Write the file, or nothing of it. File systems that compress cannot make its bytes any fewer."""
        try:
            with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                for _ in range(size // _BLOCK):
                    file.write(os.urandom(_BLOCK))
        except OSError:
            self._path.unlink(missing_ok=True)
            raise
