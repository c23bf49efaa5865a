"""Windows that outlive their process: saved as files, or kept in a durable store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.model.texts import Text
from tocsin.window.frequencies import TermFrequency
from tocsin.window.saving import load_window, save_window
from tocsin.window.subscription_set import WindowSubscriptions

if TYPE_CHECKING:
    from tocsin.window.durable import DurableWindow
    from tocsin.window.window import Window


class KeptWindow(WindowSubscriptions):
    """The part of a window that is about folders; `Window` takes messages, too."""

    def save(self, folder: str | Path) -> None:
        """Write the messages and the subscriptions into a folder as two tables, atomically.

        Parameters
        ----------
        folder : str or Path
            The folder, which need not exist.

        Raises
        ------
        InvalidInput
            If a file cannot be written.
        SegmentError
            If the folder has something else, or is that of a durable window.
        """
        with self._reading():
            save_window(self, folder)

    @classmethod
    def load(cls, folder: str | Path, *, index: str | None = None, threads: int | None = 1) -> Window:
        """Continue with a window that was saved.

        Parameters
        ----------
        folder : str or Path
            The folder.
        index : str, optional
            Another structure. Default: the one that was saved.
        threads
            As in `tocsin.Window`.

        Returns
        -------
        Window
            The window.

        Raises
        ------
        SegmentError
            If a file is missing, damaged or of another version, or the folder is that of a durable window.

        Notes
        -----
        Cost: the best messages of every subscription are searched for again.
        """
        from tocsin.window.window import Window

        return load_window(Window, folder, index, threads)

    @classmethod
    def open(
        cls,
        folder: str | Path,
        size: int | None = None,
        *,
        bounds: Sequence[float] | None = None,
        time: float | timedelta | None = None,
        weights: Mapping[str, float] | None = None,
        text: Text | str | None = None,
        term_frequency: TermFrequency | None = None,
        index: str | None = None,
        threads: int | None = 1,
        sync: str = "full",
    ) -> DurableWindow:
        """Open or create a window whose messages and subscriptions survive a crash.

        Parameters
        ----------
        folder : str or Path
            The folder, on a local disk. It has a SQLite database with the window. A folder that `save` wrote gets a
            database with what it has.
        size : int, optional
            As in `tocsin.Window`. The options are stored when the window is made, which needs `bounds`, and `size` or
            `time`. Later ones must not contradict.
        bounds
            As in `tocsin.Window`.
        time
            As in `tocsin.Window`.
        weights
            As in `tocsin.Window`.
        text
            As in `tocsin.Window`.
        term_frequency
            As in `tocsin.Window`.
        index : str, optional
            As in `tocsin.Window`. Default: the one that the window was made with. Another one counts until the window
            is closed.
        threads
            As in `tocsin.Window`.
        sync
            As in `tocsin.Engine.open`.

        Returns
        -------
        DurableWindow
            The window. Close it, or use it in a `with` statement.

        Raises
        ------
        StoreError
            If another process writes the folder, it is on a network file system or that of an engine, or the database
            cannot be used.
        SegmentError
            If the folder has saved files of something else, or damaged ones.
        InvalidInput
            If an option is invalid, or differs from the one that was stored.

        Notes
        -----
        Cost: the best messages of every subscription are searched for again.

        Examples
        --------
        >>> import tempfile, tocsin
        >>> folder = tempfile.mkdtemp()
        >>> with tocsin.Window.open(folder, size=1000, bounds=(0, 0, 10, 10)) as window:
        ...     window.subscribe("u1", words=["seafood"], location=(2, 5), alpha=0)
        ...     window.push(words=["seafood"], location=(2, 5))
        [Change(subscription='u1', message=0, kind='enter', score=1.0)]
        >>> with tocsin.Window.open(folder) as window:
        ...     window.results("u1")
        [(0, 1.0)]
        """
        from tocsin.window.durable import open_window

        options = {"size": size, "bounds": bounds, "time": time, "weights": weights, "text": text}
        options["term_frequency"] = term_frequency
        given = {name: one for name, one in options.items() if one is not None}
        return open_window(folder, given, index, threads, sync)
