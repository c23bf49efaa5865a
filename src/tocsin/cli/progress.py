"""How does long work show that it moves? A bar on a terminal after a second; nothing in a pipe."""

from __future__ import annotations

import sys
from types import TracebackType

from tqdm import tqdm


class ShareBar:
    """A bar for work whose share done is known, or a spinner of counts where it is not."""

    def __init__(self, what: str) -> None:
        hidden = not sys.stderr.isatty()
        self._bar = tqdm(
            total=1.0,
            desc=what,
            disable=hidden,
            delay=1.0,
            leave=False,
            bar_format="{desc}: {percentage:3.0f}% |{bar}| {elapsed}<{remaining} {postfix}",
        )

    def update(self, share: float | None, note: str = "") -> None:
        """Move to a share of the whole; None keeps the place and shows the note alone."""
        if share is not None:
            self._bar.n = min(share, 1.0)
        self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(0)
        self._bar.refresh()

    def __enter__(self) -> ShareBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
