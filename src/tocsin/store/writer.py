"""The writer of a store: its right to write, its connection and its committing thread, opened and closed as one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

from tocsin.errors import InvalidInput, StoreError
from tocsin.store.committing import Committer
from tocsin.store.database import DATABASE, SYNCS, Database
from tocsin.store.owner import Owner, require_local
from tocsin.writing import file_in_place_of


class Writer:
    """The store of a folder, which `make` makes if there is none.

    Raises `InvalidInput` for an unknown `sync`, and `StoreError` if the folder cannot be used, or another process
    writes it.
    """

    def __init__(self, folder: Path, sync: str, make: Callable[[Path], None] = Database.create) -> None:
        check_sync(sync)
        require_local(folder)
        make_folder(folder)
        self.folder = folder
        self.owner = Owner(folder)
        self.log_error: str | None = None  # why the log could not be folded, or why it grows
        self._committer: Committer | None = None
        try:
            if not (folder / DATABASE).exists():
                make(folder)
            self.database = Database.open(folder, sync=sync, lock=self.owner.database)
        except BaseException:
            self.owner.release()
            raise

    def start(self, between: Callable[[], None]) -> Committer:
        """Start the committing thread, which calls `between` as `Committer` says."""
        self._committer = Committer(self.database, self.owner, between)
        self._committer.start()
        return self._committer

    def start_folding(self) -> Committer:
        """Start the committing thread, which folds SQLite's log between transactions and does nothing else there."""
        return self.start(self.fold)

    def fold(self, then: Callable[[], None] = lambda: None) -> None:
        """Fold SQLite's log if it is time, and then do more; for the committing thread, between transactions."""
        try:
            if self.database.fold_log_at_times():
                self.owner.look()
                then()
                self.log_error = None
        except StoreError as error:  # it is tried again
            self.log_error = str(error)

    def close(self) -> None:
        """Write what waits, and let another process write.

        Raises `StoreError` if SQLite's log could not be folded; it then stays beside the store, which is closed.
        """
        try:
            if self._committer is not None:
                self._committer.close()
                self.database.fold_log(whole=True)
        finally:
            self.database.close()
            self.owner.release()

    def close_told(self) -> None:
        """Close, with a warning if the log stays beside the store."""
        try:
            self.close()
        except StoreError as error:
            warnings.warn(f"{self.folder}: the log stays beside the store: {error}", stacklevel=3)


def check_sync(sync: str) -> None:
    """Raise `InvalidInput` unless it is one that SQLite has."""
    if sync not in SYNCS:
        raise InvalidInput(f"sync is {sync!r:.40}; it is one of {', '.join(SYNCS)}")


def make_folder(folder: Path) -> None:
    """Make a folder, which only its owner may enter, and those above it; raises `StoreError`."""
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        if (file := file_in_place_of(folder)) is not None:
            raise StoreError(f"{file} is a file, not a folder; name a folder") from None
        raise StoreError(f"cannot make the folder {folder}: {error.strerror or error}") from None
