"""Which files does one source mean? A list of paths, a pattern, a folder: read one after another, rows counting on."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tocsin.errors import InvalidInput
from tocsin.records.chunks import Chunk, behind, rows_to
from tocsin.records.files import ENDINGS, PACKED, Formatted, is_url

Reader = Callable[[str | Path], Iterator[Chunk]]


def files_of(source: Any) -> list[str | Path] | None:
    """The files that a source means, in order; None for what is no list of paths, no pattern and no folder."""
    if isinstance(source, list | tuple):
        if not source or not all(isinstance(one, Path) or _names_a_file(one) for one in source):
            return None
        return [file for one in source for file in files_of(one) or [one]]
    if not isinstance(source, str | Path) or is_url(source):
        return None
    if os.path.isdir(source):  # noqa: PTH112  (unlike pathlib's, False for what no file could be called)
        if isinstance(source, Formatted):
            files: list[str | Path] = [source.alike(str(file)) for file in _shown_in(Path(source))]
        else:
            files = [*_files_in(Path(source))]
        if not files:
            raise InvalidInput(f"{source} is a folder without a file of {', '.join(ENDINGS)}; give a file")
        return files
    if isinstance(source, str) and _is_pattern(source):
        found = sorted(path for path in glob.glob(source, recursive=True) if os.path.isfile(path))  # noqa: PTH113, PTH207
        if not found:
            raise InvalidInput(f"no file fits the pattern {source}")
        return [source.alike(one) for one in found] if isinstance(source, Formatted) else list(found)
    return None


def _is_pattern(source: str) -> bool:
    is_json = source.lstrip().startswith(("{", "["))  # which a user gave for a path
    return glob.has_magic(source) and not is_json and not os.path.exists(source)  # noqa: PTH110


def _names_a_file(one: object) -> bool:
    if not isinstance(one, str):
        return False
    path = Path(one)
    inner = path.with_suffix("") if path.suffix.lower() in PACKED and path.name else path
    return is_url(one) or inner.suffix.lower() in ENDINGS or os.path.exists(one)  # noqa: PTH110


def _files_in(folder: Path) -> list[Path]:
    """The files below a folder whose ending names a format."""
    found = []
    for path in _shown_in(folder):
        inner = path.with_suffix("") if path.suffix.lower() in PACKED else path
        if inner.suffix.lower() in ENDINGS:
            found.append(path)
    return found


def _shown_in(folder: Path) -> list[Path]:
    """The files below a folder; what begins with a dot or an underscore is left out."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]


def read_several(files: Sequence[str | Path], read: Reader) -> Iterator[Chunk]:
    """The chunks of files one after another; `done` is the share of all of them."""
    rows = 0
    for number, file in enumerate(files):
        first = rows
        for chunk in read(file):
            done = None if chunk.done is None else (number + chunk.done) / len(files)
            shifted = behind(chunk, first, str(file)) if len(files) > 1 else chunk
            rows = max(rows, rows_to(shifted))
            yield replace(shifted, done=done)
