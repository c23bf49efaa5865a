"""The tables of a store, version by version. A store of an older version gets the tables that it lacks."""

from __future__ import annotations

from typing import Final

APPLICATION: Final = 0x746F6373
"""The application id in the database's header: "tocs"."""

_ADDED: Final = (
    # Version 1
    (
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID",
        """
        CREATE TABLE subscriptions (
            id ANY NOT NULL PRIMARY KEY, condition TEXT NOT NULL, score REAL NOT NULL, payload TEXT, weights TEXT,
            sequence INTEGER NOT NULL, version INTEGER
        ) STRICT
        """,
        "CREATE INDEX subscriptions_by_sequence ON subscriptions (sequence)",
        """
        CREATE TABLE tombstones (
            id ANY NOT NULL PRIMARY KEY, sequence INTEGER NOT NULL, version INTEGER
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX tombstones_by_sequence ON tombstones (sequence)",
        """
        CREATE TABLE objects (
            key TEXT PRIMARY KEY, place INTEGER NOT NULL, state TEXT NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
    ),
    # Version 2
    (
        """
        CREATE TABLE window_messages (
            number INTEGER PRIMARY KEY, key ANY, x REAL NOT NULL, y REAL NOT NULL, time REAL NOT NULL,
            words TEXT NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE window_subscriptions (
            id ANY NOT NULL PRIMARY KEY, x REAL NOT NULL, y REAL NOT NULL, k INTEGER NOT NULL, alpha REAL NOT NULL,
            words TEXT NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
    ),
)
"""What each version added to the one before."""

VERSION: Final = len(_ADDED)


def statements_since(version: int) -> list[str]:
    """The statements that make a store of a version one of the present version; 0 is an empty database."""
    return [statement for added in _ADDED[version:] for statement in added]


SCHEMA: Final = ";\n".join(statements_since(0)) + ";"
"""All tables, as a script."""
