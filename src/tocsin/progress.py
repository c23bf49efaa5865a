"""Progress of long work: a bar, which appears after a second, or a function of the caller."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, TypeAlias

from tocsin.errors import InvalidInput

Progress: TypeAlias = Callable[[float | None], None] | bool
"""Called with the share of the work that is done, or with None if it is not known; True shows a bar."""
_DELAY_S: Final = 1.0
_INTERVAL_S: Final = 0.1


class ShareBar:
    """A bar for the share of work done; if the share is unknown, it shows only notes.

    It is shown on a terminal alone, not in a pipe, unless the caller asked for it: in a notebook it is text, too.
    """

    def __init__(self, what: str, *, is_asked: bool = False) -> None:
        self._what, self._is_asked = what, is_asked
        self._begun = self._shown = time.monotonic()
        self._bar: Any = None

    def update(self, share: float | None, note: str = "") -> None:
        """Move the bar to a share of the whole. None keeps its position and updates the note."""
        now = time.monotonic()
        if now - self._begun < _DELAY_S or now - self._shown < _INTERVAL_S:
            return
        if not self._is_asked and not sys.stderr.isatty():
            return
        self._shown = now
        if self._bar is None:
            from tqdm import tqdm  # which few need, and all would wait for

            form = "{desc}: {percentage:3.0f}% |{bar}| {elapsed}<{remaining}{postfix}"
            size = shutil.get_terminal_size()  # tqdm shows nothing on a terminal that reports size 0 by 0
            self._bar = tqdm(
                total=1.0, desc=self._what, leave=False, bar_format=form, ncols=size.columns - 1, nrows=size.lines
            )
            self._bar.start_t -= now - self._begun
        self._bar.n = self._bar.n if share is None else min(share, 1.0)
        self._bar.set_postfix_str(note)

    def __enter__(self) -> ShareBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()


@contextmanager
def reporting(progress: Progress | None, what: str) -> Iterator[Callable[[float | None], None] | None]:
    """The function to tell of progress: that of the caller, that of a bar, or None."""
    if progress is True:
        with ShareBar(what, is_asked=True) as bar:
            yield bar.update
    elif progress is None or progress is False:
        yield None
    elif callable(progress):
        yield progress
    else:
        raise InvalidInput(
            f"progress is {progress!r:.40}; it is True, for a bar, or a function of the share that is done"
        )
