"""How is an expression written as CQL2 text? One text for each tree, with the fewest parentheses.

Reading the text again gives the same tree, for every tree that a parser makes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import Any, Final, NamedTuple, cast

from tocsin.errors import InvalidInput
from tocsin.language.tokens import is_plain_name
from tocsin.model.event import Problem, value_of
from tocsin.model.expression import (
    And,
    AnyElement,
    Arithmetic,
    Array,
    Attribute,
    Between,
    Call,
    Comparison,
    Constant,
    Expression,
    In,
    Interval,
    IsNull,
    Like,
    Not,
    Or,
    fold,
)
from tocsin.model.values import LARGEST_INTEGER, UNTYPED, Box, Instant, Point, Range, Shape, Value

# How tightly a text binds, as the rules of the grammar nest.
_OR: Final = 1
_AND: Final = 2
_NOT: Final = 3
_PREDICATE: Final = 4
_SUM: Final = 5
_TERM: Final = 6
_POWER: Final = 7
_ATOM: Final = 8

# operator -> (its own binding, what its left operand needs, what its right one needs)
_ARITHMETIC: Final = {
    "+": (_SUM, _SUM, _TERM),
    "-": (_SUM, _SUM, _TERM),
    "*": (_TERM, _TERM, _POWER),
    "/": (_TERM, _TERM, _POWER),
    "%": (_TERM, _TERM, _POWER),
    "DIV": (_TERM, _TERM, _POWER),
    "^": (_POWER, _ATOM, _POWER),
}


class _Piece(NamedTuple):
    """A text, how tightly it binds, and the text of its NOT where that is written inside (`a NOT IN (1)`)."""

    text: str
    binding: int
    opposite: str = ""

    def at_least(self, binding: int) -> str:
        """The text, in parentheses when it binds less tightly than its place needs."""
        return self.text if self.binding >= binding else f"({self.text})"


def to_text(expression: Expression) -> str:
    """An expression as canonical CQL2 text.

    >>> from tocsin.language import parse
    >>> to_text(parse("not(price<=580.0) or (color in('gold'))"))
    "NOT price <= 580 OR color IN ('gold')"
    """
    return fold(expression, _write).text


def _write(node: Expression, parts: Sequence[_Piece]) -> _Piece:
    if isinstance(node, Constant):
        return _Piece(constant_text(node.value), _ATOM)
    if isinstance(node, Attribute):
        return _Piece(name_text(node.name), _ATOM)
    if isinstance(node, And):
        return _Piece(" AND ".join([part.at_least(_NOT) for part in parts]), _AND)
    if isinstance(node, Or):
        return _Piece(" OR ".join([part.at_least(_AND) for part in parts]), _OR)
    if isinstance(node, Not):
        inner = parts[0]
        if inner.opposite:
            return _Piece(inner.opposite, _PREDICATE)
        return _Piece(f"NOT {inner.at_least(_NOT)}", _NOT)
    if isinstance(node, Arithmetic):
        own, left, right = _ARITHMETIC[node.op]
        return _Piece(f"{parts[0].at_least(left)} {node.op} {parts[1].at_least(right)}", own)
    if isinstance(node, Array):
        return _Piece(_list([part.text for part in parts]), _ATOM)
    if isinstance(node, Call):
        return _Piece(node.name + _list([part.text for part in parts]), _ATOM)
    if isinstance(node, Interval):
        ends = zip((node.start, node.end), parts, strict=True)
        texts = [f"'{instant_text(end.value)}'" if isinstance(end, Constant) else part.text for end, part in ends]
        return _Piece("INTERVAL" + _list(texts), _ATOM)
    if isinstance(node, AnyElement):
        return _Piece("ANY" + _list([parts[0].text, to_text(node.condition)]), _ATOM)
    return _predicate(node, [part.at_least(_SUM) for part in parts])


def _predicate(node: Expression, texts: list[str]) -> _Piece:
    first, *rest = texts
    if isinstance(node, Comparison):
        return _Piece(f"{first} {node.op} {rest[0]}", _PREDICATE)
    if isinstance(node, IsNull):
        return _Piece(f"{first} IS NULL", _PREDICATE, f"{first} IS NOT NULL")
    if isinstance(node, In):
        tail = "IN " + _list(rest)
    elif isinstance(node, Between):
        tail = f"BETWEEN {rest[0]} AND {rest[1]}"
    else:
        assert isinstance(node, Like)
        tail = f"LIKE {rest[0]}"
    return _Piece(f"{first} {tail}", _PREDICATE, f"{first} NOT {tail}")


def _list(texts: list[str]) -> str:
    return "(" + ", ".join(texts) + ")"


def name_text(name: str) -> str:
    """An attribute's name, in double quotes where it needs them.

    >>> name_text("price"), name_text("unit price"), name_text("in")
    ('price', '"unit price"', '"in"')
    """
    return name if is_plain_name(name) else '"' + name.replace('"', '""') + '"'


def quote(value: Any) -> str:
    """A Python value as a constant of CQL2 text, to be put into an expression.

    Parameters
    ----------
    value
        A string, number, boolean, date, datetime, Decimal, geometry (a GeoJSON object, a shapely geometry), or a list
        of these, which becomes what stands behind IN or in A_CONTAINS.

    Returns
    -------
    str
        The text; `parse` reads the same value from it.

    Raises
    ------
    InvalidInput
        For None, NaN and infinity, integers beyond 2**53, and what has no type.

    Examples
    --------
    >>> import datetime
    >>> name, day = quote("O'Hara"), quote(datetime.date(2024, 5, 31))
    >>> f"name = {name} AND day >= {day} AND size IN {quote([1, 2.5])}"
    "name = 'O''Hara' AND day >= DATE('2024-05-31') AND size IN (1, 2.5)"
    """
    if isinstance(value, list | tuple | Set) and not isinstance(value, Point | Box):
        return _list([quote(item) for item in value])
    problems: list[Problem] = []
    found = value_of(value, "value", problems)
    if problems:
        raise InvalidInput(f"{value!r:.60} cannot be written as a constant: {problems[0].reason}")
    if found is None or found is UNTYPED or isinstance(found, Range):
        raise InvalidInput(f"{value!r:.60} is not a constant; whether a value is missing is asked by IS NULL")
    return constant_text(found)


def constant_text(value: Value) -> str:
    """A value as it is written in CQL2 text; a list as an array, a range in words.

    >>> constant_text(580.0), constant_text("it's"), constant_text(True)
    ('580', "'it''s'", 'TRUE')
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return _number_text(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, Instant):
        text = instant_text(value)
        return f"TIMESTAMP('{text}')" if "T" in text else f"DATE('{text}')"
    if isinstance(value, Point):
        return f"POINT({_number_text(value.x)} {_number_text(value.y)})"
    if isinstance(value, Shape):
        return value.wkt
    if isinstance(value, Box):
        return "BBOX" + _list([_number_text(edge) for edge in value.bounds()])
    if isinstance(value, Range):
        return _range_text(value)
    if isinstance(value, tuple):
        return _list([constant_text(cast(Value, item)) for item in value])
    return repr(value)


def instant_text(value: object) -> str:
    """An instant as RFC 3339 has it, a date alone at midnight; the text of an open end as it is."""
    return value.isoformat().removesuffix("T00:00:00Z") if isinstance(value, Instant) else str(value)


def _range_text(value: Range) -> str:
    low = None if value.lo in (None, -math.inf) else constant_text(cast(Value, value.lo))
    high = None if value.hi in (None, math.inf) else constant_text(cast(Value, value.hi))
    ends = f"{low} to {high}" if low and high else f"{low} or more" if low else f"{high} or less" if high else "any"
    return f"all of {ends}" if value.contained else ends


def _number_text(value: float) -> str:
    if value.is_integer() and abs(value) <= LARGEST_INTEGER:
        return str(int(value))
    return repr(value)
