"""How do the segments of one index lie in a folder? One subfolder a partition, in a subfolder a version.

    index/
      manifest.json                    names the version; replaced last, at once
      version-<name>/part-00000/       a segment

A reader sees the version that the manifest names when it opens it. The version before is kept, for readers that are
still on it; the one before that is removed.
"""

from __future__ import annotations

import re
import shutil
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tocsin.columns.arrays import Texts
from tocsin.errors import SegmentError
from tocsin.segment.segment import Segment
from tocsin.segment.snapshots import Snapshots
from tocsin.segment.storage import (
    MANIFEST,
    open_segment,
    read_manifest,
    whole_number,
    write_manifest,
    write_segment,
)

FORMAT: Final = "tocsin index"
VERSION: Final = 1
_ABANDONED_S: Final = 86_400
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """What an index folder's manifest says: its version and the segments of that version."""

    path: Path
    version: str
    parts: tuple[str, ...]
    subscriptions: int
    ids: str  # "string" or "int64"

    @classmethod
    def read(cls, path: str | Path) -> IndexFolder:
        """Read the manifest; raises `SegmentError`."""
        path = Path(path)
        manifest = read_manifest(path / MANIFEST, FORMAT, VERSION)
        try:
            version, parts, ids = manifest["current"], manifest["parts"], manifest["ids"]
            count = whole_number(manifest["subscriptions"])
        except KeyError as error:
            raise SegmentError(f"{path} is damaged: its manifest lacks {error}. Compile the index again.") from None
        except ValueError as error:
            raise SegmentError(f"{path} is damaged: its manifest says {error}. Compile the index again.") from None
        names = [version, *(parts if isinstance(parts, list) else [None])]
        named = all(isinstance(name, str) and _NAME.fullmatch(name) for name in names)
        if not named or len(set(parts)) < len(parts) or ids not in ("string", "int64"):
            what = "its manifest names no version, odd parts or an odd kind of ids"
            raise SegmentError(f"{path} is damaged: {what}. Compile the index again.")
        return cls(path, version, tuple(parts), count, ids)

    def segments(self) -> list[Segment]:
        """Map the segments of this version; raises `SegmentError` where they are not what the manifest says."""
        segments = [open_segment(self.path / version_folder(self.version) / part) for part in self.parts]
        kinds = {"string" if isinstance(one.ids, Texts) else "int64" for one in segments if len(one)}
        count = sum(one.living() for one in segments)
        if count != self.subscriptions or kinds - {self.ids}:
            what = f"it holds {count:,} subscriptions with ids of {' and '.join(sorted(kinds)) or 'no kind'}"
            said = f"its manifest says {self.subscriptions:,} with ids of {self.ids!r:.20}"
            raise SegmentError(f"{self.path} is damaged: {what}, {said}. Compile the index again.")
        return segments

    def open(self) -> Snapshots:
        """Map the segments of this version, to be matched as one."""
        return Snapshots.of(self.segments())


def open_index(path: str | Path) -> Snapshots:
    """Open the current version of an index folder."""
    return IndexFolder.read(path).open()


def new_version() -> str:
    return uuid.uuid4().hex[:12]


def version_folder(version: str) -> str:
    return f"version-{version}"


def part_name(number: int) -> str:
    return f"part-{number:05d}"


def write_part(path: Path, version: str, number: int, segment: Segment) -> None:
    """Write one segment aside and rename it. A second attempt at the same part finds it there, and is done."""
    folder = path / version_folder(version)
    aside = folder / f".{part_name(number)}.{uuid.uuid4().hex[:8]}"
    write_segment(segment, aside)
    try:
        aside.rename(folder / part_name(number))
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)
        if not (folder / part_name(number) / MANIFEST).exists():
            raise


def publish(path: Path, version: str, parts: Sequence[str], subscriptions: int, ids: str) -> IndexFolder:
    """Make a version the current one and remove the one before the last; raises `SegmentError` if a part is missing."""
    for part in parts:
        if not (path / version_folder(version) / part / MANIFEST).exists():
            raise SegmentError(f"{path} cannot take version {version}: its part {part} is not there")
    before = _published(path)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "current": version,
        "previous": before.get("current"),
        "parts": list(parts),
        "subscriptions": subscriptions,
        "ids": ids,
    }
    write_manifest(path / MANIFEST, manifest)
    _remove_old(path, keep={version, before.get("current")}, done_with=before.get("previous"))
    return IndexFolder(path, version, tuple(parts), subscriptions, ids)


def _remove_old(path: Path, keep: set[str | None], done_with: str | None) -> None:
    """Remove the version that no reader is on any more, and what compilations left that failed a day ago or more.

    A younger folder may belong to a compilation that is still writing.
    """
    kept = {version_folder(version) for version in keep if version}
    for folder in path.glob(version_folder("*")):
        if folder.name in kept:
            continue
        if folder.name == version_folder(done_with or "") or time.time() - folder.stat().st_mtime > _ABANDONED_S:
            shutil.rmtree(folder, ignore_errors=True)


def write_index(path: str | Path, segment: Segment) -> IndexFolder:
    """Write a single segment as an index folder."""
    path = Path(path)
    version = new_version()
    write_part(path, version, 0, segment)
    ids = "string" if isinstance(segment.ids, Texts) else "int64"
    return publish(path, version, [part_name(0)], len(segment), ids)


def _published(path: Path) -> dict[str, Any]:
    """The manifest of the version before, empty for none."""
    try:
        return read_manifest(path / MANIFEST, FORMAT, VERSION)
    except SegmentError:
        return {}
