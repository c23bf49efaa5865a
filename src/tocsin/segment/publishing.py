"""Publishing a new version of an index folder: it is written beside the current one, then made current atomically.

A writer holds the lock of its version's folder from the first file to the last. Publishing holds the lock of the index
folder. Several processes may write and publish at once; the last one wins. A write that fails or is interrupted leaves
nothing. A killed process leaves a folder without a lock holder, which the next publication removes.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts
from tocsin.errors import SegmentError
from tocsin.index import Statistics
from tocsin.locks import Lock
from tocsin.model.texts import Text
from tocsin.placement import Placement
from tocsin.segment.folder import (
    FORMAT,
    STORE,
    VERSION,
    VERSIONS_FILE,
    IndexFolder,
    PartPlace,
    StoreMark,
    part_name,
    version_folder,
)
from tocsin.segment.outlines import write_attributes
from tocsin.segment.part_changes import PartChanges, write_changes
from tocsin.segment.placed import Placed, Signs, write_placement, write_signs
from tocsin.segment.retention import manifest_of, remove_unneeded
from tocsin.segment.segment import Segment
from tocsin.segment.storage import MANIFEST, VERSION_MANIFEST, refuse_other_manifest, write_manifest, write_segment
from tocsin.segment.stored_statistics import write_statistics
from tocsin.segment.tombstones import Tombstones, write_tombstones
from tocsin.spelling import only_in_python
from tocsin.writing import file_in_place_of

TOMBSTONES: Final = "graves.parquet"
STATISTICS: Final = "statistics.parquet"
PLACEMENT: Final = "placement.npz"
_PATIENCE_S: Final = 60.0


class Publication:
    """A version that is being written; leaving the `with` block removes it unless it was published.

    Raises `SegmentError`, with the path, if the folder cannot be written, has the manifest of something else, or
    belongs to a durable engine unless the publication `is_of_store`.
    """

    def __init__(self, path: str | Path, *, is_of_store: bool = False) -> None:
        self.path = Path(path)
        self._is_of_store = is_of_store
        self.version = uuid.uuid4().hex[:12]
        self._missing: list[Path] = []
        self._is_published = False

    @property
    def folder(self) -> Path:
        """The folder of its parts; `write_part` writes there, in any process."""
        return self.path / version_folder(self.version)

    def __enter__(self) -> Publication:
        with refused(self.path):
            if not self._is_of_store and (self.path / STORE).exists():
                raise SegmentError(
                    f"{self.path} belongs to a durable engine or window ({STORE}), which alone writes there; change "
                    f"an engine with `tocsin update {self.path} CHANGES`{only_in_python(' or Engine.open')}, or name "
                    "another folder"
                )
        refuse_other_manifest(self.path / MANIFEST, FORMAT)
        try:
            with refused(self.path):
                self._missing = [one for one in (self.folder, *self.folder.parents) if not one.exists()]
                self.path.mkdir(parents=True, exist_ok=True)
                with Lock(self.path, _PATIENCE_S):  # keeps out other publications between these two steps
                    self.folder.mkdir()
                    self._lock = Lock(self.folder, _PATIENCE_S)
        except BaseException:
            self._clear()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._is_published and not self._may_be_published():
            self._clear()
        self._lock.release()

    def _may_be_published(self) -> bool:
        """Whether an interrupted `publish` got as far as the manifest, or this cannot be determined."""
        try:
            published = manifest_of(self.path / MANIFEST)
        except OSError:
            return True
        if not published:
            return (self.path / MANIFEST).exists()
        return self.version in (published.get("current"), published.get("previous"))

    def _clear(self) -> None:
        """Remove everything written so far."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for folder in self._missing[1:]:
            with suppress(OSError):  # it was not created, or another process uses it by now
                folder.rmdir()

    def write(
        self,
        number: int,
        segment: Segment,
        versions: NDArray[np.int64] | None = None,
        signs: Signs | None = None,
        home: int | None = None,
    ) -> PartPlace:
        """Write a segment as a part, with the versions of the changes that added its subscriptions, if any.

        `signs` are its routing keys; without them it receives every event.
        """
        write_part(self.path, self.version, number, segment, versions, signs)
        return self.place(number, home)

    def write_changes(self, number: int, place: PartPlace, changes: PartChanges) -> PartPlace:
        """Write the changes of an existing part."""
        name = f"changes-{number:05d}.npz"
        with refused(self.path):
            write_changes(self.folder / name, changes)
        return place._replace(changes=f"{self.folder.name}/{name}")

    def write_tombstones(self, tombstones: Tombstones) -> str:
        """Write the tombstones that are in no part."""
        with refused(self.path):
            write_tombstones(self.folder / TOMBSTONES, tombstones)
        return f"{self.folder.name}/{TOMBSTONES}"

    def write_statistics(self, statistics: Statistics | None) -> str | None:
        """Write the statistics about events, if any; returns their path."""
        if statistics is None:
            return None
        with refused(self.path):
            write_statistics(self.folder / STATISTICS, statistics)
        return f"{self.folder.name}/{STATISTICS}"

    def write_placement(self, placement: Placement) -> str:
        """Write the placement for further subscriptions."""
        with refused(self.path):
            write_placement(self.folder / PLACEMENT, placement)
        return f"{self.folder.name}/{PLACEMENT}"

    def place(self, number: int, home: int | None = None) -> PartPlace:
        """The place of a part of this version."""
        return PartPlace(f"{self.folder.name}/{part_name(number)}", home=home)

    def publish(
        self,
        parts: Sequence[PartPlace],
        subscriptions: int,
        ids: str,
        texts: Mapping[str, Text] | None = None,
        *,
        tombstones: str | None = None,
        placed: Placed | None = None,
        statistics: str | None = None,
        store: StoreMark | None = None,
        over: str | None = None,
        keep_s: float = 0.0,
    ) -> IndexFolder:
        """Make this version the current one, and remove versions that are not needed. All its parts must exist.

        `texts` are the attributes of events that are texts, for later additions to the index. `over` is the version
        that this one is based on; raises `Overtaken` if that is not the current one. Versions younger than `keep_s`
        seconds stay for readers, and so does the previous one.
        """
        for part in parts:
            if not (self.path / part.path / MANIFEST).exists():
                raise SegmentError(f"{self.path} cannot take version {self.version}: its part {part.path} is missing")
        about = (ids, dict(texts or {}), tombstones, placed, statistics, store)
        new = IndexFolder(self.path, self.version, tuple(parts), subscriptions, *about)
        with refused(self.path), Lock(self.path, _PATIENCE_S):
            before = manifest_of(self.path / MANIFEST).get("current")
            if over is not None and before not in (over, None):
                raise Overtaken(f"{self.path} is at version {before} now, not at {over}; read it again")
            manifest = _manifest_for(new, before)
            write_manifest(self.folder / VERSION_MANIFEST, manifest)
            write_manifest(self.path / MANIFEST, manifest)
            self._is_published = True
            self._lock.release()
            remove_unneeded(self.path, {self.version, before}, keep_s)
        return new


class Overtaken(SegmentError):
    """The version that a publication is based on is not the current one any more."""


def _manifest_for(folder: IndexFolder, before: str | None) -> dict[str, Any]:
    """The manifest of a version."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "current": folder.version,
        "previous": before,
        "parts": [part.entry() for part in folder.parts],
        "subscriptions": folder.subscriptions,
        "ids": folder.ids,
        "texts": {name: str(how) for name, how in folder.texts.items()},
        "graves": folder.tombstones,
        "placement": None if folder.placed is None else folder.placed.entry(),
        "statistics": folder.statistics,
        **({} if folder.store is None else {"store": list(folder.store)}),
    }


def write_part(
    path: Path,
    version: str,
    number: int,
    segment: Segment,
    versions: NDArray[np.int64] | None = None,
    signs: Signs | None = None,
) -> None:
    """Write one segment to a temporary folder and rename it. A repeated attempt finds the part and does nothing."""
    folder = path / version_folder(version)
    aside = folder / f".{part_name(number)}.{uuid.uuid4().hex[:8]}"
    with refused(path):
        try:
            write_segment(segment, aside)
            write_attributes(aside, segment)
            if versions is not None:
                np.save(aside / VERSIONS_FILE, versions)
            if signs is not None:
                write_signs(aside, signs)
            aside.rename(folder / part_name(number))
        except OSError:
            if not (folder / part_name(number) / MANIFEST).exists():
                raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def write_index(path: str | Path, segment: Segment) -> IndexFolder:
    """Write a single segment as an index folder."""
    with Publication(path) as new:
        part = new.write(0, segment)
        ids = "string" if isinstance(segment.ids, Texts) else "int64"
        statistics = new.write_statistics(segment.plan.statistics)
        return new.publish([part], len(segment), ids, statistics=statistics)


@contextmanager
def refused(path: Path) -> Iterator[None]:
    """Turn errors of the file system into `SegmentError`, with the folder that could not be written."""
    try:
        yield
    except OSError as error:
        if (file := file_in_place_of(path)) is not None:
            which = "it" if file == path else file
            raise SegmentError(f"{path} cannot be written ({which} is a file). Name a folder.") from None
        what = f"{error.strerror or error}: {error.filename}" if error.filename else error.strerror or str(error)
        raise SegmentError(
            f"{path} cannot be written ({what}). Its earlier contents are unchanged. Free some space, or name "
            "another folder."
        ) from None
