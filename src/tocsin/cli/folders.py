"""Folders that a command must not write into, and folders of events that it must not read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tocsin.errors import InvalidInput
from tocsin.records import files_of
from tocsin.records.files import STANDARD
from tocsin.segment.folder import STORE
from tocsin.segment.storage import MANIFEST
from tocsin.writing import file_in_place_of

_OWN: Final = re.compile(r"\..*|version-.*|pins|store\..*|.*\.part")
"""Names that an index, or what is left of its first compilation, may have in its folder; and hidden files."""


def refuse_file(folder: str) -> None:
    """Raise `InvalidInput` if a folder cannot be written because a file has its name, or that of one above it."""
    if (file := file_in_place_of(folder)) is not None:
        raise InvalidInput(f"cannot write {folder}: {'it' if file == Path(folder) else file} is a file; give a folder")


def require_own_folder(folder: str) -> None:
    """Raise `InvalidInput` unless an index may be written into a folder: it is new, empty, or has an index."""
    refuse_file(folder)
    path = Path(folder)
    if not path.is_dir() or (path / MANIFEST).exists() or (path / STORE).exists():
        return
    other = min((one.name for one in path.iterdir() if not _OWN.fullmatch(one.name)), default=None)
    if other is not None:
        raise InvalidInput(f"{folder} has other files, such as {other}; name a new folder for the index")


def refuse_subscriptions_among(events: str | None, subscriptions: str) -> None:
    """Raise `InvalidInput` if a folder or a pattern of events has the subscriptions, too."""
    if events is None or STANDARD in (events, subscriptions) or Path(events).is_file():
        return
    own = Path(subscriptions).resolve()
    if any(own in (file, *file.parents) for file in (Path(one).resolve() for one in files_of(events) or ())):
        raise InvalidInput(f"the events {events} include the subscriptions, {subscriptions}; name the events alone")
