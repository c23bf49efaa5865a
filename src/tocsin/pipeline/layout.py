"""Marks that tie a checkpoint to its pipeline, and a sink to its checkpoint, so that neither is used by another.

A checkpoint continues with the source that it began with. Each checkpoint numbers its micro-batches from 0, so another
checkpoint would overwrite the files in a sink.
"""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any, Final

from tocsin.errors import InvalidInput
from tocsin.pipeline.description import End, Pipeline
from tocsin.writing import aside

MARK: Final = "_tocsin.json"
LAYOUT: Final = 2
_KEPT: Final = ("kind", "path", "topic", "format", "schema", "header", "delimiter")
"""The keys of a source that must not change while its checkpoint is in use."""


def claim(pipeline: Pipeline) -> None:
    """Mark the checkpoint and the folder of the sink; raises `InvalidInput` if they belong to another pipeline."""
    told = {"events": _told(pipeline.events), "changes": _told(pipeline.changes), "index": str(pipeline.index)}
    layout = _seen_from(pipeline.checkpoint, {"layout": LAYOUT, **told})
    mark = _mark_of(pipeline.checkpoint)
    if mark is not None and mark.get("layout") == 1:  # layout 1 has paths as they were spelled
        mark = _seen_from(pipeline.checkpoint, {**mark, "layout": LAYOUT})
    if mark is None:
        _require_empty(pipeline.checkpoint, "is not a checkpoint of a pipeline, and is not empty")
        mark = {**layout, "id": uuid.uuid4().hex}
        _write(pipeline.checkpoint, mark)
    _require_same(pipeline, mark, layout)
    if mark.get("changes") is None and layout["changes"] is not None:  # changes begin now, and stay with this index
        _write(pipeline.checkpoint, {**mark, **layout})
    folders = [pipeline.rejects] if pipeline.rejects is not None else []
    folders += [Path(pipeline.sink["path"])] if pipeline.sink.kind == "files" else []
    for folder in folders:
        _claim_sink(folder, pipeline.checkpoint, str(mark["id"]))


def _claim_sink(folder: Path, checkpoint: Path, owner: str) -> None:
    mark = _mark_of(folder)
    if mark is None:
        _require_empty(folder, "holds files that are not from a pipeline")
        _write(folder, {"id": owner})
    elif mark.get("id") != owner:
        raise InvalidInput(
            f"{folder} was written with another checkpoint than {checkpoint}, which would overwrite its micro-batches. "
            "Name another folder, or the checkpoint that it was written with"
        )


def _seen_from(checkpoint: Path, layout: dict[str, Any]) -> dict[str, Any]:
    """The layout with paths relative to the checkpoint, so that they do not depend on how the file was named."""
    there = dict(layout)
    for name in ("events", "changes"):
        if (end := layout.get(name)) is not None and "path" in end:
            there[name] = {**end, "path": os.path.relpath(end["path"], checkpoint)}
    if (index := layout.get("index")) is not None:
        there["index"] = os.path.relpath(index, checkpoint)
    return there


def _told(end: End | None) -> dict[str, Any] | None:
    return None if end is None else {"kind": end.kind, **{key: end.get(key) for key in _KEPT if key in end.says}}


def _require_same(pipeline: Pipeline, mark: dict[str, Any], layout: dict[str, Any]) -> None:
    """Raise `InvalidInput` if the checkpoint began with other sources."""
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
    for table, name in (("events", "events"), ("changes", "subscriptions.changes")):
        before, now = mark.get(table), layout[table]
        if table == "changes" and before is None:
            continue  # changes may be added later, with their own checkpoint
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


def _place(checkpoint: Path, path: str | None) -> str | None:
    """A path for messages; in marks it is relative to the checkpoint."""
    return None if path is None else os.path.normpath(checkpoint / path)


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
