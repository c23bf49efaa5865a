"""Atomic writing of files: into a temporary file with a unique name, renamed at the end."""

from __future__ import annotations

import os
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
