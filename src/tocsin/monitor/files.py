"""Monitors on disk: an archive with JSON lines and with cells. What it says is checked, and tables are made anew."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.errors import InvalidInput, MissingExtra, SegmentError, TocsinError
from tocsin.monitor.options import MonitorOptions, checked_key
from tocsin.monitor.saved_events import as_line, of_line
from tocsin.monitor.terms.memory.layouts import Cells
from tocsin.writing import aside, raising_invalid_input

_VERSION: Final = 1
_HEAD: Final = "monitor.json"
_TYPES: Final[dict[str, np.dtype[Any]]] = {
    "owners": np.dtype("<i4"),
    "terms": np.dtype("<i4"),
    "counts": np.dtype("<i4"),
    "words": np.dtype("<i8"),
}
_DAMAGE: Final = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OverflowError, EOFError),
    *(zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, TocsinError),
)
"""What the content of a damaged file raises."""


class _Unreadable(InvalidInput):
    """The file system does not give the file."""


class SavedTerm(NamedTuple):
    """A function over time: its text, the place of its key among the keys, and the words of an entry."""

    text: str
    key: int
    width: int


class SavedMonitor(NamedTuple):
    """What a file says of a monitor. Objects are by their places in it, those unseen for longest first."""

    options: dict[str, Any]
    keys: list[tuple[str, ...]]
    terms: list[SavedTerm]
    codes: list[tuple[int, str | int]]
    readings: list[Any]
    clock: int | None  # of all objects
    floor: int
    events: int
    objects: list[Any]
    held: list[Any]
    cells: list[Cells]  # of subscriptions, then of the conditions of each level


def write_monitor(path: str | Path, saved: SavedMonitor) -> None:
    """Write a monitor atomically. Raises `InvalidInput` if the file cannot be written."""
    head = {"tocsin monitor": _VERSION, "memories": len(saved.cells)}
    head |= {name: value for name, value in saved._asdict().items() if name not in ("objects", "held", "cells")}
    with (
        raising_invalid_input(path),
        aside(path) as beside,
        zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        archive.writestr(_HEAD, json.dumps(head))
        _write_lines(archive, "objects.jsonl", saved.objects)
        _write_lines(archive, "held.jsonl", saved.held)
        for number, cells in enumerate(saved.cells):
            for name, kind in _TYPES.items():
                archive.writestr(_member(number, name), np.asarray(getattr(cells, name), kind).tobytes())


def read_monitor(path: str | Path) -> SavedMonitor:
    """Read a monitor. Raises `SegmentError` for a damaged file, and `InvalidInput` for one that cannot be read."""
    with _opened(path) as archive:
        head = _head(archive, path)
        keys = [checked_key(key) for key in head["keys"]]
        terms = [SavedTerm(str(text), int(key), int(width)) for text, key, width in head["terms"]]
        if any(not 0 <= one.key < len(keys) or one.width not in (1, 2, 4) for one in terms):
            raise ValueError
        options = dict(head["options"])
        if not keys or keys[0] != MonitorOptions.of(**options).key:
            raise ValueError
        return SavedMonitor(
            options,
            keys,
            terms,
            [(int(kind), value) for kind, value in head["codes"]],
            list(head["readings"]),
            None if head["clock"] is None else int(head["clock"]),
            int(head["floor"]),
            int(head["events"]),
            _lines(archive, "objects.jsonl"),
            _lines(archive, "held.jsonl"),
            [_cells(archive, number) for number in range(int(head["memories"]))],
        )


def read_monitor_options(path: str | Path) -> dict[str, Any]:
    """The options alone. Raises `SegmentError` as `read_monitor` does."""
    with _opened(path) as archive:
        options: dict[str, Any] = dict(_head(archive, path)["options"])
        MonitorOptions.of(**options)
        return options


@contextmanager
def as_damage(path: str | Path) -> Iterator[None]:
    """Convert what the content of a damaged file raises."""
    try:
        yield
    except (SegmentError, MissingExtra, _Unreadable):
        raise
    except _DAMAGE:
        raise SegmentError(f"{path} is not a complete state of a monitor; delete it to begin anew") from None


@contextmanager
def _opened(path: str | Path) -> Iterator[zipfile.ZipFile]:
    with as_damage(path):
        try:
            archive = zipfile.ZipFile(path)
        except OSError as error:
            raise _Unreadable(f"cannot read {path}: {error.strerror or error}") from None
        with archive:
            yield archive


def _head(archive: zipfile.ZipFile, path: str | Path) -> dict[str, Any]:
    head: dict[str, Any] = json.loads(archive.read(_HEAD))
    version = head["tocsin monitor"]
    if version != _VERSION:
        raise SegmentError(
            f"{path} is a state of a monitor of version {version!r:.20}, and this release reads {_VERSION}; use the "
            "release that wrote it, or delete it to begin anew"
        )
    return head


def _write_lines(archive: zipfile.ZipFile, name: str, rows: Sequence[Any]) -> None:
    with archive.open(name, "w", force_zip64=True) as file:
        for row in rows:
            file.write(as_line(row))


def _lines(archive: zipfile.ZipFile, name: str) -> list[Any]:
    return [of_line(line) for line in archive.read(name).splitlines()]


def _cells(archive: zipfile.ZipFile, number: int) -> Cells:
    arrays = {name: _native(np.frombuffer(archive.read(_member(number, name)), kind)) for name, kind in _TYPES.items()}
    cells = Cells(**arrays)
    if len({len(one) for one in cells[:-1]}) > 1:
        raise ValueError
    return cells


def _native(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(array.dtype.newbyteorder("="))


def _member(number: int, name: str) -> str:
    return f"cells/{number}/{name}"
