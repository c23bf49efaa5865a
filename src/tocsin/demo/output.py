"""Where do results go? Into a folder `.unfinished` below the output first, and to their places when all are there.

So a run that fails, or is stopped, leaves the results of the one before.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def finished_in(output: Path, parts: Sequence[str]) -> Iterator[Path]:
    """An empty folder to make `parts` in; they replace those in `output` if the block ends well, and else are gone."""
    folder = output / ".unfinished"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
        _move(folder, output, parts)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _move(source: Path, target: Path, parts: Sequence[str]) -> None:
    """Put the parts of a finished run in place of those of the run before."""
    for part in parts:
        old = target / part
        if old.is_dir():
            shutil.rmtree(old)
        (source / part).replace(old)
