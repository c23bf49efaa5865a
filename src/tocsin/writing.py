"""Atomic writing of files: into a temporary file with a unique name, renamed at the end."""

from __future__ import annotations

import os
import stat
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tocsin.errors import InvalidInput


@contextmanager
def aside(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` when the body ends, and is deleted when the body fails.

    A symbolic link is kept, and its target is replaced. A device or a pipe is written directly.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    path = path.resolve() if path.is_symlink() else path
    beside = Path(f"{path}.{uuid.uuid4().hex[:8]}.part")
    try:
        yield beside
        beside.replace(path)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder, and those above it. What root makes belongs to the owner of the folder that it is in.

    So `sudo` makes nothing in the folder of a service that the service cannot read.
    """
    if not folder.parent.exists():
        make_folder(folder.parent)
    try:
        folder.mkdir(mode)
    except FileExistsError:
        if folder.is_dir():
            return
        raise
    if sys.platform != "win32" and os.geteuid() == 0:
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)  # nobody put a link in its place
        try:
            _take(number, folder.parent.stat())
        finally:
            os.close(number)


def take_owner(file: int, path: Path) -> None:
    """Give an open file, which will replace `path`, the owner, the group and the mode of the file there.

    If there is none, a file of root gets the owner of the folder. Raises `PermissionError` if the owner would change.
    """
    if sys.platform == "win32":
        return
    try:
        replaced = path.stat()
    except FileNotFoundError:
        if os.geteuid() == 0:
            _take(file, path.parent.stat())
        return
    _take(file, replaced)
    os.fchmod(file, stat.S_IMODE(replaced.st_mode))


def _take(file: int, owner: os.stat_result) -> None:
    if sys.platform != "win32":
        made = os.fstat(file)
        if made.st_uid != owner.st_uid:
            os.fchown(file, owner.st_uid, owner.st_gid)
        elif made.st_gid != owner.st_gid:
            with suppress(PermissionError):  # a group that the user is not in
                os.fchown(file, -1, owner.st_gid)


def file_in_place_of(folder: str | Path) -> Path | None:
    """The file that has the name of a folder, or of one above it, so that the folder cannot be made; else None."""
    folder = Path(folder)
    there = (one for one in (folder, *folder.parents) if os.path.exists(one))  # noqa: PTH110  (False if not permitted)
    return next((one for one in there if not one.is_dir()), None)


@contextmanager
def raising_invalid_input(path: str | Path) -> Iterator[None]:
    """Convert an error of the file system to `InvalidInput` with the file's name.

    A pipe whose reader is gone still raises `BrokenPipeError`.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror or error}") from None
