"""Which parts of an index has this process mapped? Those of the version that it opened last; the next shares most."""

from __future__ import annotations

import threading

from tocsin.segment.folder import IndexFolder, MappedPart

_LOCK = threading.Lock()
_LAST: dict[str, dict[str, MappedPart]] = {}
"""The parts of the version of each index that was opened last, by their paths."""


def mapped(folder: IndexFolder) -> list[MappedPart]:
    """The parts of a version; what this process mapped for another version is not opened, nor checked, again.

    Raises `SegmentError` where they are not what the manifest says.
    """
    key = str(folder.path.absolute())
    parts = folder.held(_LAST.get(key))
    with _LOCK:
        _LAST[key] = {part.place.path: part for part in parts if part.place is not None}
    return parts
