"""The files of a folder that Spark would read. It does not import PySpark."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlparse

from tocsin.records.several import refuse_table_formats


def files_in(path: Path) -> list[Path]:
    """The files of a path that Spark would read; raises `InvalidInput` for those of a Delta table and the like."""
    files = sorted(one for one in path.rglob("*") if is_data(one, path)) if path.is_dir() else [path]
    refuse_table_formats(files)
    return files


def path_of_url(url: str) -> str:
    """The path in a URL of a file, as Spark's column `_metadata.file_path` has it."""
    return unquote(urlparse(url).path)


def is_data(file: Path, folder: Path) -> bool:
    """Whether Spark would read a file below a folder."""
    parts = file.relative_to(folder).parts
    return file.is_file() and not any(part.startswith(("_", ".")) for part in parts)
