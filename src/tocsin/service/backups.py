"""Backups: copies of a folder's stores and tokens, and the way back.

    backup.json                 the manifest: format, version, time, release, and the digest of each file
    store.db                    the store of an engine, of fences or of a window
    windows/NUMBER/store.db     the stores of a service's windows
    tenants/NAME/...            the same of each other tenant
    access/tokens.json          the hashes of tokens

The index is not in it, because the engine makes it again from the store. Servers may write meanwhile. A backup and a
restored folder get their names when they are complete: until then, their files are in a folder beside.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from tocsin import __version__
from tocsin.errors import InvalidInput, StoreError
from tocsin.locks import Lock
from tocsin.service.access.token_file import FOLDER, TOKENS, TokenFile
from tocsin.service.access.tokens import TENANTS, WINDOWS, other_tenants, tenant_name
from tocsin.service.tables import require_known
from tocsin.store import DATABASE, Database, begin_epoch, copy_store, make_folder, require_local, sync_folder

MANIFEST: Final = "backup.json"
VERSION: Final = 1
_FORMAT: Final = "tocsin backup"
_TOKENS: Final = f"{FOLDER}/{TOKENS}"
_PATH: Final = re.compile(rf"(?:{TENANTS}/(?P<tenant>[^/]+)/)?(?:{WINDOWS}/\d{{1,18}}/)?{DATABASE}|{_TOKENS}")
_MOST_MANIFEST: Final = 64 << 20
_BLOCK: Final = 1 << 20
_UNFINISHED: Final = ".tocsin-unfinished"
_PATIENCE_S: Final = 10.0
_UNCHANGING: Final = ("SELECT number, handed FROM service_windows", "SELECT number FROM service_destinations")
"""If their rows stay while the stores of windows begin their reads, all stores are of one moment.

A window deletes its changes once they are handed over, and its subscriptions name destinations.
"""


class File(NamedTuple):
    """A file of a backup."""

    path: str
    bytes: int
    sha256: str

    @property
    def is_store(self) -> bool:
        return self.path != _TOKENS


class Backup(NamedTuple):
    """The manifest of a backup."""

    made: str
    release: str
    files: list[File]

    @property
    def stores(self) -> int:
        """How many stores it has."""
        return sum(file.is_store for file in self.files)

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.files)


class Progress:
    """The share of the work that is done, told to a function."""

    def __init__(self, total: int, tell: Callable[[float], None]) -> None:
        self._total, self._tell, self._done = max(total, 1), tell, 0

    def of_part(self, done: int) -> None:
        """Tell of the part that is being worked on."""
        self._tell(min((self._done + done) / self._total, 1.0))

    def end_part(self, size: int) -> None:
        """Go on with the next part."""
        self._done += size
        self.of_part(0)


def _ignore(share: float) -> None:
    """Tell nobody."""


def back_up(folder: Path, target: Path, tell: Callable[[float], None] = _ignore) -> Backup:
    """Copy the stores and tokens of a folder into a new one; raises `StoreError`.

    The stores of a tenant are of one moment. `tell` gets the share that is done. What it raises ends the work.
    """
    if not (folder / DATABASE).exists():
        raise StoreError(
            f"{folder} has no store: {DATABASE} is missing; an index folder can be copied by any other means"
        )
    tenants = ["", *(f"{TENANTS}/{name}/" for name in other_tenants(folder))]
    with _made(target, beside=folder) as part:
        stores = [store for tenant in tenants for store in _stores(folder / tenant)]
        size = sum(_size(store) for store in stores)
        _require_room(part, size)
        progress = Progress(2 * size, tell)
        paths = [path for tenant in tenants for path in _copy_tenant(folder, tenant, part, progress)]
        tokens = TokenFile(folder)
        if tokens.read():
            (part / FOLDER).mkdir(0o700)
            _copy(tokens.path, part / _TOKENS)
            TokenFile(part).read()
            paths.append(_TOKENS)
        backup = Backup(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", __version__, [])
        for path in paths:
            if path != _TOKENS:
                _require_whole(part / path)
            digest, bytes_read = _digest(part / path, progress)
            backup.files.append(File(path, bytes_read, digest))
        _write_manifest(part / MANIFEST, backup)
    return backup


def restore(source: Path, target: Path, tell: Callable[[float], None] = _ignore) -> Backup:
    """Make a folder from a backup; raises `StoreError` if anything of it is damaged, or of a newer release.

    Each store gets an epoch of its own, so that clients notice that some of their history may be missing.
    """
    backup = read_manifest(source)
    for file in backup.files:
        if file.is_store:
            with closing(Database.open((source / file.path).parent, read_only=True)) as database:
                require_known(database)
    with _made(target, beside=source) as part:
        require_local(part)
        _require_room(part, backup.bytes)
        progress = Progress(backup.bytes, tell)
        for file in backup.files:
            make_folder((part / file.path).parent)
            if _copy(source / file.path, part / file.path, file.bytes, progress) != file.sha256:
                raise StoreError(f"{source / file.path} is damaged, or was changed since the backup was made")
            if file.is_store:
                _require_whole(part / file.path)
                begin_epoch((part / file.path).parent)
        TokenFile(part).read()
    return backup


def read_manifest(folder: Path) -> Backup:
    """The manifest of a backup; raises `StoreError`."""
    place = folder / MANIFEST
    try:
        if place.stat().st_size > _MOST_MANIFEST:
            raise StoreError(f"{place} is damaged: it is larger than any manifest")
        document = json.loads(place.read_bytes())
    except FileNotFoundError:
        raise StoreError(
            f"{folder} is not a backup: {MANIFEST} is missing; a copy by Engine.backup is opened as it is"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{place} cannot be read: {error}") from None
    try:
        if document["format"] == _FORMAT and document["version"] > VERSION:
            raise StoreError(
                f"{folder} was written by tocsin {document['tocsin']!s:.40}, and this release, {__version__}, cannot "
                "read it; use that release, or a newer one"
            )
        return _read(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"{place} is damaged: {error!r:.200}") from None


def _read(document: Mapping[str, Any]) -> Backup:
    if document["format"] != _FORMAT:
        raise ValueError(document["format"])
    files = [File(str(one["path"]), int(one["bytes"]), str(one["sha256"])) for one in document["files"]]
    for file in files:
        known = _PATH.fullmatch(file.path)
        if known is None or file.bytes < 0:
            raise ValueError(file.path)
        try:
            tenant_name(known["tenant"] or "")
        except InvalidInput as error:
            raise ValueError(str(error)) from None
    if len({file.path for file in files}) < len(files) or DATABASE not in {file.path for file in files}:
        raise ValueError("files")
    return Backup(f"{document['made']!s:.40}", f"{document['tocsin']!s:.40}", files)


def _write_manifest(place: Path, backup: Backup) -> None:
    document = {"format": _FORMAT, "version": VERSION, "made": backup.made, "tocsin": backup.release}
    text = json.dumps({**document, "files": [file._asdict() for file in backup.files]}, indent=1)
    with _new_file(place) as file:
        file.write(f"{text}\n".encode())


# Stores


def _stores(folder: Path) -> list[Path]:
    """The stores of a tenant."""
    return [folder / DATABASE, *folder.glob(f"{WINDOWS}/*/{DATABASE}")]


def _size(store: Path) -> int:
    try:
        return store.stat().st_size
    except OSError:  # of a window that is being deleted
        return 0


def _copy_tenant(folder: Path, tenant: str, part: Path, progress: Progress) -> list[str]:
    """Copy the stores of a tenant, and return the paths of their copies."""
    paths = []
    with ExitStack() as opened:
        for name, database in _one_moment(folder / tenant, opened).items():
            target = part / tenant / name
            make_folder(target)
            copy_store(database, target, progress.of_part)
            progress.end_part(database.bytes)
            paths.append(f"{tenant}{name}{DATABASE}")
    return paths


def _one_moment(folder: Path, opened: ExitStack) -> dict[str, Database]:
    """The store of a tenant and those of its windows, all read as they are at one moment; by folder."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        with ExitStack() as attempt:
            main = attempt.enter_context(_state(folder))
            rows = _unchanging(main)
            databases, failure = {"": main}, None
            try:
                for name in (f"{WINDOWS}/{number}/" for number, _ in rows[0]):
                    if (folder / name / DATABASE).exists():  # the server makes those that are missing
                        databases[name] = attempt.enter_context(_state(folder / name))
            except StoreError as error:  # the window may be deleted at this moment
                failure = error
            with _state(folder) as now:
                is_unchanged = _unchanging(now) == rows
            if is_unchanged and failure is not None:
                raise failure
            if is_unchanged:
                opened.push(attempt.pop_all())
                return databases
        if time.monotonic() > until:
            raise StoreError(f"the windows in {folder} changed all the time for {_PATIENCE_S:g} s; try again later")


@contextmanager
def _state(folder: Path) -> Iterator[Database]:
    """A store, read as it is now."""
    with closing(Database.open(folder, read_only=True)) as database, database.one_state():
        yield database


def _unchanging(database: Database) -> list[list[tuple[Any, ...]]]:
    if "service_windows" not in database.tables():
        return [[], []]
    return [database.connection.execute(statement).fetchall() for statement in _UNCHANGING]


def _require_whole(store: Path) -> None:
    """Raise `StoreError` if SQLite finds a copy damaged."""
    with closing(Database.open(store.parent, read_only=True)) as database:
        problems = database.problems()
    if problems:
        raise StoreError(f"the copy of a store is damaged, and so may be the store: {problems[0]}; run `tocsin doctor`")


# Files


@contextmanager
def _made(target: Path, *, beside: Path) -> Iterator[Path]:
    """Yield a folder that gets the name `target` when the block ends. An error, or another start, deletes it."""
    if os.path.lexists(target):
        raise StoreError(f"{target} exists already; name a new folder")
    if target.resolve().is_relative_to(beside.resolve()):
        raise StoreError(f"{target} is inside {beside}; name a folder outside")
    part = target.with_name(f"{target.name}{_UNFINISHED}")
    make_folder(part)
    with Lock(part, 0.0) as lock:
        if lock.waited or not (lock.is_in_place or os.name == "nt"):
            raise StoreError(f"another process writes {target}")
        try:
            _empty(part)
            yield part
            for folder, _, _ in os.walk(part):
                sync_folder(Path(folder))
            if os.path.lexists(target):
                raise StoreError(f"{target} was made meanwhile; name a new folder")
            part.rename(target)
            sync_folder(target.parent)
        except OSError as error:
            raise StoreError(f"{target} cannot be written: {error.strerror or error}") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)  # it is there only after an error


def _empty(folder: Path) -> None:
    """Delete what an attempt left that was killed."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _require_room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise StoreError(
            f"the disk has {free / 1e6:,.1f} MB, and {size / 1e6:,.1f} MB are needed; name a folder elsewhere"
        )


def _copy(source: Path, target: Path, size: int | None = None, progress: Progress | None = None) -> str:
    """Copy a file, of which at most one byte more than `size` is read; returns the digest."""
    with _new_file(target) as copy:
        digest, _ = _digest(source, progress, most=None if size is None else size + 1, write=copy.write)
    return digest


@contextmanager
def _new_file(place: Path) -> Iterator[BinaryIO]:
    """A file that its owner alone reads, and that is on the disk when the block ends."""
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _digest(
    place: Path,
    progress: Progress | None = None,
    *,
    most: int | None = None,
    write: Callable[[bytes], object] = lambda block: None,
) -> tuple[str, int]:
    """The digest and the size of a file, or of its first `most` bytes; `write` gets all blocks."""
    digest, size = hashlib.sha256(), 0
    with place.open("rb") as file:
        while block := file.read(_BLOCK if most is None else min(_BLOCK, most - size)):
            digest.update(block)
            write(block)
            size += len(block)
            if progress is not None:
                progress.of_part(size)
    if progress is not None:
        progress.end_part(size)
    return digest.hexdigest(), size
