"""What does a child of a fork find? Locks that nobody holds, over what nobody was changing.

A fork copies the thread that forks and no other: a lock that another one held stays shut for good, and what it guards
stays half changed. So a fork waits for locks that are held for moments (`awaited`); what is held for long, over what
changes in one step at its end, is made anew in the child (`renewed`). Children that are spawned need none of this.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Final, Protocol, TypeVar

Lock = TypeVar("Lock")


class Renewed(Protocol):
    """Something with locks that are held for long."""

    def renew_locks(self) -> None:
        """Be as if nobody held them, in a process that was just forked."""


_GUARD: Final = threading.Lock()
"""Over what follows; held while a process forks, so that two threads never wait for each other's locks."""

_AWAITED: Final[list[weakref.ref[Any]]] = []
_INNERMOST: Final[list[weakref.ref[Any]]] = []
_RENEWED: Final[list[weakref.ref[Any]]] = []
_HELD: Final[list[Any]] = []


def awaited(lock: Lock, *, is_innermost: bool = False) -> Lock:
    """The same lock; a fork waits until nobody holds it.

    Nobody takes two of these at once, but for innermost ones, which are taken last.
    """
    _add(_INNERMOST if is_innermost else _AWAITED, lock)
    return lock


def renewed(owner: Renewed) -> None:
    """Have the owner's locks made anew in children."""
    _add(_RENEWED, owner)


def _add(known: list[weakref.ref[Any]], one: Any) -> None:
    with _GUARD:
        if len(known) > 64 and len(known) & (len(known) - 1) == 0:  # at powers of two, so that it costs nothing
            known[:] = [reference for reference in known if reference() is not None]
        known.append(weakref.ref(one))


def _before() -> None:
    _GUARD.acquire()
    for reference in (*_AWAITED, *_INNERMOST):
        lock = reference()
        if lock is not None:
            lock.acquire()
            _HELD.append(lock)


def _after() -> None:
    while _HELD:
        _HELD.pop().release()
    _GUARD.release()


def _after_in_child() -> None:
    for reference in _RENEWED:
        owner = reference()
        if owner is not None:
            owner.renew_locks()
    _after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
