"""The objects of fences: who is inside what, saved in a file or kept in a durable store."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from tocsin.model.fence import ObjectKey
from tocsin.model.showing import html_table, refuse_pickling
from tocsin.model.subscription import SubscriptionId
from tocsin.monitor.fences.files import write_fences
from tocsin.monitor.fences.following import Matching
from tocsin.monitor.fences.tracking import Tracking
from tocsin.monitor.fences.trails import Trail

if TYPE_CHECKING:
    from tocsin.monitor.fences.durable import DurableFences


_MOST_SHOWN: Final = 10


class FencedObjects:
    """The part of fences that tells and keeps where objects are; `Fences` processes events, too."""

    _tracking: Tracking

    def renew_locks(self) -> None:
        """Recreate the lock as unheld, in the child of a fork."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many objects are kept: those in a subscription or about to enter one; with `path` all."""
        return len(self._tracking.objects)

    def __repr__(self) -> str:
        return f"Fences({len(self)} objects by {self._tracking.followed.key!r})"

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "save them with save(file), and Fences.load(file, engine) in the other process")

    def _repr_html_(self) -> str:
        """The fences in a notebook: some objects, with the subscriptions that they are in."""
        rows = [(key, ", ".join(map(str, ids))) for key, ids in islice(self.objects(), _MOST_SHOWN)]
        more = len(self) - len(rows)
        return html_table(repr(self), ("object", "is in"), [*rows, *([("...", f"{more:,} more")] if more > 0 else [])])

    def inside(self, object: ObjectKey) -> list[SubscriptionId]:
        """The subscriptions that an object is in.

        Parameters
        ----------
        object : str, int or float
            The object's key.

        Returns
        -------
        list of str or int
            The subscriptions' ids, in order; empty for an unknown object.
        """
        with self._lock:
            return self._tracking.inside(object)

    def objects(self) -> Iterator[tuple[ObjectKey, list[SubscriptionId]]]:
        """The objects that are in a subscription, those unseen for longest first.

        Returns
        -------
        iterator of (key, list of ids)
            Each object with its subscriptions.
        """
        for key in list(self._tracking.objects):
            if inside := self.inside(key):
                yield key, inside

    def _require(self) -> None:
        """Raise an error if changes cannot be kept; fences in memory always can."""

    def _keep(self) -> None:
        """Make durable what events changed; fences in memory do not."""

    def _trail(self) -> Trail | None:
        path = self._tracking.followed.path
        return None if path is None else Trail(path, self._tracking.last_place)

    def save(self, path: str | Path) -> None:
        """Write the options and the place of every object as JSON lines, atomically.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        InvalidInput
            If the file cannot be written.
        """
        with self._lock:
            own = self._tracking
            write_fences(path, asdict(own.followed), asdict(own.rules), own.objects, own.others)

    @classmethod
    def open(
        cls,
        folder: str | Path,
        engine: Matching,
        *,
        sync: str = "full",
        key: str | None = None,
        time: str | None = None,
        path: str | None = None,
        enter_after: int | str | timedelta | None = None,
        exit_after: int | str | timedelta | None = None,
        dwell: float | str | timedelta | None = None,
        inside: bool | None = None,
        most_objects: int | None = None,
        forget_after: float | str | timedelta | None = None,
        time_unit: str | None = None,
        order: str | None = None,
        no_places: Sequence[tuple[float, float]] | None = None,
        accuracy: str | None = None,
    ) -> DurableFences:
        """Open or create fences whose objects survive a crash.

        Parameters
        ----------
        folder : str or Path
            The folder, on a local disk: one of its own, or that of the engine if it is durable.
        engine : Engine
            The engine with the subscriptions.
        sync : str
            As in `tocsin.Engine.open`. In the folder of an engine, that of the engine counts.
        key : str, optional
            The attribute that identifies objects. The options are stored when the fences are made, which needs `key`.
            Later ones must not contradict.
        time
            As in `tocsin.Fences`.
        path
            As in `tocsin.Fences`.
        enter_after
            As in `tocsin.Fences`.
        exit_after
            As in `tocsin.Fences`.
        dwell
            As in `tocsin.Fences`.
        inside
            As in `tocsin.Fences`.
        most_objects
            As in `tocsin.Fences`.
        forget_after
            As in `tocsin.Fences`.
        time_unit
            As in `tocsin.Fences`.
        order
            As in `tocsin.Fences`.
        no_places
            As in `tocsin.Fences`.
        accuracy
            As in `tocsin.Fences`.

        Returns
        -------
        DurableFences
            The fences. Close them, or use them in a `with` statement.

        Raises
        ------
        StoreError
            If another process writes the folder, it is on a network file system, or the database cannot be used.
        InvalidInput
            If an option is invalid, or differs from the one that was stored.

        Examples
        --------
        >>> import tempfile, tocsin
        >>> engine = tocsin.Engine()
        >>> engine.subscribe("city", "S_INTERSECTS(location, BBOX(0, 0, 10, 10))")
        >>> folder = tempfile.mkdtemp()
        >>> with tocsin.Fences.open(folder, engine, key="vehicle") as fences:
        ...     fences.push({"vehicle": 7, "location": [5, 5]})
        [FenceChange(object=7, subscription='city', change='enter', seconds=None)]
        >>> with tocsin.Fences.open(folder, engine) as fences:
        ...     fences.inside(7)
        ['city']
        """
        from tocsin.monitor.fences.durable import open_fences

        given = {
            "key": key,
            "time": time,
            "path": path,
            "enter_after": enter_after,
            "exit_after": exit_after,
            "dwell": dwell,
            "inside": inside,
            "most_objects": most_objects,
            "forget_after": forget_after,
            "time_unit": time_unit,
            "order": order,
            "no_places": no_places,
            "accuracy": accuracy,
        }
        return open_fences(folder, engine, {name: one for name, one in given.items() if one is not None}, sync)
