"""What two windows must have in common to be taken for the same, and the store of one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

import tocsin

BOUNDS: Final = (0.0, 0.0, 8.0, 4.0)


def state(window: Any) -> dict[str, Any]:
    """Everything on which a later answer depends, and the answers of now."""
    return {
        "ids": list(window),
        "best": window.results_table().to_pylist(),
        "held": window.held,
        "taken": window.stats.messages,
        "latest": window._reader.latest,
        "keys": (window._keys.kind, window._keys.is_decided),
    }


def stored(window: Any) -> tuple[list[int], list[Any]]:
    """The numbers of the messages and the ids of the subscriptions that the store has."""
    connection = window._database._connection
    numbers = connection.execute("SELECT number FROM window_messages ORDER BY number").fetchall()
    ids = connection.execute("SELECT id FROM window_subscriptions ORDER BY id").fetchall()
    return [number for (number,) in numbers], [id for (id,) in ids]


def crashed(window: Any, folder: Path) -> Any:
    """The window that is left if this process is killed now, opened in another folder; the first one is closed."""
    folder.mkdir()
    for name in ("store.db", "store.db-wal"):
        if (window.folder / name).exists():
            shutil.copyfile(window.folder / name, folder / name)
    window.close()
    return tocsin.Window.open(folder)
