"""Writer of matches: JSON lines, CSV, Parquet or Arrow by file ending, a chunk at a time.

A file is written under a temporary name and renamed when it is complete, so an interrupted run leaves no partial file.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pyarrow as pa

from tocsin.errors import InvalidInput
from tocsin.records.files import STANDARD
from tocsin.records.formats import FORMATS, Format, Sink, either, format_of
from tocsin.writing import aside, raising_invalid_input


def output_format(path: str | Path) -> Format:
    """The format in which a file is written; raises `InvalidInput` if there is none."""
    form = format_of(path, "--out-format")
    if form.sink is None:
        others = either(tuple(row.name for row in FORMATS.values() if row.sink is not None))
        raise InvalidInput(f"{form.name} is only read; write {others}")
    return form


class Writer:
    """Writes tables of one schema to a file or, for `-`, to standard output. Made by `open_writer`."""

    def __init__(self, path: str | Path, stream: IO[bytes]) -> None:
        self.path = path
        self._format = output_format(path)
        self._sink: Sink | None = None
        self._stream = stream
        self._is_seen_at_once = str(path) == STANDARD

    def write(self, table: pa.Table) -> None:
        """Append a table; the first one fixes the schema. Standard output is flushed each time."""
        table = _without_dictionaries(table)
        with raising_invalid_input(self.path):
            if self._sink is None:
                self._sink = self._open(table.schema)
            self._sink.write(table)
            if self._is_seen_at_once:
                self._stream.flush()

    def _open(self, schema: pa.Schema) -> Sink:
        assert self._format.sink is not None
        nested = [field.name for field in schema if pa.types.is_nested(field.type)]
        if nested and self._format.is_untyped:
            others = either(tuple(row.name for row in FORMATS.values() if row.sink and not row.is_untyped))
            raise InvalidInput(f"{self._format.name} cannot hold the lists of {nested[0]!r}; write {others}")
        return self._format.sink(self._stream, schema)

    def close(self) -> None:
        """Finish the format's output."""
        with raising_invalid_input(self.path):
            if self._sink is not None:
                self._sink.close()
            self._stream.flush()

    def abandon(self) -> None:
        """Free the format's resources; the output is discarded."""
        if self._sink is not None:
            with suppress(OSError, ValueError, pa.ArrowException):
                self._sink.close()


@contextmanager
def open_writer(path: str | Path) -> Iterator[Writer]:
    """Open a writer for the format of the file's ending; raises `InvalidInput` if it cannot be written."""
    with _standard_output() if str(path) == STANDARD else _file(path) as stream:
        writer = Writer(path, stream)
        try:
            yield writer
        except BaseException:
            writer.abandon()
            raise
        writer.close()


@contextmanager
def _file(path: str | Path) -> Iterator[IO[bytes]]:
    """A temporary file that becomes `path` when it is complete."""
    if Path(path).is_dir():
        raise InvalidInput(f"cannot write {path}: it is a folder")
    with aside(path) as beside:
        with raising_invalid_input(path):
            stream = beside.open("wb")
        try:
            yield stream
        except BaseException:
            with suppress(OSError):
                stream.close()
            raise
        with raising_invalid_input(path):
            stream.close()


@contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    """Standard output for bytes. Unbuffered (PYTHONUNBUFFERED) it is raw, and a raw write may be partial."""
    if sys.stdout is None:
        raise InvalidInput("standard output is closed")
    if not isinstance(sys.stdout.buffer, io.RawIOBase):
        yield sys.stdout.buffer
        return
    stream = io.BufferedWriter(sys.stdout.buffer)
    try:
        yield stream
    finally:
        stream.detach()  # otherwise standard output would be closed when the stream is collected


def _without_dictionaries(table: pa.Table) -> pa.Table:
    """The table without dictionary encoding. An Arrow file has one dictionary a column, tables may have several."""
    return table.cast(pa.schema([pa.field(field.name, _plain(field.type)) for field in table.schema]))


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    plain: pa.DataType = kind.value_type if pa.types.is_dictionary(kind) else kind
    return plain
