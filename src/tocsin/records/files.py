"""Opening of files, standard input and URLs, with decompression and clear errors."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa

from tocsin.errors import InvalidInput
from tocsin.spelling import only_in_python

PACKED: Final = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
"""Compression by a file name's last ending."""
NOT_UTF8: Final = "convert the file, for example with iconv -f WINDOWS-1252 -t UTF-8"
"""What to do with a file that is not UTF-8."""
STANDARD: Final = "-"
_LOOKED_AT: Final = 4
_MARKS: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\x04\x22\x4d\x18": "lz4"}
"""Compression by a stream's first bytes."""
_MARKS_OF_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_BLOCK_BYTES: Final = 1 << 24
_URL: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")


def _is_utf16(beginning: bytes) -> bool:
    """Whether a file begins with the mark of UTF-16, or with two ASCII letters in it."""
    zeros = [letter == 0 for letter in beginning[:4]]
    return beginning.startswith(_MARKS_OF_UTF16) or zeros in ([False, True] * 2, [True, False] * 2)


class Opened:
    """A file, standard input (`-`), or bytes, decompressed by its first bytes or its ending.

    Use it in a `with` statement. Raises `InvalidInput` for UTF-16.
    """

    def __init__(self, source: str | Path | bytes | bytearray | memoryview) -> None:
        self._name = "bytes" if isinstance(source, bytes | bytearray | memoryview) else str(source)
        self._raw: IO[bytes]
        self._size: int | None = None
        self._ahead = bytearray()
        if isinstance(source, bytes | bytearray | memoryview):
            self._raw, self._size = io.BytesIO(source), len(source)
        elif self._name == STANDARD:
            if sys.stdin is None:
                raise InvalidInput("standard input is closed")
            self._raw = sys.stdin.buffer
        elif is_url(source):
            file = opened_file(str(source))
            self._raw, self._size = file, file.size()
        else:
            self._raw, self._size = readable(source).open("rb"), Path(source).stat().st_size
        beginning = _beginning(self._raw)
        codec = _codec_of(beginning) or PACKED.get(Path(self._name).suffix.lower())
        if codec is None and _is_utf16(beginning):
            self.__exit__()
            raise InvalidInput(f"{self._name} is UTF-16; convert it with iconv -f UTF-16 -t UTF-8")
        self.stream: Any = self._raw
        if codec is not None:
            raw = self._raw if isinstance(self._raw, pa.NativeFile) else pa.PythonFile(self._raw, "r")
            self.stream = pa.CompressedInputStream(raw, codec)

    def read(self, count: int) -> bytes:
        """Read what is available, up to `count` bytes; raises `InvalidInput` if it cannot be decompressed."""
        if not self._ahead:
            return self._read(count)
        block = bytes(self._ahead[:count])
        del self._ahead[:count]
        return block

    def _read(self, count: int) -> bytes:
        try:
            return getattr(self.stream, "read1", self.stream.read)(count)  # type: ignore[no-any-return]
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{self._name} cannot be read: {error}") from None

    def peek(self, count: int) -> bytes:
        """The first `count` bytes, or fewer at the end. They are read again later."""
        while len(self._ahead) < count and (block := self._read(count - len(self._ahead))):
            self._ahead += block
        return bytes(self._ahead[:count])

    def rest(self) -> bytes:
        """All remaining bytes. They are read again later."""
        while block := self._read(_BLOCK_BYTES):
            self._ahead += block
        return bytes(self._ahead)

    def share(self) -> float | None:
        """The share read so far; None if the size is unknown."""
        return min(self._raw.tell() / self._size, 1.0) if self._size else None

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        if self._name != STANDARD:
            self._raw.close()


def _beginning(raw: Any) -> bytes:
    """The first bytes of a stream, which are read again later; none of a stream that cannot go back to them."""
    if hasattr(raw, "peek"):  # also of pipes
        return bytes(raw.peek(_LOOKED_AT)[:_LOOKED_AT])
    if not raw.seekable():
        return b""
    place = raw.tell()
    found: bytes = raw.read(_LOOKED_AT)
    raw.seek(place)
    return found


def _codec_of(beginning: bytes) -> str | None:
    return next((codec for mark, codec in _MARKS.items() if beginning.startswith(mark)), None)


def is_url(source: object) -> bool:
    """Whether a source is a URL: `s3://bucket/events.parquet`, `file:///data/events.csv`."""
    return isinstance(source, str) and _URL.match(source) is not None


def opened_file(path: str | Path) -> pa.NativeFile:
    """Open a file of any file system for random access; raises `InvalidInput` if it does not exist."""
    if str(path) == STANDARD:
        with Opened(STANDARD) as opened:
            return pa.BufferReader(opened.rest())
    if not is_url(path):
        return pa.OSFile(str(readable(path)))
    system, inner = located(str(path))
    try:
        return system.open_input_file(inner)
    except (OSError, pa.ArrowException) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from None


def located(url: str) -> tuple[Any, str]:
    """The file system of a URL and the path in it. fsspec provides the file systems that Arrow lacks."""
    from pyarrow import fs  # slow to import

    try:
        return fs.FileSystem.from_uri(url)  # type: ignore[no-any-return]
    except (OSError, pa.ArrowException) as error:
        reason = str(error)
    scheme, _, inner = url.partition("://")
    try:
        import fsspec

        return fs.PyFileSystem(fs.FSSpecHandler(fsspec.filesystem(scheme))), inner
    except ImportError:
        hint = f"; fsspec reads more file systems than Arrow: pip install fsspec and its package for {scheme}"
        raise InvalidInput(f"{url} cannot be read: {reason}{hint}") from None
    except Exception as error:  # noqa: BLE001  (whatever a file system's own code raises)
        raise InvalidInput(f"{url} cannot be read: {error}") from None


def readable(path: str | Path) -> Path:
    """The path, if it is a file; raises `InvalidInput` otherwise."""
    if os.path.isdir(path):  # noqa: PTH112  (unlike pathlib's, False for what no file could be called)
        raise InvalidInput(f"{path} is a folder; give a file")
    require_existing(path, "file")
    return Path(path)


def require_existing(path: str | Path, what: str) -> None:
    """Raise `InvalidInput` if nothing has a path; `what` is the word for what was expected."""
    if os.path.exists(path):  # noqa: PTH110
        return
    text, hint = str(path), ""
    if text.lstrip().startswith(("{", "[")):
        hint = only_in_python("; to give JSON lines instead of a file, pass bytes")
    name = text if text and text.isprintable() else repr(text)
    if len(text) > 200:
        name = repr(text[:60]) + "..."
    raise InvalidInput(f"there is no {what} {name}{hint}")
