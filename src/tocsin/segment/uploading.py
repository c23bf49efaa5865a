"""Uploading an index to an object store: files of versions first, the manifest that names the current version last."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tocsin.errors import InvalidInput, SegmentError
from tocsin.segment.folder import FORMAT, VERSION, version_folder
from tocsin.segment.origins import Origin
from tocsin.segment.pins import PINS, Pin
from tocsin.segment.retention import KEEP_PINS_S, places_in
from tocsin.segment.storage import MANIFEST, VERSION_MANIFEST, parsed_manifest, read_manifest

_KEEP_S: Final = 86_400.0


def upload(index: str | Path, to: str, *, keep_s: float = _KEEP_S) -> str:
    """Copy the current version of an index to an object store, and make it the current one there.

    Parameters
    ----------
    index : str or Path
        The folder that `compile`, `update` or `Engine.save` wrote.
    to : str
        The URL of the index on the object store, such as `s3://bucket/index`. What `match` takes as its `index`.
    keep_s : float
        For how many seconds files that only other versions need stay in the store. Default: a day.

    Returns
    -------
    str
        The version.

    Raises
    ------
    InvalidInput
        If `to` is not a URL, or no file system for it is installed.
    SegmentError
        If there is no valid index, if the store cannot be read or written, or has something else there.

    Notes
    -----
    Readers see the whole version or none of it. The version before, and versions that streams use, stay. Files that the
    store has are not sent again, so after `update` only changed parts are. If two calls run at once, the last one wins.
    """
    origin, folder = Origin.of(to), Path(index)
    if origin is None:
        raise InvalidInput(f"upload to {to!r}: give a URL, such as s3://bucket/index")
    manifest = read_manifest(folder / MANIFEST, FORMAT, VERSION)
    before = origin.text(MANIFEST)
    current = None if before is None else parsed_manifest(before, origin.url, MANIFEST, FORMAT, VERSION)["current"]
    there = dict(origin.names())
    try:
        for name in _files_of(folder, manifest):
            if name not in there:
                origin.put(folder / name, name)
        origin.put(folder / version_folder(manifest["current"]) / VERSION_MANIFEST, MANIFEST)
    except FileNotFoundError as error:
        raise SegmentError(f"{folder} changed while it was uploaded ({error.filename} is gone). Try again.") from None
    _remove_unneeded(origin, there, {manifest["current"], current}, keep_s)
    return str(manifest["current"])


def _files_of(folder: Path, manifest: dict[str, Any]) -> Iterator[str]:
    """The files of a version, relative to the folder; its manifest last."""
    for place in places_in(manifest):
        if (folder / place).is_dir():
            yield from (str(file.relative_to(folder)) for file in sorted((folder / place).rglob("*")) if file.is_file())
        else:
            yield place
    yield f"{version_folder(manifest['current'])}/{VERSION_MANIFEST}"


def _remove_unneeded(origin: Origin, there: dict[str, float], keep: set[str | None], keep_s: float) -> None:
    """Remove old files that none of some versions needs, and no version that a stream uses."""
    now = time.time()
    pins = [name for name, moment in there.items() if name.startswith(f"{PINS}/") and now - moment < KEEP_PINS_S]
    texts = [text for name in pins if (text := origin.text(name))]
    with suppress(ValueError):  # what others put there; nothing is removed then
        versions = {*keep, *(Pin.parse(text).version for text in texts)}
        needed: set[str] = set()
        for version in versions - {None}:
            name = f"{version_folder(str(version))}/{VERSION_MANIFEST}"
            if (text := origin.text(name)) is not None:
                needed |= {name, *places_in(parsed_manifest(text, origin.url, name, FORMAT, VERSION))}
        old = [name for name, moment in there.items() if now - moment >= keep_s and name.startswith("version-")]
        origin.remove([name for name in old if not needed & {name, name.rpartition("/")[0]}])
