"""The functions of the language, and advice for functions of other languages."""

from __future__ import annotations

import difflib
from typing import Final

from tocsin.language.operators.operator import FUNCTIONS

LITERAL_FUNCTIONS: Final = ("DATE", "TIMESTAMP", "INTERVAL", "POINT", "BBOX")
"""Functions in text that make a constant or an interval."""

SHAPES: Final = frozenset(
    ("LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION")
)
"""Geometries in text with well-known text between their parentheses."""

_IGNORING_CASE: Final = "write CASEI(name) = CASEI('Paris')"
_PART_OF_TEXT: Final = "write name LIKE '%part%'"
_ELEMENTS: Final = "write ANY(items, price > 3) for a condition on the elements of a list"

_ELSEWHERE: Final = {
    **dict.fromkeys(("LOWER", "UPPER", "LCASE", "UCASE"), f"to ignore case {_IGNORING_CASE}"),
    **dict.fromkeys(("UNACCENT", "NORMALIZE"), "to ignore accents write ACCENTI(name) = ACCENTI('Zürich')"),
    **dict.fromkeys(
        ("CAST", "CONVERT", "TRY_CAST", "TO_NUMBER", "TO_DATE", "TO_TIMESTAMP"),
        "a schema gives attributes their types; NUMBER(a) reads a string as a number",
    ),
    **dict.fromkeys(("COALESCE", "IFNULL", "NVL", "ISNULL"), "write name IS NULL OR name = 'x'"),
    "EXISTS": "to ask whether a value is there, write name IS NOT NULL; " + _ELEMENTS,
    "CONTAINS": "for a text " + _PART_OF_TEXT + " or TEXT(name, 'word'); for a list write A_CONTAINS(tags, ('a', 'b'))",
    **dict.fromkeys(("STARTSWITH", "STARTS_WITH"), "write name LIKE 'part%'"),
    **dict.fromkeys(("ENDSWITH", "ENDS_WITH"), "write name LIKE '%part'"),
    **dict.fromkeys(("STRPOS", "INSTR", "POSITION", "CHARINDEX", "LOCATE"), _PART_OF_TEXT),
    **dict.fromkeys(("REGEXP_LIKE", "REGEXP_MATCHES", "REGEXP", "RLIKE"), "write MATCHES(name, '^a.*z$')"),
    **dict.fromkeys(
        ("ARRAY_CONTAINS", "HAS", "HAS_ANY"), "write A_CONTAINS(tags, ('a')) or A_OVERLAPS(tags, ('a', 'b'))"
    ),
    **dict.fromkeys(("ALL", "EVERY"), "write EACH(items, price > 3) for a condition on all elements of a list"),
    **dict.fromkeys(
        ("CURRENT_TIMESTAMP", "CURRENT_DATE", "GETDATE", "TODAY", "SYSDATE"),
        "the present is NOW(), as in t > NOW() - DURATION('P1D')",
    ),
    **dict.fromkeys(("LAG", "LAST", "PRIOR"), "write PREVIOUS(temperature) for the value in the event before"),
    **dict.fromkeys(("TOTAL", "SUM_OVER"), "write SUM(amount, type = 'payment', 'P1D')"),
    **dict.fromkeys(("MEAN", "AVERAGE"), "write AVG(amount, type = 'payment', 'P1D')"),
    **dict.fromkeys(("CARDINALITY_OVER", "DISTINCT_COUNT"), "write COUNT_DISTINCT(card, type = 'payment', 'P1D')"),
    **dict.fromkeys(("LEN", "SIZE", "CARDINALITY"), "write LENGTH(items) > 3"),
    **dict.fromkeys(
        ("YEAR", "MONTH", "DAY", "EXTRACT", "DATE_PART", "DATE_TRUNC"),
        "write t >= DATE('2024-05-01'), or HOUR(t), WEEKDAY(t) or DATE_OF(t)",
    ),
    **dict.fromkeys(("DAYOFWEEK", "DAY_OF_WEEK", "ISODOW", "DOW"), "write WEEKDAY(t) = 1 for Monday"),
    **dict.fromkeys(("ST_INTERSECTS", "INTERSECTS"), "write S_INTERSECTS(location, BBOX(2, 48, 3, 49))"),
    **dict.fromkeys(("ST_WITHIN", "WITHIN"), "write S_WITHIN(location, POLYGON((...)))"),
    **dict.fromkeys(("ST_CONTAINS",), "write S_CONTAINS(area, POINT(2.35 48.85))"),
    **dict.fromkeys(
        ("ST_DWITHIN", "DWITHIN", "ST_DISTANCE", "DISTANCE"), "write DISTANCE_M(location, POINT(2 48)) <= 500"
    ),
}
"""What to write instead of a function of another language, by its name there."""


def is_function(name: str) -> bool:
    """Whether a name in capitals is a function or a literal."""
    return name in FUNCTIONS or name in LITERAL_FUNCTIONS or name in SHAPES


def unknown_function(name: str) -> str:
    """The message for an unknown function: what to write instead, or the most similar known function."""
    capital = name.upper()[:40]
    if capital in _ELSEWHERE:
        return f"there is no function {name[:60]!r}; {_ELSEWHERE[capital]}"
    near = difflib.get_close_matches(capital, sorted({*FUNCTIONS, *LITERAL_FUNCTIONS, *SHAPES}), n=1)
    hint = f"did you mean {near[0]}?" if near else "docs/language.md lists all functions"
    return f"there is no function {name[:60]!r}; {hint}"


def not_supported(name: str) -> str:
    """The message for a function, or a kind of literal, that tocsin does not evaluate yet."""
    return f"{name} is not supported yet"
