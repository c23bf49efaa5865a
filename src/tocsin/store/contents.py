"""What a store holds: the subscriptions of an engine and the objects of fences, or a window."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from tocsin.errors import InvalidInput, StoreError, TocsinError
from tocsin.segment.folder import IndexFolder
from tocsin.spelling import only_in_python
from tocsin.store.database import DATABASE, Database

WINDOW: Final = "window"
"""The setting with the options of a window, which only the store of a window has."""


def holds_window(folder: str | Path) -> bool:
    """Whether a folder has the store of a window; False if it has no store, or one that cannot be read."""
    place = Path(folder)
    try:
        if not (place / DATABASE).exists():
            return False
        with closing(Database.open(place, read_only=True)) as database:
            return database.meta(WINDOW) is not None
    except StoreError:
        return False


def require_no_window(database: Database) -> None:
    """Raise `StoreError` for the store of a window."""
    if database.meta(WINDOW) is not None:
        raise StoreError(
            f"{database.folder} is the folder of a window{only_in_python(', which Window.open opens')}; "
            "for an engine or fences, name another folder"
        )


def require_window(database: Database) -> None:
    """Raise `StoreError` for a store that is not a window's."""
    if database.meta(WINDOW) is None:
        raise StoreError(
            f"{database.folder} is the folder of an engine or of fences; for a window, name another folder"
        )


def refuse_others(asked: Mapping[str, Any], stored: Mapping[str, Any], made: str) -> None:
    """Raise `InvalidInput` for an option that differs from the stored one; `made` says what was made with that."""
    for name, value in asked.items():
        if value != stored[name]:
            raise InvalidInput(
                f"{name} is {value!r:.40}, but {made} with {stored[name]!r:.40}; leave it out, or name another folder"
            )


def missing_changes(folder: str | Path) -> int:
    """How many changes of a store its index lacks; 0 for a folder without a store, or one that cannot be read here."""
    folder = Path(folder)
    try:
        mark = IndexFolder.read(folder).store
        if mark is None or not (folder / DATABASE).exists():
            return 0
        database = Database.open(folder, read_only=True)
        with closing(database):
            return max(database.sequence - mark.sequence, 0)
    except TocsinError:
        return 0
