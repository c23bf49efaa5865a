"""Sources of several files: a list of paths, a pattern or a folder.

Files are read in order, with continuous row numbers.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tocsin.errors import InvalidInput
from tocsin.records.chunks import Chunk, behind, rows_to
from tocsin.records.files import is_url
from tocsin.records.formats import Formatted, by_endings, endings

Reader = Callable[[str | Path], Iterator[Chunk]]


def files_of(source: Any) -> list[str | Path] | None:
    """The files of a source, in order; None if it is not a list of paths, a pattern or a folder.

    Raises `InvalidInput` for a folder or a pattern without files, and for the folder of a table format such as Delta.
    """
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
            raise InvalidInput(f"{source} is a folder without files that end in {', '.join(endings())}; give a file")
        refuse_table_formats([Path(file) for file in files])
        return files
    if isinstance(source, str) and _is_pattern(source):
        found = sorted(path for path in glob.glob(source, recursive=True) if os.path.isfile(path))  # noqa: PTH113, PTH207
        if not found:
            raise InvalidInput(f"no file fits the pattern {source}")
        refuse_table_formats([Path(file) for file in found])
        return [source.alike(one) for one in found] if isinstance(source, Formatted) else list(found)
    return None


def _is_pattern(source: str) -> bool:
    is_json = source.lstrip().startswith(("{", "["))  # JSON given instead of a path
    return glob.has_magic(source) and not is_json and not os.path.exists(source)  # noqa: PTH110


_TABLE_FORMATS: Final = (
    ("Delta", "_delta_log", "tocsin.match(subscriptions, deltalake.DeltaTable(path).to_pyarrow_table())"),
    ("Hudi", ".hoodie", "spark.match(session.read.format('hudi').load(path), index)"),
    ("Iceberg", "metadata/*.metadata.json", "tocsin.match(subscriptions, catalog.load_table(name).scan().to_arrow())"),
)
"""Formats of tables over Parquet files: the name, a path that marks the table's folder, and what reads it."""


def refuse_table_formats(files: Sequence[Path]) -> None:
    """Raise `InvalidInput` if files lie in the folder of a Delta, Iceberg or Hudi table.

    Only the log of such a table says which files, and which of their rows, are live.
    """
    around = {folder for parent in {file.absolute().parent for file in files} for folder in (parent, *parent.parents)}
    for folder in sorted(around):
        for name, sign, instead in _TABLE_FORMATS:
            if next(folder.glob(sign), None) is not None:
                raise InvalidInput(
                    f"{folder} is a table of {name}: its Parquet files also hold rows that were deleted or replaced. "
                    f"Read it in Python with a {name} library, as in {instead}"
                )


def _names_a_file(one: object) -> bool:
    if not isinstance(one, str):
        return False
    return is_url(one) or by_endings(Path(one)) is not None or os.path.exists(one)  # noqa: PTH110


def _files_in(folder: Path) -> list[Path]:
    """The files below a folder with an ending that names a format."""
    return [path for path in _shown_in(folder) if by_endings(path) is not None]


def _shown_in(folder: Path) -> list[Path]:
    """The files below a folder, without names that start with a dot or an underscore."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]


def read_several(files: Sequence[str | Path], read: Reader, *, are_named: bool = True) -> Iterator[Chunk]:
    """The chunks of several files in order; `done` is the share of all files. Rejects name their file."""
    rows = 0
    for number, file in enumerate(files):
        first = rows
        for chunk in read(file):
            done = None if chunk.done is None else (number + chunk.done) / len(files)
            shifted = behind(chunk, first, str(file) if are_named else "") if len(files) > 1 else chunk
            rows = max(rows, rows_to(shifted))
            yield replace(shifted, done=done)
