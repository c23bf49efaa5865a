"""Values made on first use, exactly once, shared between threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from tocsin.forking import awaited, renewed

Made = TypeVar("Made")


class Once(Generic[Made]):
    """A value made on first use, once, by whichever thread asks first."""

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
        """The value if it was made already, or None."""
        return self._made


class OnceEach(Generic[Made]):
    """A value for each key, made like a `Once`. Waiting for one key's value does not block other keys."""

    def __init__(self) -> None:
        self._lock = awaited(threading.Lock())
        self._by_key: dict[Any, Once[Made]] = {}

    def get(self, key: Any, make: Callable[[], Made]) -> Made:
        """The value of a key."""
        with self._lock:
            once = self._by_key.setdefault(key, Once())
        return once.get(make)

    def made(self, key: Any) -> Made | None:
        """The value of a key if it was made already, or None."""
        with self._lock:
            once = self._by_key.get(key)
        return None if once is None else once.made
