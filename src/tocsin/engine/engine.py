"""The engine: subscriptions in memory that change at any time. The next match sees a change, microseconds later."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from tocsin.engine.questions import Questions
from tocsin.engine.saving import open_sources, save_sources, texts_of
from tocsin.engine.subscription_set import DELTA_LIMIT
from tocsin.index import Statistics
from tocsin.model.texts import Text
from tocsin.schemas import checked_texts
from tocsin.segment.folder import saved_statistics
from tocsin.spelling import only_in_python
from tocsin.store import missing_changes

if TYPE_CHECKING:
    from tocsin.engine.durable.engine import DurableEngine


class Engine(Questions):
    """Subscriptions in memory that change at any time, matched against events.

    Many threads may match while one thread at a time changes subscriptions. A match sees one state from start to end,
    with every change made before it began. `len(engine)`, `id in engine` and iteration are about the ids, in order. As
    a context manager an engine closes itself.

    Parameters
    ----------
    index : str
        The structure that finds candidates, with options in parentheses. "auto" chooses; answers do not depend on it.
    statistics : Statistics, optional
        How often events have each attribute and value, from `tocsin.sample`. Default: estimated from the subscriptions.
    delta_limit : int
        The number of changes that the engine keeps apart before it builds a segment of them in the background.
    texts : mapping of str to Text or str, optional
        Attributes of all events that are texts, and how TEXT splits them into words unless a condition says so itself:
        `{"title": tocsin.Text("english", stem=True)}`.

    Raises
    ------
    InvalidInput
        If `delta_limit` is not from 1 to 2**20, or `texts` is invalid.
    UnknownIndex
        If no index has that name, or it has no such option.

    Examples
    --------
    >>> engine = Engine()
    >>> engine.subscribe("s1", "model = 'iphone5s' AND price <= 580", score=2.0)
    >>> engine.match({"model": "iphone5s", "price": 550})
    [Match(subscription='s1', score=2.0)]
    >>> engine.unsubscribe("s1")
    >>> engine.match({"model": "iphone5s", "price": 550})
    []

    Notes
    -----
    A change takes microseconds, a match of one event tens of microseconds. A match searches every segment; merging
    keeps their number logarithmic in the subscriptions.
    """

    # On disk

    def save(self, folder: str | Path) -> None:
        """Write the engine into a folder, atomically; an earlier version in the folder is replaced at once.

        `Engine.load`, `tocsin.match` and Spark read the folder. Later changes of the engine do not reach it.

        Parameters
        ----------
        folder : str or Path
            The folder, which need not exist.

        Raises
        ------
        SegmentError
            If the folder cannot be written. What it held before is unchanged.
        """
        self._merger.tidy()
        save_sources(folder, self._store, self._plan, self._texts)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        index: str | None = None,
        statistics: Statistics | None = None,
        delta_limit: int = DELTA_LIMIT,
        texts: Mapping[str, Text | str] | None = None,
    ) -> Engine:
        """Open a folder that `save` or `tocsin compile` wrote.

        Parameters
        ----------
        folder : str or Path
            The folder.
        index : str, optional
            The structure for later subscriptions. Default: the one that was saved.
        statistics : Statistics, optional
            Statistics for that structure. Default: those saved in the folder.
        delta_limit
            As in `tocsin.Engine`.
        texts : mapping of str to Text or str, optional
            Further texts; the engine keeps those that it was saved with.

        Returns
        -------
        Engine
            The engine.

        Raises
        ------
        SegmentError
            If a file is missing, damaged or of another version.
        InvalidInput
            If `texts` contradicts those that were saved.

        Warns
        -----
        UserWarning
            If the folder is a durable engine's and its index lacks changes. `Engine.open` has them.

        Notes
        -----
        Files are memory-mapped, so that processes share their pages.
        """
        sources = open_sources(folder)
        if missing := missing_changes(folder):
            what = f"the index of {folder} lacks the last {missing:,} changes of its store"
            warnings.warn(f"{what}{only_in_python('; Engine.open has them')}", stacklevel=2)
        used = [source.segment.plan.asked for source in sources]
        chosen = index or (used[0] if used else "auto")
        of_events = texts_of(folder, checked_texts(texts))
        known = saved_statistics(folder, statistics)
        engine = cls(chosen, statistics=known, delta_limit=delta_limit, texts=of_events)
        engine._begin(engine._new_store(sources))
        return engine

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        read_only: bool = False,
        sync: str = "full",
        index: str = "auto",
        delta_limit: int = DELTA_LIMIT,
        texts: Mapping[str, Text | str] | None = None,
    ) -> DurableEngine:
        """Open or create a durable engine in a folder. What it acknowledged survives a crash.

        Parameters
        ----------
        folder : str or Path
            The folder, on a local disk. It has a SQLite database with the subscriptions, and an index beside it. A
            folder that `save` or `tocsin compile` wrote gets a database with its subscriptions.
        read_only : bool
            Whether to follow another process, which writes: `refresh` takes its changes, and `lag` counts them.
        sync : str
            "full": a change is on disk when the call returns. "relaxed": it survives the end of the process, but a
            power cut may lose the last second.
        index
            As in `tocsin.Engine`.
        delta_limit
            As in `tocsin.Engine`.
        texts : mapping of str to Text or str, optional
            As in `tocsin.Engine`. They are stored when the folder is created.

        Returns
        -------
        DurableEngine
            The engine. Close it, or use it in a `with` statement.

        Raises
        ------
        StoreError
            If another process writes the folder, it is on a network file system, or the database is damaged, missing
            (`read_only`), or of a newer version.
        InvalidInput
            If an option is invalid, or contradicts what the folder has.

        Examples
        --------
        >>> import tempfile
        >>> with Engine.open(tempfile.mkdtemp()) as engine:
        ...     engine.subscribe("s1", "price <= 580")
        ...     engine.sequence
        1
        """
        from tocsin.engine.durable.opening import open_engine

        return open_engine(folder, read_only=read_only, sync=sync, index=index, delta_limit=delta_limit, texts=texts)

    def close(self) -> None:
        """Wait for a running merge, and start no more; the engine still answers."""
        self._merger.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Engine({len(self):,} subscriptions, {len(self._store.segments)} segments)"
