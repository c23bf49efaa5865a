"""Writer of canonical CQL2 text: one text for each tree, with the fewest parentheses.

Parsing the text again gives the same tree, for every tree that a parser makes.
"""

from __future__ import annotations

import math
from collections.abc import Set
from typing import Any, cast

from tocsin.errors import InvalidInput
from tocsin.language.operators.operator import listed_text, operator_of
from tocsin.language.tokens import is_plain_name
from tocsin.model.event import Problem, value_of
from tocsin.model.expression import Expression, SomeValue, fold
from tocsin.model.shapes import geojson_of
from tocsin.model.values import LARGEST_INTEGER, UNTYPED, Box, Instant, Point, Range, Shape, Value


def to_text(expression: Expression) -> str:
    """Write an expression as canonical CQL2 text.

    Parameters
    ----------
    expression : Expression
        A tree, as `parse` returns it.

    Returns
    -------
    str
        The text; `parse` reads the same tree from it.

    Examples
    --------
    >>> from tocsin.language import parse
    >>> to_text(parse("not(price<=580.0) or (color in('gold'))"))
    "NOT price <= 580 OR color IN ('gold')"
    """
    return fold(expression, lambda node, parts: operator_of(node).text(node, parts), SomeValue).text


def name_text(name: str) -> str:
    """Write an attribute's name, in double quotes if it needs them.

    >>> name_text("price"), name_text("unit price"), name_text("in")
    ('price', '"unit price"', '"in"')
    """
    return name if is_plain_name(name) else '"' + name.replace('"', '""') + '"'


def quote(value: Any) -> str:
    """Write a Python value as a CQL2 constant, for use inside an expression.

    Parameters
    ----------
    value : str, float, bool, date, datetime, Decimal, geometry or list
        A geometry is a GeoJSON object or a shapely geometry. A list of values becomes what stands behind IN or in
        A_CONTAINS.

    Returns
    -------
    str
        The text; `parse` reads the same value from it.

    Raises
    ------
    InvalidInput
        For None, NaN and infinity, integers beyond 2**53, and values without a type.

    Examples
    --------
    >>> import datetime
    >>> name, day = quote("O'Hara"), quote(datetime.date(2024, 5, 31))
    >>> f"name = {name} AND day >= {day} AND size IN {quote([1, 2.5])}"
    "name = 'O''Hara' AND day >= DATE('2024-05-31') AND size IN (1, 2.5)"
    """
    if isinstance(value, list | tuple | Set) and not isinstance(value, Point | Box):
        return listed_text([quote(item) for item in value])
    problems: list[Problem] = []
    found = value_of(value, "value", problems)
    if problems:
        raise InvalidInput(f"{value!r:.60} cannot be written as a constant: {problems[0].reason}")
    if found is None or found is UNTYPED or isinstance(found, Range):
        raise InvalidInput(f"{value!r:.60} is not a constant; to ask whether a value is missing, write IS NULL")
    return constant_text(found)


def constant_text(value: Value) -> str:
    """Write a value as CQL2 text; a list as an array, a range in words.

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
        return "BBOX" + listed_text([_number_text(edge) for edge in value.bounds()])
    if isinstance(value, Range):
        return _range_text(value)
    if isinstance(value, tuple):
        return listed_text([constant_text(cast(Value, item)) for item in value])
    return repr(value)


def instant_text(value: object) -> str:
    """Write an instant as in RFC 3339; midnight becomes a date alone. The mark of an open end stays as it is."""
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


def constant_json(value: object) -> Any:
    """Write a value as CQL2 JSON.

    >>> constant_json(580.0), constant_json(Point(2.0, 48.5))
    (580, {'type': 'Point', 'coordinates': [2, 48.5]})
    """
    if isinstance(value, float):
        return _number_json(value)
    if isinstance(value, Instant):
        text = instant_text(value)
        return {"timestamp": text} if "T" in text else {"date": text}
    if isinstance(value, Point):
        return {"type": "Point", "coordinates": [_number_json(value.x), _number_json(value.y)]}
    if isinstance(value, Shape):
        return geojson_of(value)
    if isinstance(value, Box):
        return {"bbox": [_number_json(edge) for edge in value.bounds()]}
    return value


def _number_json(value: float) -> float:
    return int(value) if value.is_integer() and abs(value) <= LARGEST_INTEGER else value
