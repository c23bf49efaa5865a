"""On which line of a TOML text does a table or a key stand? Python's reader does not tell, and errors should."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

Places: TypeAlias = dict[tuple[str, str], int]
"""The line, from 1, of each (table, key); of a table itself under an empty key. Tables within tables have dots."""

_TABLE: Final = re.compile(r"\s*\[\s*([^\[\]#]+?)\s*\]\s*(#.*)?$")
_KEY: Final = re.compile(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*=""")
_LONG: Final = ('"""', "'''")


def places_of(text: str) -> Places:
    """The lines of all tables and keys of a text that is valid TOML."""
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
