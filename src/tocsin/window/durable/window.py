"""A durable window: messages and subscriptions are in a database before a call returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tocsin.errors import StoreError, TocsinError
from tocsin.model.subscription import SubscriptionId
from tocsin.store import Database, Progress, Writer, back_up
from tocsin.window.durable.rows import State, read_window, write_changes
from tocsin.window.reading import NewSubscriptions
from tocsin.window.window import Window


class DurableWindow(Window):
    """A window whose messages and subscriptions survive a crash. `Window.open` makes one.

    `push`, `push_batch`, `advance`, `subscribe`, `subscribe_many` and `unsubscribe` return when the change is durable.
    Each is one transaction, which also deletes the messages that leave the window. Everything else is as in `Window`.
    A process that was forked from this one may ask for results, but not change anything.

    Attributes
    ----------
    folder : Path
        The folder with the store.

    Notes
    -----
    A call that raises an error of tocsin keeps what it changed before, as in `Window`. If the change cannot be written,
    or anything else is raised, the window is read from the store again, and is as before the call.
    """

    def __init__(self, writer: Writer, options: Mapping[str, Any], threads: int | None) -> None:
        """Only `Window.open` makes one."""
        super().__init__(**options, threads=threads)
        self.folder: Path = writer.folder
        self._writer, self._is_closed = writer, False
        self._database, self._committer = writer.database, writer.start_folding()
        self._beside: list[Callable[[Database], None]] | None = None  # what a transaction of several calls writes
        self._reload()

    @property
    def log_error(self) -> str | None:
        """Why SQLite's log could not be moved into the database, or why it grows; nothing is lost in either case."""
        return self._writer.log_error

    def backup(self, path: str | Path) -> None:
        """Copy the store of this moment into another folder, while the window runs.

        `Window.open` opens the copy.

        Parameters
        ----------
        path : str or Path
            The folder, which need not exist.

        Raises
        ------
        StoreError
            If the folder has a store already, or cannot be written.
        """
        back_up(self.folder, path)

    def close(self) -> None:
        """Close the store; the window still answers."""
        with self._lock:
            if self._writer.owner.is_mine and not self._is_closed:
                self._is_closed = True
                self._writer.close_told()

    def __enter__(self) -> DurableWindow:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"DurableWindow({str(self.folder)!r}, {len(self._names)} subscriptions, {self._sliding.held} messages)"

    # Internals

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._lock:
            if self._beside is not None:
                with super()._changing():
                    yield  # the end of `together` makes it durable
                return
            self._committer.require()
            try:
                with super()._changing():
                    yield
            except BaseException as error:
                self._recover(error)
                raise
            self._keep()

    def _recover(self, error: BaseException) -> None:
        """Keep what a call changed before it was refused. After any other error memory may be half changed."""
        if isinstance(error, TocsinError) and not self._is_half:
            self._keep()
        else:
            self._reload()

    @property
    def _is_half(self) -> bool:
        return self._is_behind or self._commit.is_half or not self._sliding.is_whole

    def _require_whole(self) -> None:
        """Read the window from the store again if an earlier call failed to."""
        if self._is_behind:
            self._committer.require()
            self._reload()
        super()._require_whole()

    def _reload(self) -> None:
        """Bring memory to the state of the store."""
        self._is_behind = True
        self._changed: dict[SubscriptionId, None] = {}
        self._begin()
        read_window(self._database, self)
        self._changed = {}
        self._stored = State.of(self)
        self._is_behind = False

    def _keep(self) -> None:
        """Make durable what changed since the last time."""
        now = State.of(self)
        if now == self._stored and not self._changed and not self._beside:
            return
        try:
            self._committer.commit(_Kept(self, now))
        except BaseException:
            if self._stored is not now:
                self._reload()
            raise

    def _take(self, asked: NewSubscriptions, places: list[int]) -> None:
        super()._take(asked, places)
        self._changed.update((asked.ids[place], None) for place in places)

    def _drop(self, id: SubscriptionId) -> None:
        super()._drop(id)
        self._changed[id] = None


class _Kept:
    """What a call changed in memory."""

    is_alone = False

    def __init__(self, window: DurableWindow, state: State) -> None:
        self._window, self._state = window, state

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        window = self._window
        write_changes(database, window, window._stored, window._changed, self._state)
        for write in window._beside or ():
            write(database)
        return sequence

    def apply(self) -> None:
        """Note that the store has it."""
        self._window._stored, self._window._changed = self._state, {}


class _Probe:
    """A change of nothing that the window knows."""

    is_alone = False

    def __init__(self, now: int) -> None:
        self._now = now

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        database.put_meta("probe", self._now)
        return sequence

    def apply(self) -> None:
        """Memory has nothing of it."""


def progress_of(window: DurableWindow) -> Progress:
    """The state of the thread that writes the changes of a window, for a layer above."""
    return window._committer.progress()


def probe_store(window: DurableWindow, now: int) -> None:
    """Write the time into the store of a window, to see whether it takes changes again; `progress_of` tells."""
    with suppress(StoreError):
        window._committer.commit(_Probe(now))


@contextmanager
def together(window: DurableWindow) -> Iterator[list[Callable[[Database], None]]]:
    """Calls of this thread within the block are one transaction; whatever is raised there takes all of them back.

    What a layer above appends to the list is called in the transaction, to write tables of that layer.
    """
    with window._lock:
        window._committer.require()
        window._require_whole()
        beside = window._beside = list[Callable[[Database], None]]()
        try:
            try:
                yield beside
            except BaseException as error:
                refused = isinstance(error, TocsinError) and not window._is_half
                if not refused or window._changed or State.of(window) != window._stored:
                    window._reload()
                raise
            window._keep()
        finally:
            window._beside = None
