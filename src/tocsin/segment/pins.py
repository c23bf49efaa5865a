"""Pins: the index version that each micro-batch of a stream uses, which is the one current when the batch first asks.

A micro-batch may run again after a failure, and its tasks run in many processes. So the first process that asks records
the version, and all others read it. A stream has pins for two batches: the running one and the one before.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tocsin.errors import InvalidInput, SegmentError
from tocsin.locks import Lock
from tocsin.segment.folder import IndexFolder
from tocsin.segment.retention import PINS
from tocsin.writing import aside

_STREAM: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def pinned(path: Path, stream: str, batch: int) -> IndexFolder:
    """The version that a batch of a stream uses; raises `SegmentError` if it was removed.

    `stream` is a name of letters, digits, `-` and `_` that stays the same when the stream is restarted.
    """
    if not _STREAM.fullmatch(stream):
        raise InvalidInput(f"a stream's name has 1 to 64 letters, digits, - and _; this is {stream!r}")
    own = path / PINS / stream
    pin = own / str(batch)
    recorded = _recorded(pin)
    if recorded is None:
        own.mkdir(parents=True, exist_ok=True)
        with Lock(own, patience_s=60.0):
            recorded = _recorded(pin) or _record(path, pin)
            _forget(own, batch - 1)
    try:
        return IndexFolder.read(path, recorded)
    except SegmentError as error:
        raise SegmentError(
            f"{path}: batch {batch} of stream {stream} began with version {recorded}, which was deleted or is damaged "
            f"({error}). Remove {pin} to match the batch again with the current version. Its answers may then differ "
            "from those already written."
        ) from None


def _recorded(pin: Path) -> str | None:
    try:
        return pin.read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None


def _record(path: Path, pin: Path) -> str:
    """Record the current version. The lock prevents a publication from removing it meanwhile."""
    with Lock(path, patience_s=60.0):
        version = IndexFolder.read(path).version
        with aside(pin) as beside:
            beside.write_text(version + "\n", encoding="utf-8")
    return version


def _forget(own: Path, before: int) -> None:
    """Remove the pins of earlier batches."""
    for pin in own.iterdir():
        if pin.name.isdecimal() and int(pin.name) < before:
            pin.unlink(missing_ok=True)
