"""A live display of a line of figures above some lists: repainted on a terminal, plain lines in a pipe."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from typing import Final, TextIO

_INTERVAL_S: Final = 0.1
_PARTS: Final = 5
"""The number of progress reports in a pipe."""


class Board:
    """Shows the progress of something with `total` parts on `stream`, unless `shown` is False."""

    def __init__(self, label: str, total: int, *, shown: bool = True, stream: TextIO | None = None) -> None:
        self._label, self._total, self._shown = label, total, shown
        self._stream = sys.stderr if stream is None else stream
        self._live = shown and self._stream.isatty()
        self._height = 0
        self._painted = -_INTERVAL_S
        self._told = 0
        self._before: set[str] = set()
        if shown and not self._live:
            self._print(f"{label} ...")

    @property
    def is_live(self) -> bool:
        """Whether the display is on a terminal."""
        return self._live

    def is_due(self, done: int) -> bool:
        """Whether `show` would show anything now, so that callers can skip making lists."""
        if self._live:
            return time.monotonic() - self._painted >= _INTERVAL_S or done == self._total
        return self._shown and done * _PARTS // self._total > self._told

    def show(self, done: int, figures: str, lists: Sequence[Sequence[str]]) -> None:
        """Show the figures and the lists.

        A list has a heading and lines; a pipe gets the heading and the first line.
        """
        if not self.is_due(done):
            return
        if self._live:
            self._painted = time.monotonic()
            self._paint([f"{self._label}: {figures}", *(line for one in lists for line in self._marked(one))])
            self._before = {line for one in lists for line in one}
            return
        self._told = done * _PARTS // self._total
        self._print(f"{self._label}: {figures}")
        for one in lists:
            self._print("\n".join(f"    {line}" for line in one[:2]))

    def close(self, seconds: float | None) -> None:
        """Remove what is painted. It took `seconds`, or failed if None."""
        if self._live:
            self._paint([])
        if self._shown and seconds is not None:
            self._print(f"{self._label}: done in {seconds:.1f} s")

    def _marked(self, one: Sequence[str]) -> list[str]:
        """A list under its heading; new lines are marked."""
        return [one[0], *(f"  {' ' if line in self._before else '+'} {line}" for line in one[1:])]

    def _paint(self, lines: Sequence[str]) -> None:
        """Replace the previous lines, cut to the size of the terminal."""
        size = shutil.get_terminal_size()
        kept = [line[: size.columns - 1] for line in lines[: size.lines - 1]]
        back = f"\x1b[{self._height}F" if self._height else ""
        self._stream.write(f"{back}\x1b[J" + "".join(f"{line}\n" for line in kept))
        self._stream.flush()
        self._height = len(kept)

    def _print(self, text: str) -> None:
        print(text, file=self._stream, flush=True)
