"""Object stores that hold indexes. Each machine copies the parts that it opens, once, and maps the copies.

    CACHE/<bucket>-<digest>/version-<name>/version.json        its time is when a task last used the version
    CACHE/<bucket>-<digest>/version-<name>/part-00000/         a part's small files, renamed into place together
    CACHE/<bucket>-<digest>/version-<name>/part-00000/arrays.bin   copied when a process opens the part

A copy has the layout of an index folder (`folder`), so that only its path is another. Files in versions never change.
So a copy is complete once it has its name. `retention` removes copies that no task uses.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from tocsin.errors import SegmentError, needing
from tocsin.locks import Lock
from tocsin.records.files import is_url, located
from tocsin.segment.storage import ARRAYS, VERSION_MANIFEST
from tocsin.writing import aside

CACHE: Final = "TOCSIN_INDEX_CACHE"
"""The variable of the environment with the folder for copies; the default is in the user's cache folder."""
SHARED: Final = "shared"
"""Marks a version's folder that is kept only for parts that later versions share."""
_BLOCK_BYTES: Final = 8 << 20
_READABLE: Final = re.compile(r"[^A-Za-z0-9_.-]+")


class Origin(NamedTuple):
    """The address of an index on an object store, such as `s3://bucket/index`."""

    url: str

    @classmethod
    def of(cls, index: object) -> Origin | None:
        """The origin that a URL names; None for the path of a folder."""
        return cls(str(index).rstrip("/")) if is_url(index) else None

    @property
    def copies(self) -> Path:
        """The folder of this machine's copies."""
        given = os.environ.get(CACHE)
        users = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tocsin" / "indexes"
        readable = _READABLE.sub("-", self.url.partition("://")[2])[:40]
        name = f"{readable}-{hashlib.sha256(self.url.encode()).hexdigest()[:12]}"
        return (Path(given) if given else users).absolute() / name

    def text(self, name: str) -> str | None:
        """A small file of the store; None if it does not exist."""
        with self._naming():
            try:
                system, root = _system(self.url)
                with system.open_input_stream(f"{root}/{name}", compression=None) as stream:
                    return str(stream.read().decode("utf-8"))
            except FileNotFoundError:
                return None

    def create(self, name: str, text: str) -> bool:
        """Write a small file unless it exists; returns whether this call wrote it. One of several callers does.

        Arrow's file systems cannot do this, but those of fsspec can.
        """
        if (folder := self._folder()) is not None:
            with self._naming():
                return _created(folder / name, text)
        with needing("s3"):
            from fsspec.core import url_to_fs

            with self._naming():
                system, root = url_to_fs(self.url)
                try:
                    system.pipe_file(f"{root}/{name}", text.encode(), mode="create")
                except FileExistsError:
                    return False
        return True

    def names(self, folder: str = "") -> list[tuple[str, float]]:
        """All files below a folder of the store, with the times when they were written, in seconds."""
        from pyarrow import fs

        with self._naming():
            system, root = _system(self.url)
            chosen = fs.FileSelector(f"{root}/{folder}".rstrip("/"), recursive=True, allow_not_found=True)
            found = [one for one in system.get_file_info(chosen) if one.type == fs.FileType.File]
            return [(one.path.removeprefix(f"{root}/"), (one.mtime_ns or 0) / 1e9) for one in found]

    def size(self, name: str) -> int:
        """The bytes of a file of the store; 0 if it does not exist."""
        with self._naming():
            system, root = _system(self.url)
            return system.get_file_info(f"{root}/{name}").size or 0

    def put(self, file: Path, name: str) -> None:
        """Copy a local file to the store."""
        with self._naming():
            system, root = _system(self.url)
            if (folder := self._folder()) is not None:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                with aside(folder / name) as beside:
                    shutil.copyfile(file, beside)
                return
            with file.open("rb") as source, system.open_output_stream(f"{root}/{name}", compression=None) as target:
                shutil.copyfileobj(source, target, _BLOCK_BYTES)

    def remove(self, names: list[str]) -> None:
        """Remove files of the store; others may have removed them."""
        with self._naming():
            system, root = _system(self.url)
            for name in names:
                with suppress(FileNotFoundError):
                    system.delete_file(f"{root}/{name}")

    def _folder(self) -> Path | None:
        """The folder that a URL of files names, such as a network drive; None for other stores."""
        system, root = _system(self.url)
        return Path(root) if system.type_name == "local" else None

    def file(self, name: str) -> Path:
        """The copy of a file `version-.../name`, which is made if it does not exist; raises `SegmentError`."""
        copy = self.copies / name
        if not copy.exists():
            with self._copying(copy.parent):
                if not copy.exists():
                    self._copy([name], copy)
        return copy

    def part(self, name: str, *, whole: bool) -> Path:
        """The copy of a part, which is made if it does not exist; without `whole` perhaps without its arrays."""
        copy = self.copies / name
        if not copy.exists():
            with self._copying(copy.parent):
                if not copy.exists():
                    small = [one for one, _ in self.names(name) if one != f"{name}/{ARRAYS}"]
                    self._copy(small, copy)
        if whole and not (copy / ARRAYS).exists():
            with self._copying(copy.parent):
                if not (copy / ARRAYS).exists():
                    self._copy([f"{name}/{ARRAYS}"], copy / ARRAYS)
        return copy

    def _copy(self, names: list[str], copy: Path) -> None:
        """Copy a file, or the files of a folder, beside `copy`, and rename it."""
        beside = copy.with_name(f".{copy.name}.{uuid.uuid4().hex[:8]}")
        try:
            if not names:
                raise FileNotFoundError
            for name in names:
                inner = self.copies / name
                target = beside if inner == copy else beside / inner.relative_to(copy)
                target.parent.mkdir(parents=True, exist_ok=True)
                self._get(name, target)
            with suppress(OSError):  # another process was faster; on a file system without locks it may be
                beside.rename(copy)
        except FileNotFoundError:
            what = f"{copy.relative_to(self.copies)} is missing; its version was replaced and removed, or"
            raise SegmentError(f"{self.url}: {what} it was not uploaded as a whole. Open the index again.") from None
        finally:
            shutil.rmtree(beside, ignore_errors=True) if beside.is_dir() else beside.unlink(missing_ok=True)
        if not copy.exists():
            raise SegmentError(f"{self.url} cannot be copied to {copy}")

    def _get(self, name: str, target: Path) -> None:
        system, root = _system(self.url)
        with system.open_input_stream(f"{root}/{name}", compression=None) as source, target.open("wb") as file:
            shutil.copyfileobj(source, file, _BLOCK_BYTES)

    @contextmanager
    def _copying(self, folder: Path) -> Iterator[None]:
        """Locks a version's folder, so that the processes of a machine copy once, one after the other."""
        version = self.copies / folder.relative_to(self.copies).parts[0]
        try:
            version.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"{error.strerror}; set {CACHE} to a folder on a local disk that this user may write"
            raise SegmentError(f"{self.url} cannot be copied to {version}: {what}") from None
        with Lock(version), self._naming():
            yield
            if not (version / VERSION_MANIFEST).exists():
                (version / SHARED).touch()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Turn errors of file systems and networks into `SegmentError` with the URL."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise SegmentError(f"{self.url} cannot be read or written: {error}") from None


def _created(path: Path, text: str) -> bool:
    """Write a local file unless it exists; it appears with its content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    beside.write_text(text, encoding="utf-8")
    try:
        os.link(beside, path)
    except FileExistsError:
        return False
    finally:
        beside.unlink()
    return True


@lru_cache(maxsize=8)
def _system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it; raises `InvalidInput`."""
    system, root = located(url)
    return system, root.rstrip("/")
