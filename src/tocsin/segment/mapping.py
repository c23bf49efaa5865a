"""Which parts of an index has this process mapped? Those of the version that it opened last; the next shares most."""

from __future__ import annotations

import threading
from typing import Final

from tocsin.columns.events.wanted import Wanted
from tocsin.segment.folder import IndexFolder, MappedPart
from tocsin.segment.snapshots import Snapshots

_LOCK = threading.Lock()
_PARTS: dict[str, dict[str, MappedPart]] = {}
"""The parts of the version of each index that was opened last, by their paths."""

_ALONE: dict[str, MappedPart] = {}
"""The parts that were opened by themselves, the last one last."""
_MOST_ALONE: Final = 2

_WANTED: dict[str, tuple[Wanted, set[str]]] = {}
"""The attributes that versions of an index look at, and the paths of the parts that were asked for them."""


def mapped(folder: IndexFolder) -> list[MappedPart]:
    """The parts of a version; what this process mapped for another version is not opened, nor checked, again.

    Raises `SegmentError` where they are not what the manifest says.
    """
    key = _key(folder)
    parts = folder.held(_PARTS.get(key))
    with _LOCK:
        _PARTS[key] = {part.place.path: part for part in parts if part.place is not None}
    return parts


def opened(folder: IndexFolder) -> Snapshots:
    """A version, to be matched; what it has in common with others that this process opened is made once."""
    parts = mapped(folder)
    with _LOCK:
        wanted = _wanted(_key(folder), parts)
    return folder.snapshots(parts, wanted)


def opened_part(folder: IndexFolder, number: int) -> Snapshots:
    """One part of a version, to be matched alone with all copies that it has; a process keeps the last two."""
    path = str((folder.path / folder.parts[number].path).absolute())
    with _LOCK:
        known = _ALONE.pop(path, None)
    part = folder.part(number, known)
    with _LOCK:
        _ALONE[path] = part
        while len(_ALONE) > _MOST_ALONE:
            del _ALONE[next(iter(_ALONE))]
    return Snapshots.of([part.now()])


def _wanted(key: str, parts: list[MappedPart]) -> Wanted:
    """The attributes that parts look at, and perhaps those that parts before them did."""
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
