"""The objects of a monitor: which subscriptions each is in, since when, and why."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Final, NoReturn, Self

from tocsin.errors import InvalidInput
from tocsin.model.change import Identity, instant_in_utc
from tocsin.model.showing import html_table, refuse_pickling
from tocsin.model.subscription import SubscriptionId, shown
from tocsin.monitor.explaining import Asked, MonitorExplanation, explained
from tocsin.monitor.fences.following import Matching
from tocsin.monitor.files import as_damage, read_monitor, write_monitor
from tocsin.monitor.options import MonitorOptions, checked_key
from tocsin.monitor.processing import Processing
from tocsin.monitor.saving import restore, saved_of
from tocsin.monitor.states import own_key
from tocsin.segment import Snapshots

_MOST_SHOWN: Final = 10


class MonitoredObjects:
    """The part of a monitor that tells what it knows; `Monitor` processes events, too."""

    _engine: Matching
    _options: MonitorOptions
    _processing: Processing

    def renew_locks(self) -> None:
        """Recreate the lock as unheld, in the child of a fork."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._processing.objects)

    def __repr__(self) -> str:
        return f"Monitor({len(self)} objects by {', '.join(map(repr, self._options.key))})"

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "make a monitor in each process, and give it the events of its own objects")

    def _repr_html_(self) -> str:
        """The monitor in a notebook: some objects, with the subscriptions that they are in."""
        rows = [(key, ", ".join(map(str, ids))) for key, ids in islice(self.objects(), _MOST_SHOWN)]
        return html_table(repr(self), ("object", "is in"), rows)

    def inside(self, object: Identity, *, by: str | Sequence[str] | None = None) -> list[SubscriptionId]:
        """The subscriptions that an object is in.

        Parameters
        ----------
        object : str, int, float or tuple of these
            The object's key; a tuple if it has several attributes.
        by : str or list of str, optional
            The key, if it is not the monitor's own.

        Returns
        -------
        list of str or int
            The subscriptions' ids, in order; empty for an unknown object.
        """
        with self._lock:
            number = self._processing.objects.find(self._key_number(by), object)
            return [] if number is None else self._inside(number)

    def objects(self, *, by: str | Sequence[str] | None = None) -> Iterator[tuple[Identity, list[SubscriptionId]]]:
        """The objects that are in a subscription, those unseen for longest first. Cost: linear in all objects.

        Parameters
        ----------
        by : str or list of str, optional
            The key, if it is not the monitor's own.

        Returns
        -------
        iterator of (key, list of ids)
            Each object with its subscriptions, as they were when this was called.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> engine.subscribe("hot", "AVG(celsius, TRUE, 'PT1H') > 80")
        >>> monitor = tocsin.Monitor(engine, key="machine", time="ts")
        >>> answer = monitor.push_batch([{"machine": n, "ts": 0, "celsius": 40 * n} for n in range(4)])
        >>> list(monitor.objects())
        [(3, ['hot'])]
        """
        with self._lock:
            objects, key = self._processing.objects, self._key_number(by)
            numbers = [(identity, objects.find(of, identity)) for of, identity in objects if of == key]
            found = [(identity, self._inside(number)) for identity, number in numbers if number is not None]
        return ((identity, ids) for identity, ids in found if ids)

    def firing(self, id: SubscriptionId) -> dict[Identity, datetime]:
        """The objects that are in a subscription. Cost: linear in the objects that are in any.

        Parameters
        ----------
        id : str or int
            The subscription's id.

        Returns
        -------
        dict of objects to datetime
            Since when each is in it, those in it for longest first.

        Raises
        ------
        UnknownSubscription
            If no subscription has the id.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> engine.subscribe("silent", "SINCE(TRUE) >= 600")
        >>> monitor = tocsin.Monitor(engine, key="machine", time="ts")
        >>> answer = monitor.push_batch([{"machine": n, "ts": 100 * n} for n in range(4)])
        >>> changes = monitor.advance(750)
        >>> print(*monitor.firing("silent").items())
        (0, datetime.datetime(1970, 1, 1, 0, 10, tzinfo=datetime.timezone.utc)) (1, datetime.datetime(1970, 1, 1, 0, \
11, 40, tzinfo=datetime.timezone.utc))
        """
        with self._lock:
            self._engine.view.store.find(id)
            process = self._processing
            states = ((number, of.get(id)) for number, of in process.states.by_object.items())
            begun = [(state.begun, number) for number, state in states if state is not None and state.begun is not None]
            return {process.objects.identity(number)[1]: instant_in_utc(since) for since, number in sorted(begun)}

    def explain(self, id: SubscriptionId, object: Identity) -> MonitorExplanation:
        """Explain why a subscription is TRUE for an object now, or is not, and how far it has come.

        Now is the instant up to which the object was processed: that of its latest event or, if it is later, that of
        `advance`. Attributes are those of the object's latest event, which is an earlier one for SINCE. So this is what
        holds from the next microsecond on if nothing comes. Cost: linear in the values that are remembered.

        Parameters
        ----------
        id : str or int
            The subscription's id.
        object : str, int, float or tuple of these
            The object's value of the subscription's key: BY or, without it, the monitor's.

        Returns
        -------
        MonitorExplanation
            The predicates that hold and those that do not; `str` gives it as text, with progress.

        Raises
        ------
        UnknownSubscription
            If no subscription has the id.
        InvalidInput
            If no event of the object came, or it was dropped.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> engine.subscribe("guessing", "COUNT(ok = FALSE, 'PT10M') >= 5")
        >>> monitor = tocsin.Monitor(engine, key="user", time="ts")
        >>> answer = monitor.push_batch([{"user": "ann", "ts": t, "ok": False} for t in (0, 60, 120)])
        >>> print(monitor.explain("guessing", "ann"))
        'guessing' is FALSE for 'ann' at 1970-01-01T00:02:00Z
          the object is not in it
          fails    COUNT(ok = FALSE, 'PT10M') >= 5: COUNT(...) = 3; needed: COUNT(ok = FALSE, 'PT10M') >= 5
            3 of 5 so far; the oldest counts until 1970-01-01T00:10:00Z
        """
        process = self._processing
        with self._reading():
            source, place = self._engine.view.store.find(id)
            text = source.text(place)
            by = own_key(text) or self._options.key
            number = process.objects.find(process.matcher.registry.keys.get(by, -1), object)
            if number is None:
                raise InvalidInput(
                    f"the object {shown(object)} is not known by {', '.join(by)}: no event of it came, "
                    "or it was dropped since"
                )
            state = process.states.by_object.get(number, {}).get(id)
            asked = Asked(id, object, number, process.time_of(number), state)
            return explained(process, text, self._engine.view.texts, asked)

    def sizes(self) -> dict[str, int]:
        """What the monitor holds.

        Returns
        -------
        dict of str to int
            `objects`, `terms`, the `values` that live, their `bytes`, and the events that are `held` back.
        """
        with self._lock:
            process = self._processing
            held = 0 if process.buffer is None else len(process.buffer)
            terms = len(process.matcher.registry.rows)
            return {"objects": len(process.objects), "terms": terms, "held": held, **process.matcher.sizes()}

    def _key_number(self, by: str | Sequence[str] | None) -> int:
        """The number of a key; -1 if no subscription has it."""
        names = self._options.key if by is None else checked_key(by)
        return self._processing.matcher.registry.keys.get(names, -1)

    def _inside(self, number: int) -> list[SubscriptionId]:
        states = self._processing.states.by_object.get(number, {})
        return sorted(id for id, state in states.items() if state.begun is not None)

    @contextmanager
    def _reading(self) -> Iterator[Snapshots]:
        """The subscriptions as they are now, for one call."""
        with self._lock:
            view = self._engine.view
            with view.reading() as snapshots:
                self._processing.refresh(view, snapshots)
                yield snapshots

    def save(self, path: str | Path) -> None:
        """Write the options and all that is remembered to a file, atomically.

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
            write_monitor(path, saved_of(self._processing))

    @classmethod
    def load(cls, path: str | Path, engine: Matching) -> Self:
        """Continue with a monitor that was saved.

        Parameters
        ----------
        path : str or Path
            The file. It is not trusted: what it says is checked.
        engine : Engine
            The engine. Functions over time that it did not have before begin empty; others are forgotten.

        Returns
        -------
        Monitor
            The monitor, with the options that were saved.

        Raises
        ------
        SegmentError
            If the file is damaged or of another version.
        InvalidInput
            If the file cannot be read.
        """
        saved = read_monitor(path)
        monitor = cls(engine, **saved.options)  # type: ignore[call-arg]
        with monitor._reading(), as_damage(path):
            restore(monitor._processing, saved)
        return monitor
