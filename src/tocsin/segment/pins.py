"""Pins: the index version and the present that each micro-batch of a stream has, both taken when it first asks.

A micro-batch may run again after a failure, and its tasks run in many processes. So the first process that asks records
both, and all others read them. A stream has pins for two batches: the running one and the one before.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from tocsin.errors import InvalidInput, SegmentError
from tocsin.locks import Lock
from tocsin.model.instants import present
from tocsin.model.values import Instant
from tocsin.segment.folder import IndexFolder
from tocsin.segment.origins import Origin
from tocsin.writing import aside

PINS: Final = "pins"
_STREAM: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Pin(NamedTuple):
    """What a micro-batch has recorded."""

    version: str
    present: Instant

    @classmethod
    def parse(cls, text: str) -> Pin:
        """The pin in the text of a file."""
        version, moment = text.split()
        return cls(version, Instant(int(moment)))

    def text(self) -> str:
        """The text of the pin's file."""
        return f"{self.version}\n{self.present.microseconds}\n"

    @classmethod
    def read(cls, file: Path) -> Pin | None:
        """The pin in a file; None if there is no file or it is empty."""
        try:
            lines = file.read_text(encoding="utf-8").split()
            if len(lines) == 1:  # tocsin 0.2 recorded no present
                lines.append(str(file.stat().st_mtime_ns // 1000))
        except FileNotFoundError:
            return None
        return cls(lines[0], Instant(int(lines[1]))) if lines else None


def pinned(index: str | Path, stream: str, batch: int) -> tuple[IndexFolder, Instant]:
    """The version and the present that a batch of a stream uses; raises `SegmentError` if the version was removed.

    `index` is a folder or the URL of an index on an object store. `stream` is a name of letters, digits, `-` and `_`
    that stays the same when the stream is restarted.
    """
    if not _STREAM.fullmatch(stream):
        raise InvalidInput(f"a stream's name has 1 to 64 letters, digits, - and _; this is {stream!r}")
    origin = Origin.of(index)
    pin = _in_folder(Path(index), stream, batch) if origin is None else _in_store(origin, stream, batch)
    try:
        return IndexFolder.read(index, pin.version), pin.present
    except SegmentError as error:
        raise SegmentError(
            f"{index}: batch {batch} of stream {stream} began with version {pin.version}, which was deleted or is "
            f"damaged ({error}). Remove {index}/{PINS}/{stream}/{batch} to match the batch again with the current "
            "version. Its answers may then differ from those already written."
        ) from None


def _in_folder(path: Path, stream: str, batch: int) -> Pin:
    """The pin of a batch in an index folder."""
    own = path / PINS / stream
    file = own / str(batch)
    pin = Pin.read(file)
    if pin is None:
        own.mkdir(parents=True, exist_ok=True)
        with Lock(own, patience_s=60.0):
            pin = Pin.read(file) or _record(path, file)
            _forget(own, batch - 1)
    return pin


@lru_cache(maxsize=4)
def _in_store(origin: Origin, stream: str, batch: int) -> Pin:
    """The pin of a batch on an object store, where of several tasks that write it one succeeds."""
    own = f"{PINS}/{stream}"
    if (text := origin.text(f"{own}/{batch}")) is not None:
        return Pin.parse(text)
    pin = Pin(IndexFolder.read(origin.url).version, present())
    if not origin.create(f"{own}/{batch}", pin.text()):
        text = origin.text(f"{own}/{batch}")
        assert text is not None, "another task has just written it"
        return Pin.parse(text)
    old = [name for name, _ in origin.names(own) if name.rpartition("/")[2].isdecimal()]
    origin.remove([name for name in old if int(name.rpartition("/")[2]) < batch - 1])
    return pin


def _record(path: Path, file: Path) -> Pin:
    """Record the current version. The lock prevents a publication from removing it meanwhile."""
    with Lock(path, patience_s=60.0):
        pin = Pin(IndexFolder.read(path).version, present())
        with aside(file) as beside:
            beside.write_text(pin.text(), encoding="utf-8")
    return pin


def _forget(own: Path, before: int) -> None:
    """Remove the pins of earlier batches."""
    for file in own.iterdir():
        if file.name.isdecimal() and int(file.name) < before:
            file.unlink(missing_ok=True)
