"""Threads that have a window to themselves, to read it or to change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tocsin.index.window.kernels.layouts import TIME

if TYPE_CHECKING:
    from tocsin.window.subscription_set import WindowSubscriptions


class Alone:
    """Within it, no other thread uses the window. A window that is half changed refuses."""

    def __init__(self, window: WindowSubscriptions) -> None:
        self._window, self._lock = window, window._lock

    def __enter__(self) -> None:
        self._lock.acquire()
        try:
            self._window._require_whole()
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, *raised: object) -> None:
        self._lock.release()


class Changing(Alone):
    """Within it, the window changes. After an error, messages that were read but not pushed count for nothing.

    Reading a message decides which kind of keys and which times later ones may have.
    """

    def __enter__(self) -> None:
        super().__enter__()
        window = self._window
        self._before, self._messages = window._reader.admission, (window._sliding.taken, window._sliding.held)

    def __exit__(self, *raised: object) -> None:
        try:
            if raised[0] is not None:
                self._admit_as_pushed()
        finally:
            self._lock.release()

    def _admit_as_pushed(self) -> None:
        reader, sliding = self._window._reader, self._window._sliding
        if self._messages == (sliding.taken, sliding.held):
            reader.readmit(self._before)
        elif self._messages[0] < sliding.taken and self._window.span is not None:
            newest = (sliding.taken - 1) & (len(sliding.messages.word_starts) - 1)
            reader.latest = float(sliding.messages.records[newest, TIME])


def require_at_rest(window: WindowSubscriptions) -> None:
    """Raise `HalfChanged` for a window that is half changed, unless another thread is changing it now."""
    if window._lock.acquire(blocking=False):
        try:
            window._require_whole()
        finally:
            window._lock.release()
