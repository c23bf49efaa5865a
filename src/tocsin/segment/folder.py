"""Index folders: the segments of an index, each a part in the subfolder of the version that added it.

    index/
      manifest.json                      names and describes the current version; replaced last, atomically
      pins/                              the versions that streams of events use
      version-<name>/version.json        describes each version, for as long as a reader may need it
      version-<name>/part-00000/         a segment, and the keys that route events to it: `placed`
      version-<name>/changes-00000.npz   changes of a segment, of this version or an earlier one

A reader sees the version that the manifest names when it opens the folder. Versions share parts. `publishing` writes
versions, `retention` removes them. Of an index on an object store, each machine has a folder with copies (`origins`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts
from tocsin.columns.events.wanted import Wanted
from tocsin.errors import InvalidInput, SegmentError
from tocsin.index import Statistics
from tocsin.model.texts import Text
from tocsin.placement import Placement
from tocsin.segment.origins import Origin
from tocsin.segment.part_changes import OLDEST, PartChanges, read_changes
from tocsin.segment.placed import Placed, Signs, first_copies, read_placement, read_signs, routed_by
from tocsin.segment.refolding import refolded
from tocsin.segment.segment import Segment
from tocsin.segment.snapshots import Snapshots
from tocsin.segment.storage import (
    ARRAYS,
    MANIFEST,
    VERSION_MANIFEST,
    open_segment,
    parsed_manifest,
    read_manifest,
    whole_number,
)
from tocsin.segment.stored_statistics import read_statistics
from tocsin.segment.tombstones import Tombstones, read_tombstones

STORE: Final = "store.db"
"""The database of a durable engine, whose writer alone publishes versions of the folder."""
FORMAT: Final = "tocsin index"
VERSION: Final = 2
VERSIONS_FILE: Final = "versions.npy"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PLACE: Final = re.compile(r"version-[A-Za-z0-9_-]{1,64}/[A-Za-z0-9_-]{1,64}(\.npz|\.parquet)?")


class PartPlace(NamedTuple):
    """The paths of a part and of its later changes (None: unchanged), relative to the index folder."""

    path: str
    changes: str | None = None
    home: int | None = None  # a partition of the placement; only parts of one home are merged

    @classmethod
    def read(cls, entry: Any) -> PartPlace:
        """Parse the entry of a manifest; raises `ValueError` if it is invalid."""
        if not isinstance(entry, list) or len(entry) not in (2, 3):
            raise ValueError(f"of a part {entry!r:.40}")
        path, changes, *home = entry
        for name in (path,) if changes is None else (path, changes):
            if not isinstance(name, str) or not _PLACE.fullmatch(name):
                raise ValueError(f"of a part that it lies at {name!r:.40}")
        return cls(path, changes, whole_number(home[0]) if home else None)

    def entry(self) -> list[Any]:
        """The entry for a manifest."""
        return [self.path, self.changes] if self.home is None else list(self)


class StoreMark(NamedTuple):
    """The state of a durable engine's store that a version has: all changes up to `sequence`."""

    store: str
    epoch: str
    sequence: int

    @classmethod
    def read(cls, entry: Any) -> StoreMark | None:
        """Parse the entry of a manifest; raises `ValueError` if it is invalid."""
        if entry is None:
            return None
        store, epoch, sequence = entry
        if not (isinstance(store, str) and isinstance(epoch, str)):
            raise ValueError(f"of a store {entry!r:.60}")
        return cls(store, epoch, whole_number(sequence))


class MappedPart(NamedTuple):
    """A part of a version: a segment as written, and its changes since then."""

    place: PartPlace | None  # None before it is written
    segment: Segment
    versions: NDArray[np.int64] | None  # (S,) version of the change that added each subscription; None: no versions
    changes: PartChanges
    signs: Signs | None = None  # routing keys; None: receives every event

    def now(self) -> Segment:
        """The segment in this version. Structures derived from it are shared by all versions."""
        if not self.changes:
            return self.segment
        alive = self.changes.alive(self.segment.alive, len(self.segment))
        return replace(self.segment, alive=alive, scores=self.changes.scores_over(self.segment.scores))

    def last_versions(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The versions of the last changes of some subscriptions, including deletions."""
        given = np.full(len(numbers), OLDEST) if self.versions is None else self.versions[numbers]
        return self.changes.versions_over(given, numbers)


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """The contents of an index folder's manifest: a version and its parts."""

    path: Path
    version: str
    parts: tuple[PartPlace, ...]
    subscriptions: int
    ids: str  # "string" or "int64"
    texts: Mapping[str, Text] = field(default_factory=dict, compare=False)  # attributes of events that are texts
    tombstones: str | None = None  # path of the tombstones that are in no part
    placed: Placed | None = field(default=None, compare=False)  # None: placed by a hash
    statistics: str | None = field(default=None, compare=False)  # path of the statistics about events
    store: StoreMark | None = field(default=None, compare=False)  # None: the folder is of no durable engine
    origin: Origin | None = None  # the object store of which the folder has copies

    @classmethod
    def read(cls, path: str | Path, version: str | None = None) -> IndexFolder:
        """Read the manifest of the current version, or of a named one; raises `SegmentError`.

        `path` is a folder, or the URL of an index on an object store.
        """
        origin = Origin.of(path)
        name = MANIFEST if version is None else f"{version_folder(version)}/{VERSION_MANIFEST}"
        if origin is None:
            path = Path(path)
            manifest = read_manifest(path / name, FORMAT, VERSION)
        else:
            path, manifest = origin.copies, _manifest_at(origin, name)
        try:
            return replace(cls._of(path, manifest), origin=origin)
        except KeyError as error:
            raise SegmentError(f"{path} is damaged: its manifest lacks {error}. Compile the index again.") from None
        except (AttributeError, TypeError, ValueError) as error:
            raise SegmentError(f"{path} is damaged: its manifest says {error}. Compile the index again.") from None

    @classmethod
    def _of(cls, path: Path, manifest: Mapping[str, Any]) -> IndexFolder:
        version, ids, tombstones = manifest["current"], manifest["ids"], manifest.get("graves")
        count = whole_number(manifest["subscriptions"])
        texts = {str(name): Text.of(how) for name, how in manifest.get("texts", {}).items()}
        given = manifest["parts"] if isinstance(manifest["parts"], list) else [None]
        places, placed = tuple(map(PartPlace.read, given)), Placed.read(manifest.get("placement"))
        statistics = manifest.get("statistics")
        beside = (tombstones, statistics, *(one.changes for one in places), None if placed is None else placed.file)
        names = [one.path for one in places] + [name for name in beside if name is not None]
        named = all(isinstance(name, str) and _PLACE.fullmatch(name) for name in names)
        versioned = isinstance(version, str) and _NAME.fullmatch(version)
        if not versioned or not named or len(set(names)) < len(names) or ids not in ("string", "int64"):
            what = "its manifest has no version, or invalid parts or types of ids"
            raise SegmentError(f"{path} is damaged: {what}. Compile the index again.")
        store = StoreMark.read(manifest.get("store"))
        return cls(path, version, places, count, ids, texts, tombstones, placed, statistics, store)

    @property
    def address(self) -> str | Path:
        """Where the index lies: the folder, or the URL on the object store."""
        return self.path if self.origin is None else self.origin.url

    def here(self) -> IndexFolder:
        """The same version, on this machine. The copies of an index on an object store count as used from now on."""
        if self.origin is None:
            return self
        self.origin.file(f"{version_folder(self.version)}/{VERSION_MANIFEST}").touch()
        return replace(self, path=self.origin.copies)

    def part_folder(self, number: int, *, whole: bool = True) -> Path:
        """The folder of a part; that of an object store is copied first. Without `whole` its arrays may be missing."""
        place = self.parts[number].path
        return self.path / place if self.origin is None else self.origin.part(place, whole=whole)

    def bytes_of(self, number: int) -> int:
        """The bytes of a part's arrays; 0 if they are missing, which opening the part reports."""
        name = f"{self.parts[number].path}/{ARRAYS}"
        if self.origin is not None:
            return self.origin.size(name)
        return (self.path / name).stat().st_size if (self.path / name).exists() else 0

    def _file(self, name: str) -> Path:
        """A file that the version refers to; that of an object store is copied first."""
        return self.path / name if self.origin is None else self.origin.file(name)

    @property
    def id_type(self) -> pa.DataType:
        """The Arrow type of the ids."""
        return pa.int64() if self.ids == "int64" else pa.large_string()

    @property
    def copies(self) -> int:
        """The number of copies of subscriptions, without the first ones."""
        return 0 if self.placed is None else self.placed.copies

    def held(self, known: Mapping[str, MappedPart] | None = None) -> list[MappedPart]:
        """Memory-map the parts of this version, reusing the segments of parts that are `known` by their paths.

        Raises `SegmentError` if they do not match the manifest.
        """
        parts = [self.part(number, (known or {}).get(place.path)) for number, place in enumerate(self.parts)]
        segments = [part.now() for part in parts]
        kinds = {"string" if isinstance(one.ids, Texts) else "int64" for one in segments if len(one)}
        count = sum(one.living() for one in segments) - self.copies
        if count != self.subscriptions or kinds - {self.ids}:
            what = f"it holds {count:,} subscriptions with ids of {' and '.join(sorted(kinds)) or 'no kind'}"
            said = f"its manifest says {self.subscriptions:,} with ids of {self.ids!r:.20}"
            raise SegmentError(f"{self.address} is damaged: {what}, {said}. Compile the index again.")
        return parts

    def part(self, number: int, known: MappedPart | None = None) -> MappedPart:
        """Memory-map a single part, reusing its segment if it is `known`; raises `SegmentError`."""
        place = self.parts[number]
        if known is None:
            folder = self.part_folder(number)
            written = open_segment(folder)
            segment = refolded(written, folder)
            versions = _versions(folder / VERSIONS_FILE, len(segment))
            signs = read_signs(folder) if segment is written else None  # keys depend on folding, too
        else:
            segment, versions, signs = known.segment, known.versions, known.signs
        none = PartChanges.none()
        changes = none if place.changes is None else read_changes(self._file(place.changes), len(segment))
        return MappedPart(place, segment, versions, changes, signs)

    def segments(self) -> list[Segment]:
        """The segments of this version, with each subscription live once; raises `SegmentError`."""
        segments = [part.now() for part in self._there()]
        return first_copies(segments).segments if self.copies else segments

    def _there(self) -> list[MappedPart]:
        """The parts of this version; the error says so if the version was removed."""
        try:
            return self.held()
        except SegmentError:
            now = IndexFolder.read(self.address)
            if now.version == self.version or (self.path / version_folder(self.version)).exists():
                raise
        what = f"its version {self.version} was replaced by {now.version} and deleted"
        raise SegmentError(f"{self.address} changed while it was opened: {what}. Open it again.")

    def open(self) -> Snapshots:
        """Memory-map the parts of this version, to be matched as one."""
        return self.snapshots(self._there())

    def snapshots(self, parts: Sequence[MappedPart], wanted: Wanted | None = None) -> Snapshots:
        """The parts of this version as one; events are routed to the parts that they may match."""
        segments = [part.now() for part in parts]
        whole = Snapshots.of(segments, wanted)
        if all(part.signs is None for part in parts) and not self.copies:
            return whole
        router, alike = routed_by(self.placed, [part.signs for part in parts])
        return whole.routed(router, first_copies(segments) if self.copies else None, alike)

    def known(self) -> Statistics | None:
        """The saved statistics about events, if any; raises `SegmentError` if they are damaged."""
        return None if self.statistics is None else read_statistics(self._file(self.statistics).absolute())

    def placement(self) -> Placement | None:
        """The placement for further subscriptions; None if they may go anywhere, or it was not saved."""
        if self.placed is None or self.placed.file is None:
            return None
        return read_placement(self._file(self.placed.file), self.placed, self.known())

    def all_tombstones(self) -> Tombstones:
        """The tombstones that are in no part."""
        return (
            Tombstones.none(self.id_type) if self.tombstones is None else read_tombstones(self._file(self.tombstones))
        )


def _manifest_at(origin: Origin, name: str) -> dict[str, Any]:
    """A manifest on an object store; raises `SegmentError`."""
    if (text := origin.text(name)) is None:
        raise SegmentError(f"there is no tocsin index at {origin.url}, which has no {name}; upload makes one")
    return parsed_manifest(text, origin.url, name, FORMAT, VERSION)


def _versions(path: Path, count: int) -> NDArray[np.int64] | None:
    """The change versions that a part was written with, if any."""
    try:
        versions: NDArray[np.int64] = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, EOFError) as error:
        raise SegmentError(f"{path} is damaged: {error}. Compile the index again.") from None
    if versions.dtype != np.int64 or versions.shape != (count,):
        raise SegmentError(f"{path} is damaged: it is of {versions.dtype} and shape {versions.shape}.")
    return versions


def open_index(path: str | Path) -> Snapshots:
    """Open the current version of an index folder."""
    return Snapshots.of(current_segments(path))


def current_segments(path: str | Path) -> list[Segment]:
    """Memory-map the segments of the current version; retries if it is replaced meanwhile."""
    folder = IndexFolder.read(path)
    while True:
        try:
            return folder.segments()
        except SegmentError:
            now = IndexFolder.read(path)
            if now.version == folder.version:
                raise
            folder = now


def saved_statistics(path: str | Path, newer: Statistics | None = None) -> Statistics | None:
    """The statistics about events: `newer` if given, else those saved with the current version of an index.

    None if there are none, or they cannot be read. No answer depends on them, and a damaged index must not prevent a
    caller from compiling it again.
    """
    if newer is not None:
        return newer
    try:
        return IndexFolder.read(path).known() if (Path(path) / MANIFEST).exists() else None
    except SegmentError:
        return None


def local_folder(path: str | Path) -> Path:
    """The absolute path of a folder that is written; raises `InvalidInput` for the URL of an object store."""
    if Origin.of(path) is not None:
        raise InvalidInput(f"{path}: an index is not written on an object store; write a folder, and upload it there")
    return Path(path).absolute()


def version_folder(version: str) -> str:
    return f"version-{version}"


def part_name(number: int) -> str:
    return f"part-{number:05d}"
