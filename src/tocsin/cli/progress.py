"""Progress bars for long work: shown on a terminal after a second, never in a pipe."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType
from typing import Final

from tqdm import tqdm

_DELAY_S: Final = 1.0
_INTERVAL_S: Final = 0.1


class ShareBar:
    """A bar for the share of work done; if the share is unknown, it shows only notes."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._begun = self._shown = time.monotonic()
        self._bar: tqdm | None = None

    def update(self, share: float | None, note: str = "") -> None:
        """Move the bar to a share of the whole. None keeps its position and updates the note."""
        now = time.monotonic()
        if now - self._begun < _DELAY_S or now - self._shown < _INTERVAL_S or not sys.stderr.isatty():
            return
        self._shown = now
        if self._bar is None:
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
