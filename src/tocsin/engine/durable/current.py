"""The present state of an index folder: for a durable engine's, with the changes that no checkpoint has."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tocsin.engine.durable.engine import DurableEngine
from tocsin.engine.engine import Engine
from tocsin.engine.saving import open_sources, texts_of
from tocsin.engine.sources import SegmentSource
from tocsin.model.texts import Text
from tocsin.newest import mark_of
from tocsin.segment import Snapshots, open_index
from tocsin.segment.folder import STORE
from tocsin.segment.storage import MANIFEST
from tocsin.store import Database


def is_store(folder: str | Path) -> bool:
    """Whether a folder is a durable engine's."""
    return (Path(folder) / STORE).exists()


def current_engine(folder: str | Path) -> Engine:
    """An engine with the subscriptions of a folder."""
    return Engine.open(folder, read_only=True) if is_store(folder) else Engine.load(folder)


def current_snapshots(folder: str | Path) -> Snapshots:
    """The subscriptions of a folder."""
    if not is_store(folder):
        return open_index(folder)
    with closing(_reader(folder)) as reader:
        return reader._snapshots()


def current_sources(folder: str | Path) -> list[SegmentSource]:
    """The segments of a folder. Recent changes of a store become segments in memory."""
    if not is_store(folder):
        return open_sources(folder)
    with closing(_reader(folder)) as reader:
        return reader._settled_sources()


def current_texts(folder: str | Path) -> Mapping[str, Text]:
    """The attributes of events that are texts."""
    if not is_store(folder):
        return texts_of(folder, {})
    with closing(Database.open(Path(folder), read_only=True)) as database:
        return database.texts


def _reader(folder: str | Path) -> DurableEngine:
    return Engine.open(folder, read_only=True)


class Following:
    """A folder whose newer states are taken one after another: `now` gives the engine, and `mark` changes with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reader = _reader(folder) if is_store(folder) else None

    def mark(self) -> Any:
        """What is another for a newer state."""
        return mark_of(self._folder / MANIFEST) if self._reader is None else self._reader.sequence + self._reader.lag

    def now(self) -> Engine:
        """An engine with the newest state."""
        return Engine.load(self._folder) if self._reader is None else self._refreshed(self._reader)

    def snapshots(self) -> Snapshots:
        """The newest state, to be matched."""
        return open_index(self._folder) if self._reader is None else self._refreshed(self._reader)._snapshots()

    def _refreshed(self, reader: DurableEngine) -> DurableEngine:
        reader.refresh()
        return reader
