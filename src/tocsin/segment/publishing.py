"""How does a new version come into an index folder? Written beside the current one, then made current at once.

Who writes a version holds its folder's lock from the first file to the last, and who publishes holds the index
folder's: several may write and publish at once, and the last one stays. What fails, or is interrupted, leaves nothing;
what was killed leaves a folder that nobody holds, and goes with the next publication.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from tocsin.columns.arrays import Texts
from tocsin.errors import SegmentError
from tocsin.locks import Lock
from tocsin.model.texts import Text
from tocsin.segment.folder import FORMAT, VERSION, IndexFolder, part_name, version_folder
from tocsin.segment.segment import Segment
from tocsin.segment.storage import MANIFEST, read_manifest, write_manifest, write_segment

_ABANDONED_S: Final = 86_400
_PATIENCE_S: Final = 60.0


class Publication:
    """A version that is being written; `with` removes it where it was not published.

    Raises `SegmentError`, with the path, for a folder that cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.version = uuid.uuid4().hex[:12]
        self._missing: list[Path] = []
        self._is_published = False

    @property
    def folder(self) -> Path:
        """Where its parts are written, by `write_part` in any process."""
        return self.path / version_folder(self.version)

    def __enter__(self) -> Publication:
        try:
            with refused(self.path):
                self._missing = [one for one in (self.folder, *self.folder.parents) if not one.exists()]
                self.path.mkdir(parents=True, exist_ok=True)
                with Lock(self.path, _PATIENCE_S):  # or a publication could come between the two
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
        """Whether an interrupted `publish` came as far as the manifest, or nobody can tell."""
        published = _manifest(self.path)
        if not published:
            return (self.path / MANIFEST).exists()
        return self.version in (published.get("current"), published.get("previous"))

    def _clear(self) -> None:
        """Be as if it had never begun."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for folder in self._missing[1:]:
            with suppress(OSError):  # it was not made, or somebody else writes there by now
                folder.rmdir()

    def write(self, number: int, segment: Segment) -> None:
        """Write a segment as a part."""
        write_part(self.path, self.version, number, segment)

    def publish(
        self, parts: Sequence[str], subscriptions: int, ids: str, texts: Mapping[str, Text] | None = None
    ) -> IndexFolder:
        """Make this version the current one and remove the one before the last; all its parts must be there.

        `texts` are the attributes of events that are texts, to whoever opens it to take more subscriptions.
        """
        for part in parts:
            if not (self.folder / part / MANIFEST).exists():
                raise SegmentError(f"{self.path} cannot take version {self.version}: its part {part} is not there")
        with refused(self.path), Lock(self.path, _PATIENCE_S):
            before = _manifest(self.path).get("current")
            manifest = {
                "format": FORMAT,
                "version": VERSION,
                "current": self.version,
                "previous": before,
                "parts": list(parts),
                "subscriptions": subscriptions,
                "ids": ids,
                "texts": {name: str(how) for name, how in (texts or {}).items()},
            }
            write_manifest(self.path / MANIFEST, manifest)
            self._is_published = True
            self._lock.release()
            _remove_old(self.path, keep={self.version, before})
        return IndexFolder(self.path, self.version, tuple(parts), subscriptions, ids, dict(texts or {}))


def write_part(path: Path, version: str, number: int, segment: Segment) -> None:
    """Write one segment aside and rename it. A second attempt at the same part finds it there, and is done."""
    folder = path / version_folder(version)
    aside = folder / f".{part_name(number)}.{uuid.uuid4().hex[:8]}"
    with refused(path):
        try:
            write_segment(segment, aside)
            aside.rename(folder / part_name(number))
        except OSError:
            if not (folder / part_name(number) / MANIFEST).exists():
                raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def write_index(path: str | Path, segment: Segment) -> IndexFolder:
    """Write a single segment as an index folder."""
    with Publication(path) as new:
        new.write(0, segment)
        ids = "string" if isinstance(segment.ids, Texts) else "int64"
        return new.publish([part_name(0)], len(segment), ids)


@contextmanager
def refused(path: Path) -> Iterator[None]:
    """Say of an error of the file system which folder could not be written."""
    try:
        yield
    except OSError as error:
        what = f"{error.strerror or error}: {error.filename}" if error.filename else error.strerror or str(error)
        raise SegmentError(
            f"{path} cannot be written ({what}). What it held before stands; make room, or name another folder."
        ) from None


def _remove_old(path: Path, keep: set[str | None]) -> None:
    """Remove what is not current, nor the version before, nor still being written.

    Without locks on the file system, what is a day old.
    """
    kept = {version_folder(version) for version in keep if version}
    for folder in path.glob(version_folder("*")):
        if folder.name not in kept:
            with Lock(folder, patience_s=0) as lock, suppress(OSError):
                is_old = time.time() - folder.stat().st_mtime > _ABANDONED_S
                if lock.is_held or (is_old and not lock.waited):
                    shutil.rmtree(folder, ignore_errors=True)
    for beside in path.glob(f"{MANIFEST}.*.part"):  # of one that was killed; nobody else writes one now
        beside.unlink(missing_ok=True)


def _manifest(path: Path) -> dict[str, Any]:
    """What is published, empty for nothing."""
    try:
        return read_manifest(path / MANIFEST, FORMAT, VERSION)
    except SegmentError:
        return {}
