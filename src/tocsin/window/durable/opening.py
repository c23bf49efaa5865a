"""Opening the folder of a durable window, and making one, also from a window that was saved."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tocsin.errors import InvalidInput
from tocsin.segment.storage import refuse_other_manifest
from tocsin.store import DATABASE, WINDOW, Database, Writer, refuse_others, require_window
from tocsin.window.durable.rows import write_window
from tocsin.window.durable.window import DurableWindow
from tocsin.window.saving import FORMAT, MANIFEST, load_window, options_of, with_defaults
from tocsin.window.window import Window


def open_window(
    folder: str | Path, given: Mapping[str, Any], index: str | None, threads: int | None, sync: str
) -> DurableWindow:
    """Open or create a durable window, as `Window.open` describes."""
    writer = Writer(Path(folder), sync, lambda new: _create(new, given, index))
    try:
        require_window(writer.database)
        stored = with_defaults(json.loads(writer.database.meta(WINDOW)))
        _refuse_others(writer.folder, given, stored)
        return DurableWindow(writer, {**stored, "index": index or stored["index"]}, threads)
    except BaseException:
        writer.close()
        raise


def _create(folder: Path, given: Mapping[str, Any], index: str | None) -> None:
    """Make the store of a folder. A window that `save` wrote is copied."""
    if (folder / MANIFEST).exists():
        refuse_other_manifest(folder / MANIFEST, FORMAT)
        window = load_window(Window, folder, index, 1)
        _refuse_others(folder, given, options_of(window))
    elif "bounds" not in given:
        raise InvalidInput("bounds is None; give the area of all places: (xmin, ymin, xmax, ymax)")
    else:
        own: dict[str, Any] = {} if index is None else {"index": index}
        window = Window(**given, **own)
    Database.create(folder, lambda database: write_window(database, window))
    if window.held or len(window):
        what = f"{window.held:,} messages and {len(window):,} subscriptions"
        warnings.warn(f"{folder} was a saved window; its {what} were copied to {DATABASE}", stacklevel=6)


def _refuse_others(folder: Path, given: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for an option that differs from the one that the window was made with."""
    asked = options_of(Window(**{**stored, **given}))
    refuse_others({name: asked[name] for name in given}, stored, f"the window in {folder} was made")
