"""Fork safety of locks: in the child of a fork, no lock is held, and guarded data is consistent.

A fork copies only the thread that forks. A lock held by another thread would stay locked for good, with its data half
changed. So a fork waits for locks that are held briefly (`awaited`). Locks that are held for long, over data that
changes in one final step, are recreated in the child (`renewed`). Spawned children need none of this.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from typing import Any, Final, Protocol, TypeVar

Lock = TypeVar("Lock")


class Renewed(Protocol):
    """An object with locks that are held for long."""

    def renew_locks(self) -> None:
        """Recreate the locks as unheld, in a process that was just forked."""


_FORKS: Final = threading.Lock()
"""Held while a process forks, so that two forking threads never wait for each other's locks.

Nothing else takes it, because code that registers a lock may hold another.
"""

_NUMBERS: Final = itertools.count()
_AWAITED: Final[dict[int, weakref.ref[Any]]] = {}
_INNERMOST: Final[dict[int, weakref.ref[Any]]] = {}
_RENEWED: Final[dict[int, weakref.ref[Any]]] = {}
_HELD: Final[list[Any]] = []


def awaited(lock: Lock, *, is_innermost: bool = False) -> Lock:
    """Make forks wait until the lock is not held; returns the lock.

    No thread takes two of these at once, except innermost ones, which are taken last.
    """
    _add(_INNERMOST if is_innermost else _AWAITED, lock)
    return lock


def renewed(owner: Renewed) -> None:
    """Have the owner's locks recreated in children."""
    _add(_RENEWED, owner)


def _add(known: dict[int, weakref.ref[Any]], one: Any) -> None:
    number = next(_NUMBERS)
    known[number] = weakref.ref(one, lambda _: known.pop(number, None))


def _alive(known: dict[int, weakref.ref[Any]]) -> list[Any]:
    everyone = (reference() for reference in known.copy().values())
    return [one for one in everyone if one is not None]


def _before() -> None:
    _FORKS.acquire()
    held: set[int] = set()
    while new := [lock for lock in _alive(_AWAITED) if id(lock) not in held]:  # locks may be made while this waits
        held |= _hold(new)
    _hold(_alive(_INNERMOST))


def _hold(locks: list[Any]) -> set[int]:
    for lock in locks:
        lock.acquire()
        _HELD.append(lock)
    return {id(lock) for lock in locks}


def _after() -> None:
    while _HELD:
        _HELD.pop().release()
    _FORKS.release()


def _after_in_child() -> None:
    for owner in _alive(_RENEWED):
        owner.renew_locks()
    _after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
