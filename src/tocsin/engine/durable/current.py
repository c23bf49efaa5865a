"""The present state of an index folder: for a durable engine's, with the changes that no checkpoint has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tocsin.engine.durable.engine import DurableEngine
from tocsin.engine.engine import Engine
from tocsin.engine.saving import open_sources, texts_of
from tocsin.engine.sources import SegmentSource
from tocsin.model.texts import Text
from tocsin.segment import Snapshots, open_index
from tocsin.segment.folder import STORE
from tocsin.segment.newest import manifest_mark


def is_store(folder: str | Path) -> bool:
    """Whether a folder is a durable engine's."""
    return (Path(folder) / STORE).exists()


def current_engine(folder: str | Path) -> Engine:
    """An engine with the subscriptions of a folder."""
    return Engine.open(folder, read_only=True) if is_store(folder) else Engine.load(folder)


def current_snapshots(folder: str | Path) -> Snapshots:
    """The subscriptions of a folder."""
    return _reader(folder)._snapshots() if is_store(folder) else open_index(folder)


def current_sources(folder: str | Path) -> list[SegmentSource]:
    """The segments of a folder. Recent changes of a store become segments in memory."""
    return _reader(folder)._settled_sources() if is_store(folder) else open_sources(folder)


def current_texts(folder: str | Path) -> Mapping[str, Text]:
    """The attributes of events that are texts."""
    return _reader(folder)._texts if is_store(folder) else texts_of(folder, {})


def _reader(folder: str | Path) -> DurableEngine:
    return Engine.open(folder, read_only=True)


class Following:
    """A folder whose newer states are taken one after another: `now` gives the engine, and `mark` changes with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._engine: Engine | None = None
        self.mark: Callable[[], Any] = lambda: manifest_mark(folder)
        if is_store(folder):
            self._engine = reader = _reader(folder)
            self.mark = lambda: reader.sequence + reader.lag

    def now(self) -> Engine:
        """An engine with the newest state."""
        if isinstance(self._engine, DurableEngine):
            self._engine.refresh()
            return self._engine
        return Engine.load(self._folder)

    def snapshots(self) -> Snapshots:
        """The newest state, to be matched."""
        if isinstance(self._engine, DurableEngine):
            self._engine.refresh()
            return self._engine._snapshots()
        return open_index(self._folder)
