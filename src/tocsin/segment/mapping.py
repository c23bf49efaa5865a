"""A per-process cache of memory-mapped index parts: those of the version opened last. Versions share most parts."""

from __future__ import annotations

import threading
from typing import Final

from tocsin.columns.events.wanted import Wanted
from tocsin.segment.folder import IndexFolder, MappedPart
from tocsin.segment.retention import remove_old_copies
from tocsin.segment.snapshots import Snapshots

_LOCK = threading.Lock()
_PARTS: dict[str, dict[str, MappedPart]] = {}
"""For each index, the parts of the version opened last, by path."""

_ALONE: dict[str, MappedPart] = {}
"""Parts opened one at a time, the most recent last."""
_MOST_ALONE: Final = 2

_WANTED: dict[str, tuple[Wanted, set[str]]] = {}
"""For each index, its wanted attributes, and the paths of the parts that added some."""


def mapped(folder: IndexFolder) -> list[MappedPart]:
    """The parts of a version. Parts already mapped for another version are neither opened nor checked again.

    Raises `SegmentError` if they do not match the manifest.
    """
    key = _key(folder)
    parts = folder.held(_PARTS.get(key))
    if folder.origin is not None:
        remove_old_copies(folder.path, folder.version)
    with _LOCK:
        _PARTS[key] = {part.place.path: part for part in parts if part.place is not None}
    return parts


def opened(folder: IndexFolder) -> Snapshots:
    """A version, ready to match. Whatever it shares with versions opened before is reused."""
    parts = mapped(folder)
    with _LOCK:
        wanted = _wanted(_key(folder), parts)
    return folder.snapshots(parts, wanted)


def opened_part(folder: IndexFolder, number: int) -> Snapshots:
    """One part of a version, to match alone, with all its copies. A process caches the last two."""
    path = str((folder.path / folder.parts[number].path).absolute())
    with _LOCK:
        known = _ALONE.pop(path, None)
    part = folder.part(number, known)
    if folder.origin is not None and known is None:
        remove_old_copies(folder.path, folder.version)
    with _LOCK:
        _ALONE[path] = part
        while len(_ALONE) > _MOST_ALONE:
            del _ALONE[next(iter(_ALONE))]
    return Snapshots.of([part.now()])


def _wanted(key: str, parts: list[MappedPart]) -> Wanted:
    """The attributes in the parts' subscriptions, and perhaps some from earlier parts."""
    paths = {part.place.path for part in parts if part.place is not None}
    wanted, asked = _WANTED.get(key, (Wanted([]), set()))
    if not paths & asked:
        wanted, asked = Wanted([]), set()
    for part in parts:
        if part.place is not None and part.place.path not in asked:
            wanted.add(part.segment.matcher.attributes)
    _WANTED[key] = wanted, paths
    return wanted


def _key(folder: IndexFolder) -> str:
    return str(folder.path.absolute())
