"""Parser and writer of CQL2 JSON.

The parser walks down once without recursion and notes what each place will become. It then makes the nodes from the
last to the first, so that every node finds its parts made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, NoReturn, TypeAlias, cast

from tocsin.errors import ExpressionError, UnsupportedError
from tocsin.language import geometry_rules, rules
from tocsin.language.functions import SHAPES, unknown_function
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.array import array
from tocsin.language.operators.operator import OPERATIONS, Json, Make, operator_of
from tocsin.language.operators.temporal import interval
from tocsin.language.rules import too_deep
from tocsin.language.tokens import too_many_nodes
from tocsin.model.distinct_keys import DuplicateKey, object_of
from tocsin.model.expression import MAX_DEPTH, MAX_NODES, Constant, Expression, SomeValue, fold
from tocsin.model.values import LARGEST_INTEGER


class _Place(NamedTuple):
    """The position of a part in the document: a step below another place."""

    above: _Place | None
    step: str
    depth: int

    def __str__(self) -> str:
        steps = []
        place: _Place | None = self
        while place is not None and place.above is not None:
            steps.append(place.step)
            place = place.above
        return "".join(reversed(steps)).removeprefix(".")


class _Plan(NamedTuple):
    """What a place will become: `make(its parts)`."""

    place: _Place
    make: Make
    parts: int


def parse_json(document: Json) -> Expression:
    """Parse decoded CQL2 JSON.

    Parameters
    ----------
    document : dict, list, str, float or bool
        The JSON, as `json.loads` returns it.

    Returns
    -------
    Expression
        The tree.

    Raises
    ------
    ExpressionError
        If the document is not an expression; the error has the path to the place.
    UnsupportedError
        If it uses a feature that this version does not evaluate.

    Examples
    --------
    >>> parse_json({"op": "<=", "args": [{"property": "price"}, 580]})
    Comparison(op='<=', left=Attribute(name='price'), right=Constant(value=580.0))
    """
    plans = _plan(document)
    made: list[Expression] = []
    places: dict[int, tuple[_Place, Expression]] = {}
    for plan in reversed(plans):
        parts: list[Expression] = []
        if plan.parts:
            parts = made[-plan.parts :]
            parts.reverse()
            del made[-plan.parts :]
        node = _made(plan, parts, places)
        places[id(node)] = plan.place, node  # keeping the node keeps its id unique
        made.append(node)
    try:
        root = rules.whole(made[0])
    except Misplaced as error:
        _refuse(error, plans[0].place)
    rules.check_size(root)
    return root


def _made(plan: _Plan, parts: list[Expression], places: dict[int, tuple[_Place, Expression]]) -> Expression:
    try:
        return plan.make(parts)
    except Misplaced as error:
        known = places.get(id(error.node)) if error.node is not None else None
        _refuse(error, known[0] if known else plan.place)


def _refuse(error: Misplaced, place: _Place) -> NoReturn:
    kind = UnsupportedError if error.unsupported else ExpressionError
    path = str(place)
    raise kind(f"at {path}: {error.reason}" if path else error.reason) from None


# ---- from the document down to the plans


def _plan(document: Json) -> list[_Plan]:
    """Plan what every place will become, parents before their parts."""
    plans: list[_Plan] = []
    stack: list[tuple[Json, _Place, bool]] = [(document, _Place(None, "", 1), False)]
    while stack:
        value, place, array_allowed = stack.pop()
        if place.depth > MAX_DEPTH:
            raise ExpressionError(too_deep(place.depth).replace("nests", "nests at least"))
        if len(plans) > MAX_NODES:
            raise too_many_nodes()
        try:
            make, parts = _read(value, array_allowed)
        except Misplaced as error:
            _refuse(error, place)
        plans.append(_Plan(place, make, len(parts)))
        for step, part, arrays in reversed(parts):
            stack.append((part, _Place(place, step, place.depth + 1), arrays))
    return plans


_Parts: TypeAlias = list[tuple[str, Json, bool]]
"""Steps, parts, and whether an array is allowed there."""


def _read(value: Json, array_allowed: bool) -> tuple[Make, _Parts]:
    if isinstance(value, Mapping):
        return _read_object(value)
    if isinstance(value, list | tuple):
        if not array_allowed:
            raise Misplaced("an array is not allowed here; it is an argument of functions such as a_contains")
        return array, [(f"[{i}]", item, True) for i, item in enumerate(value)]
    return _constant(_literal(value)), []


def _literal(value: Json) -> Constant:
    if isinstance(value, bool):
        return Constant(value)
    if isinstance(value, str):
        return Constant(_text(value))
    if isinstance(value, int | float):
        return _number(value)
    if value is None:
        raise Misplaced("null is not a value; to ask whether a value is missing, use the operator isNull")
    raise Misplaced(
        f"{type(value).__name__} is not a type of JSON; write numbers, strings, booleans, arrays and objects"
    )


def _number(value: float) -> Constant:
    if isinstance(value, int):
        if abs(value) > LARGEST_INTEGER:
            shown = str(value) if abs(value) < 10**40 else "an integer of more than 40 digits"
            raise Misplaced(f"{shown} cannot be represented exactly; write it as a string")
        return Constant(float(value))
    return rules.number(float(value), repr(value), is_integer=False)


def _text(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Misplaced("a string with half of a surrogate pair is not valid Unicode") from None
    return value


def _constant(node: Expression) -> Make:
    return lambda _parts: node


def _read_object(value: Mapping[str, Json]) -> tuple[Make, _Parts]:
    if "op" in value:
        return _read_operation(value)
    if "property" in value:
        name = value["property"]
        if not isinstance(name, str) or not name:
            raise Misplaced("a property is a name: a string that is not empty")
        return _constant(rules.attribute(_text(name))), []
    if "interval" in value:
        ends = value["interval"]
        if not isinstance(ends, list | tuple):
            raise Misplaced("interval needs an array of two: dates or timestamps as strings, '..' or properties")
        return interval, [(f".interval[{i}]", end, False) for i, end in enumerate(ends)]
    for key, make in _LITERALS.items():
        if key in value:
            return _constant(make(value)), []
    keys = ", ".join(sorted(map(repr, value)))[:80] or "no keys"
    raise Misplaced(
        "expected an object with op and args, or property, date, timestamp, bbox, or a GeoJSON Point; "
        f"this one has {keys}"
    )


def _date(value: Mapping[str, Json]) -> Constant:
    return rules.date(_string_of(value, "date"))


def _timestamp(value: Mapping[str, Json]) -> Constant:
    return rules.timestamp(_string_of(value, "timestamp"))


def _string_of(value: Mapping[str, Json], key: str) -> str:
    if not isinstance(value[key], str):
        raise Misplaced(f"{key} needs a string such as '2024-05-31'")
    return cast(str, value[key])


def _box(value: Mapping[str, Json]) -> Constant:
    return geometry_rules.box(_numbers(value["bbox"], "bbox"))


def _geometry(value: Mapping[str, Json]) -> Constant:
    kind = value["type"]
    if kind == "Point":
        return geometry_rules.point(_numbers(value.get("coordinates"), "coordinates"))
    if isinstance(kind, str) and kind.upper() in SHAPES:
        return geometry_rules.geojson_shape(dict(value))
    raise Misplaced(f"{str(kind)[:40]!r} is not a type of GeoJSON geometry, such as Point or Polygon")


def _numbers(values: Json, key: str) -> list[float]:
    if not isinstance(values, list | tuple) or not all(type(value) in (int, float) for value in values):
        raise Misplaced(f"{key} needs an array of numbers")
    return [cast(float, _number(value).value) for value in values]


# A GeoJSON Point may have its own bbox, so `type` comes before `bbox`.
_LITERALS: Final[dict[str, Callable[[Mapping[str, Json]], Constant]]] = {
    "date": _date,
    "timestamp": _timestamp,
    "type": _geometry,
    "bbox": _box,
}


def _read_operation(value: Mapping[str, Json]) -> tuple[Make, _Parts]:
    op, args = value["op"], value.get("args")
    if not isinstance(op, str):
        raise Misplaced("op needs a string, such as 'and' or '='")
    operation = OPERATIONS.get(op.upper())
    if operation is None:
        raise Misplaced(unknown_function(op).replace("function", "operator or function"))
    if not isinstance(args, list | tuple):
        raise Misplaced(f"{op} needs args, an array")
    count = operation.takes
    if count is not None and len(args) != count:
        raise Misplaced(f"{op} takes {count} {'argument' if count == 1 else 'arguments'}, not {len(args)}")
    if not args and count != 0:
        raise Misplaced(f"{op} needs arguments")
    if operation.ends_in_list:
        *args, items = args
        if not isinstance(items, list | tuple):
            raise Misplaced(f"the {_ORDINALS[len(args)]} argument of {op} is an array of values")
        last = [(f".args[{len(args)}][{i}]", item, False) for i, item in enumerate(items)]
    else:
        last = []
    parts = [(f".args[{i}]", arg, operation.takes_arrays) for i, arg in enumerate(args)]
    return operation.make, [*parts, *last]


_ORDINALS: Final = ("first", "second", "third")


def decode(text: str) -> Json:
    """Decode a JSON document. Raises `ExpressionError` if the text is not JSON."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=object_of)
    except json.JSONDecodeError as error:
        raise ExpressionError(f"this is not JSON: {error.msg}", text, error.pos) from None
    except DuplicateKey as error:
        raise ExpressionError(str(error)) from None
    except ExpressionError:  # raised by object_pairs_hook; it is a ValueError too
        raise
    except RecursionError:
        raise ExpressionError(
            f"the JSON is nested too deep; at most {MAX_DEPTH} levels of expressions are allowed"
        ) from None
    except ValueError:  # an integer of thousands of digits
        raise ExpressionError("an integer in the JSON cannot be represented exactly; write a string") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ExpressionError(f"{name} is not a number that can be compared")


# ---- from the expression back to the document


def to_json(expression: Expression) -> Json:
    """Write an expression as CQL2 JSON.

    Parameters
    ----------
    expression : Expression
        A tree, as `parse` returns it.

    Returns
    -------
    dict, list, str, float or bool
        Values that `json.dumps` writes.

    Examples
    --------
    >>> from tocsin.language import parse
    >>> to_json(parse("price <= 580"))
    {'op': '<=', 'args': [{'property': 'price'}, 580]}
    """
    return fold(expression, lambda node, parts: operator_of(node).json(node, parts), SomeValue)
