"""Which file is it, and can it be read? Formats by file ending, and clear refusals."""

from __future__ import annotations

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
    if ending not in ENDINGS:
        raise InvalidInput(
            f"{path}: the ending {ending!r} names no format; use one of {', '.join(ENDINGS)}, or - for JSON lines"
        )
    return ENDINGS[ending]


def open_bytes(path: str | Path) -> tuple[IO[bytes], int | None]:
    """A file (or standard input for `-`) for reading, and its size in bytes where it is known."""
    if str(path) == STANDARD:
        return sys.stdin.buffer, None
    readable(path)
    return Path(path).open("rb"), Path(path).stat().st_size


def readable(path: str | Path) -> Path:
    """The path, if it is a file; else a clear refusal."""
    path = Path(path)
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; give a file")
    if not path.exists():
        raise InvalidInput(f"there is no file {path}")
    return path
