"""Which functions does CQL2 have, and which of them does this version evaluate?"""

from __future__ import annotations

import difflib
from typing import Final

from tocsin.model.expression import ELEMENT_FUNCTIONS, MEASURES, PREDICATE_FUNCTIONS, STRING_FUNCTIONS

LITERAL_FUNCTIONS: Final = ("DATE", "TIMESTAMP", "INTERVAL", "POINT", "BBOX")
"""Functions in text that make a constant, or an interval."""

SHAPES: Final = frozenset(
    ("LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION")
)
"""Geometries in text whose parentheses hold well-known text."""

_FUNCTIONS: Final = STRING_FUNCTIONS + MEASURES + PREDICATE_FUNCTIONS + ELEMENT_FUNCTIONS
SUPPORTED: Final = frozenset(_FUNCTIONS + LITERAL_FUNCTIONS) | SHAPES


def unknown_function(name: str) -> str:
    """The message for a function that CQL2 does not have: the nearest that there is, and all of them."""
    near = difflib.get_close_matches(name.upper()[:40], sorted(SUPPORTED), n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"there is no function {name[:60]!r}{hint} (there are {', '.join(sorted(SUPPORTED))})"


def not_supported(name: str) -> str:
    """The message for a function, or a kind of literal, that this version does not evaluate."""
    return f"{name} is not supported yet"
