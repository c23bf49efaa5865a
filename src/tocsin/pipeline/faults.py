"""Faults of a pipeline's file with their lines, which Python's TOML parser does not provide."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, TypeAlias

from tocsin.errors import InvalidInput

Places: TypeAlias = dict[tuple[str, str], int]
"""The line, from 1, of each (table, key); a table has an empty key. Nested tables have dotted names."""

_TABLE: Final = re.compile(r"\s*\[\s*([^\[\]#]+?)\s*\]\s*(#.*)?$")
_KEY: Final = re.compile(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*=""")
_LONG: Final = ('"""', "'''")


class Faults:
    """The faults of a file, by line."""

    def __init__(self, path: Path, places: Places) -> None:
        self._path = path
        self._places = places
        self._found: list[tuple[int, str]] = []
        self._seen: set[tuple[str, str]] = set()

    def add(self, table: str, key: str, what: str) -> None:
        """Report a fault of a key, or of a table if the key is empty.

        Only the first fault of a key counts, and none of a key whose table is faulty: others may follow from it.
        """
        if self._seen & {(table, key), (table, ""), ("", table)}:
            return
        self._seen.add((table, key))
        line = self._places.get((table, key)) or self._places.get((table, "")) or 1
        self._found.append((line, what))

    def stop(self) -> None:
        """Raise `InvalidInput` if there are any faults."""
        if self._found:
            raise InvalidInput("\n".join(f"{self._path}:{line}: {what}" for line, what in sorted(self._found)))


def places_of(text: str) -> Places:
    """The lines of all tables and keys in a text of valid TOML."""
    places: Places = {}
    table, long = "", None
    for number, line in enumerate(text.split("\n"), 1):
        if long is not None:
            long = None if long in line else long
            continue
        if header := _TABLE.match(line):
            table = ".".join(part.strip().strip("\"'") for part in header[1].split("."))
            places[table, ""] = number
        elif key := _KEY.match(line):
            places[table, key[1].strip("\"'")] = number
        long = next((mark for mark in _LONG if line.count(mark) % 2), None)
    return places
