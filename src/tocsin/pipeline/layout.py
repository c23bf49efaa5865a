"""Marks that tie a checkpoint to its pipeline, and a sink to its checkpoint, so that neither is used by another.

A checkpoint continues with the source and the sink that it began with: another sink would lack the matches that are
already in the first one. Each checkpoint numbers its micro-batches from 0, so another checkpoint would overwrite the
files in a sink.
"""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any, Final

from tocsin.errors import InvalidInput
from tocsin.pipeline.description import End, Pipeline
from tocsin.records.files import is_url
from tocsin.writing import aside

MARK: Final = "_tocsin.json"
LAYOUT: Final = 2
_KEPT: Final = ("kind", "path", "topic", "format", "schema", "header", "delimiter")
"""The keys of a source or sink that must not change while its checkpoint is in use."""
_ENDS: Final = {"events": "events", "changes": "subscriptions.changes", "sink": "sink"}
"""The tables of a pipeline's file, by their names in a mark."""


def claim(pipeline: Pipeline) -> None:
    """Mark the checkpoint and the folder of the sink; raises `InvalidInput` if they belong to another pipeline."""
    before, mark = require_own(pipeline)
    if mark != before:
        _write(pipeline.checkpoint, mark)
    for folder in _written_by(pipeline):
        if _mark_of(folder) is None:
            _write(folder, {"id": mark["id"]})


def require_own(pipeline: Pipeline) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the mark of the checkpoint, None if it is new, and the mark that it should have. This writes nothing.

    Raises `InvalidInput` if the checkpoint or a folder that is written belongs to another pipeline.
    """
    ends = {"events": pipeline.events, "changes": pipeline.changes, "sink": pipeline.sink}
    told = {"layout": LAYOUT, **{name: _told(end) for name, end in ends.items()}, "index": str(pipeline.index)}
    layout = _seen_from(pipeline.checkpoint, told)
    before = mark = _mark_of(pipeline.checkpoint)
    if mark is None:
        _require_empty(pipeline.checkpoint, "is not a checkpoint of a pipeline, and is not empty")
        mark = {**layout, "id": uuid.uuid4().hex}
    elif mark.get("layout") == 1:  # layout 1 has paths as they were spelled
        mark = _seen_from(pipeline.checkpoint, {**mark, "layout": LAYOUT})
    _require_same(pipeline, mark, layout)
    if mark.get("changes") is None and layout["changes"] is not None:  # changes begin now, and stay with this index
        mark = {**mark, "changes": layout["changes"], "index": layout["index"]}
    for folder in _written_by(pipeline):
        _require_sink(folder, pipeline.checkpoint, mark["id"])
    return before, {**mark, "sink": layout["sink"]}


def _written_by(pipeline: Pipeline) -> list[Path]:
    """The folders that a pipeline marks as its own, besides the checkpoint."""
    folders = [pipeline.rejects] if pipeline.rejects is not None else []
    return folders + ([Path(pipeline.sink["path"])] if pipeline.sink.kind == "files" else [])


def _require_sink(folder: Path, checkpoint: Path, owner: str) -> None:
    mark = _mark_of(folder)
    if mark is None:
        _require_empty(folder, "holds files that are not from a pipeline")
    elif mark.get("id") != owner:
        raise InvalidInput(
            f"{folder} was written with another checkpoint than {checkpoint}, which would overwrite its micro-batches. "
            "Name another folder, or the checkpoint that it was written with"
        )


def _seen_from(checkpoint: Path, layout: dict[str, Any]) -> dict[str, Any]:
    """The layout with paths relative to the checkpoint, so that they do not depend on how the file was named."""
    there = dict(layout)
    for name in _ENDS:
        if (end := layout.get(name)) is not None and "path" in end:
            there[name] = {**end, "path": os.path.relpath(end["path"], checkpoint)}
    if (index := layout.get("index")) is not None and not is_url(index):
        there["index"] = os.path.relpath(index, checkpoint)
    return there


def _told(end: End | None) -> dict[str, Any] | None:
    return None if end is None else {"kind": end.kind, **{key: end.get(key) for key in _KEPT if key in end.says}}


def _require_same(pipeline: Pipeline, mark: dict[str, Any], layout: dict[str, Any]) -> None:
    """Raise `InvalidInput` if the checkpoint began with other sources, or with another sink."""
    if mark.get("layout") != LAYOUT:
        old = mark.get("layout")
        raise InvalidInput(
            f"{pipeline.checkpoint} has layout {old}, but this tocsin needs {LAYOUT}. Name another checkpoint"
        )
    old = mark.get("index")
    if mark.get("changes") is not None and old not in (None, layout["index"]):
        was, now = (_place(pipeline.checkpoint, index) for index in (old, layout["index"]))
        raise InvalidInput(
            f"index of [subscriptions] was {was!r} when {pipeline.checkpoint} was made, but is {now!r} "
            "now. Changes already applied are in the earlier index. Restore it, or name another checkpoint (and sink)"
        )
    for table, name in _ENDS.items():
        before, now = mark.get(table), layout[table]
        if table != "events" and before is None:
            continue  # changes may be added later, with their own checkpoint; tocsin 0.2 did not record the sink
        if table == "sink" and not _has_begun(pipeline.checkpoint):
            continue  # nothing is written yet
        for key in _KEPT if now is not None or table == "events" else ():
            old, new = (before or {}).get(key), (now or {}).get(key)
            if old != new:
                if key == "path":
                    old, new = (_place(pipeline.checkpoint, path) for path in (old, new))
                raise InvalidInput(
                    f"{key} of [{name}] was {old!r} when {pipeline.checkpoint} was made, but is {new!r} now. A "
                    "checkpoint needs the settings that it began with. Restore them, or name another "
                    "checkpoint (and sink)"
                )


def _has_begun(checkpoint: Path) -> bool:
    """Whether a micro-batch of events was planned."""
    return any((checkpoint / "events" / "offsets").glob("[0-9]*"))


def _place(checkpoint: Path, path: str | None) -> str | None:
    """A path for messages; in marks it is relative to the checkpoint."""
    return path if path is None or is_url(path) else os.path.normpath(checkpoint / path)


def _require_empty(folder: Path, what: str) -> None:
    if folder.exists() and any(folder.iterdir()):
        raise InvalidInput(f"{folder} {what}; name another folder, or empty it")


def _mark_of(folder: Path) -> dict[str, Any] | None:
    try:
        mark = json.loads((folder / MARK).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{folder / MARK} cannot be read: {error}") from None
    return mark if isinstance(mark, dict) else {}


def _write(folder: Path, mark: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with aside(folder / MARK) as beside:
        beside.write_text(json.dumps(mark, indent=1) + "\n", encoding="utf-8")
