"""Examination of a durable window's folder: the database by SQLite's own check, and whether the window can be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tocsin.errors import TocsinError
from tocsin.store import WINDOW, Database, Finding, examine_store
from tocsin.window.durable.rows import State, read_window
from tocsin.window.window import Window


def examine_window(folder: Path) -> Iterator[Finding]:
    """Examine the store of a window. Cost: that of opening the window."""
    return examine_store(folder, _contents)


def _contents(database: Database) -> Iterator[Finding]:
    try:
        with database.one_state():
            window = Window(**json.loads(database.meta(WINDOW)))
            read_window(database, window)
    except (TocsinError, TypeError, ValueError) as error:
        yield Finding("window", str(error))
        return
    messages, subscriptions = f"{window.held:,} messages", f"{len(window):,} subscriptions"
    yield Finding(f"window: {messages}, the next is number {State.of(window).taken:,}; {subscriptions}")
