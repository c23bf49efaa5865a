"""How do the segments of one index lie in a folder? One subfolder a partition, in a subfolder a version.

    index/
      manifest.json                    names the version; replaced last, at once
      version-<name>/part-00000/       a segment

A reader sees the version that the manifest names when it opens it. The version before is kept, for readers that are
still on it; the one before that is removed. `publishing` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tocsin.columns.arrays import Texts
from tocsin.errors import SegmentError
from tocsin.model.texts import Text
from tocsin.segment.segment import Segment
from tocsin.segment.snapshots import Snapshots
from tocsin.segment.storage import MANIFEST, open_segment, read_manifest, whole_number

FORMAT: Final = "tocsin index"
VERSION: Final = 1
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """What an index folder's manifest says: its version and the segments of that version."""

    path: Path
    version: str
    parts: tuple[str, ...]
    subscriptions: int
    ids: str  # "string" or "int64"
    texts: Mapping[str, Text] = field(default_factory=dict, compare=False)  # attributes of events that are texts

    @classmethod
    def read(cls, path: str | Path) -> IndexFolder:
        """Read the manifest; raises `SegmentError`."""
        path = Path(path)
        manifest = read_manifest(path / MANIFEST, FORMAT, VERSION)
        try:
            version, parts, ids = manifest["current"], manifest["parts"], manifest["ids"]
            count = whole_number(manifest["subscriptions"])
            texts = {str(name): Text.of(how) for name, how in manifest.get("texts", {}).items()}
        except KeyError as error:
            raise SegmentError(f"{path} is damaged: its manifest lacks {error}. Compile the index again.") from None
        except (AttributeError, ValueError) as error:
            raise SegmentError(f"{path} is damaged: its manifest says {error}. Compile the index again.") from None
        names = [version, *(parts if isinstance(parts, list) else [None])]
        named = all(isinstance(name, str) and _NAME.fullmatch(name) for name in names)
        if not named or len(set(parts)) < len(parts) or ids not in ("string", "int64"):
            what = "its manifest names no version, odd parts or an odd kind of ids"
            raise SegmentError(f"{path} is damaged: {what}. Compile the index again.")
        return cls(path, version, tuple(parts), count, ids, texts)

    def segments(self) -> list[Segment]:
        """Map the segments of this version; raises `SegmentError` where they are not what the manifest says."""
        try:
            return self._mapped()
        except SegmentError:
            now = IndexFolder.read(self.path)
            if now.version == self.version or (self.path / version_folder(self.version)).exists():
                raise
        what = f"its version {self.version} was replaced by {now.version}, and is gone"
        raise SegmentError(f"{self.path} changed while it was opened: {what}. Open it again.")

    def _mapped(self) -> list[Segment]:
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
    return Snapshots.of(current_segments(path))


def current_segments(path: str | Path) -> list[Segment]:
    """Map the segments of the current version: a newer one, where it is replaced meanwhile."""
    folder = IndexFolder.read(path)
    while True:
        try:
            return folder.segments()
        except SegmentError:
            now = IndexFolder.read(path)
            if now.version == folder.version:
                raise
            folder = now


def version_folder(version: str) -> str:
    return f"version-{version}"


def part_name(number: int) -> str:
    return f"part-{number:05d}"
