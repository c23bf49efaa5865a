"""Which file is it, and can it be read? Formats by file ending, and clear refusals."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO, Final, Literal, TypeAlias

from tocsin.errors import InvalidInput

Format: TypeAlias = Literal["json lines", "csv", "parquet", "arrow"]

ENDINGS: Final[dict[str, Format]] = {
    ".jsonl": "json lines",
    ".ndjson": "json lines",
    ".json": "json lines",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
STANDARD: Final = "-"


def format_of(path: str | Path) -> Format:
    """The format that a file ending stands for; `-` is JSON lines."""
    if str(path) == STANDARD:
        return "json lines"
    ending = Path(path).suffix.lower()
    if str(path).lstrip().startswith("{"):
        readable(path)
    if ending not in ENDINGS:
        raise InvalidInput(
            f"{path}: the ending {ending!r} names no format; use one of {', '.join(ENDINGS)}, or - for JSON lines"
        )
    return ENDINGS[ending]


def open_bytes(path: str | Path) -> tuple[IO[bytes], int | None]:
    """A file (or standard input for `-`) for reading, and its size in bytes where it is known."""
    if str(path) == STANDARD:
        if sys.stdin is None:
            raise InvalidInput("standard input is closed")
        return sys.stdin.buffer, None
    readable(path)
    return Path(path).open("rb"), Path(path).stat().st_size


def readable(path: str | Path) -> Path:
    """The path, if it is a file; else a clear refusal."""
    if os.path.isdir(path):  # noqa: PTH112  (unlike pathlib's, False for what no file could be called)
        raise InvalidInput(f"{path} is a folder; give a file")
    if os.path.exists(path):  # noqa: PTH110
        return Path(path)
    hint = "; JSON lines that are no file are given as bytes" if str(path).lstrip().startswith("{") else ""
    name = str(path) if len(str(path)) <= 200 and str(path).isprintable() else repr(str(path)[:60]) + "..."
    raise InvalidInput(f"there is no file {name}{hint}")
