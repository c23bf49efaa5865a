"""When is it made? When it is first asked for, and once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from tocsin.forking import awaited, renewed

Made = TypeVar("Made")


class Once(Generic[Made]):
    """A value that is made when it is first asked for, once, by whichever thread asks."""

    def __init__(self) -> None:
        self._made: Made | None = None
        self.renew_locks()
        renewed(self)

    def renew_locks(self) -> None:
        self._lock = threading.Lock()

    def get(self, make: Callable[[], Made]) -> Made:
        """The value."""
        with self._lock:
            if self._made is None:
                self._made = make()
            return self._made

    @property
    def made(self) -> Made | None:
        """The value, where it was made already."""
        return self._made


class OnceEach(Generic[Made]):
    """A value for each key, made as `Once` makes one; who waits for one does not wait for another."""

    def __init__(self) -> None:
        self._lock = awaited(threading.Lock())
        self._by_key: dict[Any, Once[Made]] = {}

    def get(self, key: Any, make: Callable[[], Made]) -> Made:
        """The value of a key."""
        with self._lock:
            once = self._by_key.setdefault(key, Once())
        return once.get(make)

    def made(self, key: Any) -> Made | None:
        """The value of a key, where it was made already."""
        with self._lock:
            once = self._by_key.get(key)
        return None if once is None else once.made
