"""How is a file written whole or not at all? Aside, under a name that nobody else has, and renamed at the end."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tocsin.errors import InvalidInput


@contextmanager
def aside(path: str | Path) -> Iterator[Path]:
    """Where to write meanwhile: it becomes `path` when the body ends, and goes when the body fails.

    A link stays one, and its target becomes what is written. A device or a pipe is written to as it is.
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


@contextmanager
def raising_invalid_input(path: str | Path) -> Iterator[None]:
    """Raise `InvalidInput` with the name of the file in place of an error of the file system.

    A pipe whose reader has gone raises `BrokenPipeError` as before.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror or error}") from None
