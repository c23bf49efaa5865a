"""Columns that folders stand for: `day=2/city=Oslo/1.parquet`, as Hive, Spark and Arrow write them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pyarrow as pa

_ABSENT: Final = "__HIVE_DEFAULT_PARTITION__"
_INTEGER: Final = re.compile(r"[+-]?\d{1,18}", re.ASCII)


def partitions_of(folder: Path, files: Sequence[Path]) -> dict[Path, Mapping[str, pa.Scalar]]:
    """The columns that the folders of each file stand for; integers where all values of a column are."""
    texts = {file: _texts(file.relative_to(folder)) for file in files}
    values: dict[str, set[str]] = {}
    for own in texts.values():
        for name, text in own.items():
            if text is not None:
                values.setdefault(name, set()).add(text)
    kinds = {name: pa.int64() if all(map(_INTEGER.fullmatch, given)) else pa.string() for name, given in values.items()}
    return {
        file: {name: _scalar(text, kinds.get(name, pa.string())) for name, text in own.items()}
        for file, own in texts.items()
    }


def _texts(path: Path) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for part in path.parts[:-1]:
        name, equals, text = part.partition("=")
        if name and equals:
            found[unquote(name)] = None if text in ("", _ABSENT) else unquote(text)
    return found


def _scalar(text: str | None, kind: pa.DataType) -> pa.Scalar:
    return pa.scalar(int(text) if text is not None and pa.types.is_integer(kind) else text, kind)
