"""The first compile of a pipeline's subscriptions, and the report of those that were rejected."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from tocsin.engine.loading import build_from, extras_of
from tocsin.errors import InvalidInput
from tocsin.index import choose
from tocsin.model.subscription import Notice, Reject
from tocsin.pipeline.description import Pipeline
from tocsin.segment import Segment, write_index
from tocsin.segment.origins import Origin
from tocsin.segment.storage import MANIFEST
from tocsin.segment.uploading import upload
from tocsin.writing import aside

_FILE: Final = "rejects.json"


class Compiled(NamedTuple):
    """The outcome of the first compile."""

    subscriptions: int
    rejects: list[Reject]
    warnings: Sequence[Notice]  # ignored fields of the subscriptions
    folder: Path | None  # where all rejects are written; None if the pipeline has no folder for them


def prepare(pipeline: Pipeline) -> Compiled | None:
    """Compile the subscriptions if there is no index yet; returns None if nothing had to be compiled.

    The rejects are written before the index: a run that is killed in between compiles, and reports, again.
    """
    if _is_there(pipeline.index):
        return None
    if pipeline.subscriptions is None:
        return None  # changes make the index
    extras = extras_of(())
    segment, rejects = build_from(str(pipeline.subscriptions), choose(pipeline.structure), extras=extras)
    folder = None if pipeline.rejects is None else pipeline.rejects / "subscriptions"
    if rejects and folder is not None:
        _write(folder, rejects)
    if rejects and not len(segment):
        first = rejects[0]
        raise InvalidInput(f"{pipeline.subscriptions}: no subscription could be read; row {first.row}: {first.reason}")
    _publish(pipeline.index, segment)
    return Compiled(len(segment), rejects, extras.warnings(), folder)


def _is_there(index: Path | str) -> bool:
    """Whether there is an index in a folder, or at a URL."""
    if isinstance(index, str):
        return Origin(index).text(MANIFEST) is not None
    return (index / MANIFEST).exists()


def _publish(index: Path | str, segment: Segment) -> None:
    """Write the index into its folder, or into one that is uploaded to its URL."""
    if not isinstance(index, str):
        write_index(index, segment)
        return
    with TemporaryDirectory(prefix="tocsin-index-") as folder:
        write_index(folder, segment)
        upload(folder, index)


def _write(folder: Path, rejects: list[Reject]) -> None:
    """Write rejects as JSON lines; a later compile replaces the file."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(reject._asdict(), ensure_ascii=False) + "\n" for reject in rejects)
    with aside(folder / _FILE) as beside:
        beside.write_text("".join(lines), encoding="utf-8", errors="backslashreplace")
