"""Removal of old versions of an index. The current, the previous, young and pinned versions are kept.

Versions share parts, so a file is removed once no kept version refers to it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, Final

from tocsin.errors import SegmentError
from tocsin.locks import Lock
from tocsin.segment.folder import FORMAT, VERSION, version_folder
from tocsin.segment.origins import SHARED
from tocsin.segment.pins import PINS, Pin
from tocsin.segment.storage import MANIFEST, VERSION_MANIFEST, read_manifest

KEEP_PINS_S: Final = 7 * 86_400.0
"""Pins expire when a stream has not advanced for this long."""

KEEP_COPIES_S: Final = 3_600.0
"""Copies of a version on an object store stay for this long after a task last used them."""

_ABANDONED_S: Final = 86_400.0
_AT_ONCE: Final = 16


def manifest_of(place: Path) -> dict[str, Any]:
    """The manifest of an index folder or of a version; empty if there is none, or it is damaged.

    Raises the `OSError` of a read that failed, which may work the next time: without it, versions would be lost.
    """
    try:
        return read_manifest(place, FORMAT, VERSION)
    except SegmentError as error:
        cause = error.__context__
        if isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError | NotADirectoryError):
            raise cause from None
        return {}


def remove_old_copies(path: Path, version: str) -> None:
    """Remove the copies of versions that no task has used for `KEEP_COPIES_S`; the next task would copy them again.

    Processes that have mapped a removed file keep it.
    """
    with suppress(OSError), Lock(path, patience_s=0) as lock:
        if lock.is_held:
            _remove(path, {version}, KEEP_COPIES_S, time.time(), together=1)


def remove_unneeded(path: Path, keep: Collection[str | None], keep_s: float) -> None:
    """Remove all versions except those in `keep`, younger than `keep_s`, pinned or being written.

    If versions come often (`keep_s` is set), several are removed together. On a file system without locks, an
    unpublished version is removed after a day. If a pin or a manifest cannot be read, nothing is removed this time.
    """
    with suppress(OSError):
        _remove(path, keep, keep_s, time.time(), together=_AT_ONCE if keep_s else 1)
    for beside in path.glob(f"{MANIFEST}.*.part"):  # left by a killed process; nobody else can be writing one now
        beside.unlink(missing_ok=True)


def _remove(path: Path, keep: Collection[str | None], keep_s: float, now: float, *, together: int) -> None:
    names = {version_folder(version) for version in {*keep, *_pinned(path, now)} if version}
    folders = set(path.glob(version_folder("*")))
    kept = {folder for folder in folders if folder.name in names or _age(folder / VERSION_MANIFEST, now) < keep_s}
    old = {folder for folder in folders - kept if not (folder / SHARED).exists()}
    if len(old) >= together:
        needed = {place for folder in kept for place in places_in(manifest_of(folder / VERSION_MANIFEST))}
        for folder in folders - kept:
            if (folder / VERSION_MANIFEST).exists() or (folder / SHARED).exists():
                _thin_out(folder, needed)
            else:
                _remove_abandoned(folder, now)


def places_in(manifest: dict[str, Any]) -> list[str]:
    """The paths that a version refers to, by its manifest."""
    parts = [place for part in manifest.get("parts", ()) for place in part[:2]]
    placement = (manifest.get("placement") or {}).get("file")
    return [place for place in (*parts, manifest.get("graves"), manifest.get("statistics"), placement) if place]


def _pinned(path: Path, now: float) -> set[str]:
    """The versions that streams use."""
    found = set()
    for file in (path / PINS).glob("*/*"):
        with suppress(FileNotFoundError, IsADirectoryError, NotADirectoryError, ValueError):  # what others put there
            pin = Pin.read(file) if now - file.stat().st_mtime < KEEP_PINS_S else None
            if pin is not None:
                found.add(pin.version)
    return found


def _thin_out(folder: Path, needed: Collection[str]) -> None:
    """Remove the unreferenced files of an unneeded version, and its folder once no part is left."""
    still = [entry for entry in folder.iterdir() if f"{folder.name}/{entry.name}" in needed]
    if not still:
        shutil.rmtree(folder, ignore_errors=True)
        return
    (folder / SHARED).touch()
    (folder / VERSION_MANIFEST).unlink(missing_ok=True)  # before the rest, so that nobody opens half a version
    for entry in folder.iterdir():
        if entry not in still and entry.name != SHARED:
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)


def _remove_abandoned(folder: Path, now: float) -> None:
    """Remove an unpublished version, unless a process is writing it."""
    with Lock(folder, patience_s=0) as lock, suppress(OSError):
        is_old = _age(folder, now) > _ABANDONED_S
        if lock.is_held or (is_old and not lock.waited):
            shutil.rmtree(folder, ignore_errors=True)


def _age(path: Path, now: float) -> float:
    """How many seconds ago a file was written; infinite if it does not exist. Raises `OSError`."""
    try:
        return now - path.stat().st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return inf
