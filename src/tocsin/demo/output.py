"""Output folders: results are made in a folder `.unfinished`, and moved into place when all are complete.

So a run that fails or is stopped leaves the results of the previous run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def finished_in(output: Path, parts: Sequence[str]) -> Iterator[Path]:
    """An empty folder to make `parts` in.

    They replace those in `output` if the block succeeds, else they are deleted.
    """
    folder = output / ".unfinished"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
        _move(folder, output, parts)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _move(source: Path, target: Path, parts: Sequence[str]) -> None:
    """Replace the parts of the previous run by those of this run."""
    for part in parts:
        old = target / part
        if old.is_dir():
            shutil.rmtree(old)
        (source / part).replace(old)
