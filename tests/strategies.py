"""Hypothesis strategies for events and expressions, shared by all tests.

Both draw from small pools, and an attribute has a usual type, so that what is asked is often there and often
true. New features extend this file.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Final, Literal, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tocsin.model.expression import (
    ARITHMETIC,
    ARRAY_FUNCTIONS,
    COMPARISONS,
    Arithmetic,
    Array,
    Attribute,
    Between,
    Call,
    Comparison,
    Constant,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    conjunction,
    disjunction,
)
from tocsin.model.values import UNTYPED, Box, Instant, Point, Scalar, Value

Kind: TypeAlias = Literal["number", "string", "boolean", "instant", "list", "place"]

ATTRIBUTES: Final[dict[Kind, tuple[str, ...]]] = {
    "number": ("n", "a.b"),
    "string": ("s", "odd name"),
    "boolean": ("AND", "flag"),
    "instant": ("naïve",),
    "list": ('with"quote', "items.a"),
    "place": ("place",),
}
"""The attributes, by the type that they usually have."""

NAMES: Final = tuple(name for names in ATTRIBUTES.values() for name in names)
SCALAR_KINDS: Final[tuple[Kind, ...]] = ("number", "string", "boolean", "instant")
_ORDERED: Final[tuple[Kind, ...]] = ("number", "number", "string", "instant")

NUMBERS: Final = (1.0, 0.0, 2.0, -1.0, 3.0, 0.5)
EXTREMES: Final = (1e308, -1e308, 5e-324, -0.0, 0.1, 9007199254740992.0)
STRINGS: Final = ("a", "A", "ab", "é", "É", "e", "", "b%", "straße", "STRASSE", "😀")
ODD_STRINGS: Final = ("e\u0301", "a_b", "a\\b", "it's", "a\nb", '"', "｡", "😀a", "a\x00b", "1", "true", "İ")
PATTERN_PARTS: Final = ("a", "b", "e", "é", "A", "%", "%", "_", "\\%", "\\_", "\\\\", "\\a", "ß", "😀")
PATTERNS: Final = ("", "%", "_", "_%", "a%", "%b%", "%e", "__", "%\\%", "STRASSE", "stra%", "%ß_", "A", "É")
REGEXES: Final = (
    "a",
    "^a",
    "b%$",
    "(?i)strasse",
    "é|É",
    "^$",
    "^.$",
    "[a-c]+",
    r"\pL",
    "x*",
    r"\ba\b",
    "(?s)a.b",
)
INSTANTS: Final = tuple(
    map(Instant.parse, ("1970-01-01", "2024-05-31", "2024-05-31T08:15:00Z", "1969-12-31T23:59:59.999999Z"))
)


def attribute_names() -> SearchStrategy[str]:
    """Names of attributes: plain, dotted, and ones that need quotes in CQL2."""
    return st.sampled_from(NAMES)


def _often(usual: SearchStrategy, unusual: SearchStrategy, odds: int = 8) -> SearchStrategy:
    """`usual`, and once in `odds` times `unusual`."""
    return st.integers(1, odds).flatmap(lambda n: unusual if n == odds else usual)


def _chosen(*weighted: tuple[int, SearchStrategy]) -> SearchStrategy:
    """One of the strategies, as often as its weight says."""
    numbers = [number for number, (weight, _) in enumerate(weighted) for _ in range(weight)]
    return st.sampled_from(numbers).flatmap(lambda number: weighted[number][1])


_SCALARS: Final[dict[Kind, SearchStrategy]] = {
    "number": _often(st.sampled_from(NUMBERS), st.sampled_from(EXTREMES)),
    "string": _often(st.sampled_from(STRINGS), st.sampled_from(ODD_STRINGS), odds=4),
    "boolean": st.booleans(),
    "instant": st.sampled_from(INSTANTS),
}
_keywords = _often(st.sampled_from(STRINGS[:4]), _SCALARS["string"], odds=6)
_coordinates = st.sampled_from(NUMBERS)


def scalars() -> SearchStrategy[Scalar]:
    """Numbers, strings, booleans and instants, as the model has them."""
    return st.one_of(*_SCALARS.values())


def points() -> SearchStrategy[Point]:
    return st.builds(Point, _coordinates, _coordinates)


def boxes() -> SearchStrategy[Box]:
    corners = st.tuples(_coordinates, _coordinates).map(sorted)
    return st.tuples(corners, corners).map(lambda xy: Box(xy[0][0], xy[1][0], xy[0][1], xy[1][1]))


def values() -> SearchStrategy[Value]:
    """Any value that a flattened event can have."""
    lists = st.lists(scalars(), max_size=4).map(tuple)
    return st.one_of(scalars(), lists, points(), boxes(), st.just(UNTYPED))


# --- events -------------------------------------------------------------------------------------------------


def _as_sent(number: float) -> SearchStrategy[float | int]:
    """A number as JSON may carry it: 1 and 1.0 are one number."""
    whole = number in NUMBERS and number.is_integer()
    return st.sampled_from((number, int(number))) if whole else st.just(number)


_json_scalars: dict[Kind, SearchStrategy] = {
    "number": _SCALARS["number"].flatmap(_as_sent),
    "string": _SCALARS["string"],
    "boolean": st.booleans(),
    "instant": st.sampled_from([moment.isoformat() for moment in INSTANTS]),
}
_json_scalar = st.one_of(*_json_scalars.values())
_json_point = st.tuples(_coordinates, _coordinates).map(lambda xy: {"type": "Point", "coordinates": list(xy)})
_json_list = _chosen(
    (5, st.lists(_keywords, max_size=4)),
    (3, st.lists(_json_scalars["number"], max_size=4)),
    (2, st.lists(st.one_of(_json_scalar, st.none()), max_size=4)),
)
_json_place = _chosen(
    (5, _json_point),
    (3, st.lists(_coordinates, min_size=2, max_size=2)),
    (3, boxes().map(lambda box: list(box.bounds()))),
    (1, st.lists(_coordinates, min_size=1, max_size=5)),
)
_json_kinds: dict[Kind, SearchStrategy] = {**_json_scalars, "list": _json_list, "place": _json_place}
_BEYOND: Final = (float("inf"), float("-inf"), 2**60, -(2**53) - 1)
_ODD_LISTS: Final = (
    [1, float("inf")],
    ["a", 2**60],
    [["a"]],
    ["a", {"x": 1}],
    [{"type": "Point", "coordinates": [0, 1]}],
)
_ODD_PLACES: Final = (
    {"type": "Point", "coordinates": [0, 1, 2]},
    {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]},
    {"type": "GeometryCollection", "geometries": []},
)
_json_any = _chosen(
    (2, st.none()),
    (4, st.one_of(*_json_kinds.values())),
    (1, st.sampled_from(({}, {"type": "Point"}, [{}], [{"b": 1}, {"b": [2, "a"]}]))),
    (3, st.sampled_from((*_BEYOND, *_ODD_LISTS, *_ODD_PLACES))),
)

_MOMENTS: Final = (
    dt.date(2024, 5, 31),
    dt.datetime(2024, 5, 31, 8, 15),
    dt.datetime(2024, 5, 31, 10, 15, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    dt.date(1970, 1, 1),
    Instant(-1),
)
_python_kinds: dict[Kind, SearchStrategy] = {
    **_json_kinds,
    "number": _often(_json_kinds["number"], st.sampled_from([Decimal("0.5"), Decimal("0.1"), Decimal(2)])),
    "instant": st.sampled_from(_MOMENTS),
    "list": _often(_json_kinds["list"], st.sets(_keywords, max_size=3), odds=3),
    "place": _often(_json_kinds["place"], st.one_of(points(), boxes()), odds=4),
}
_NOT_FINITE: Final = (float("nan"), Decimal("NaN"), Decimal("Infinity"))
_ODD_VALUES: Final = (*_NOT_FINITE, "\ud800", b"a", [float("nan"), 1], ("a", None), {True, "a"})
_python_any = _chosen((3, _json_any), (1, st.sampled_from(_MOMENTS)), (2, st.sampled_from(_ODD_VALUES)))


def json_events() -> SearchStrategy[dict[str, object]]:
    """Events as a JSON parser gives them; never a bad event. `json_text` writes them again."""
    return _events(_json_kinds, _json_any)


def python_events() -> SearchStrategy[dict[str, object]]:
    """Events as a Python program may give them: also dates, Decimals, NaN, sets and model values."""
    return _events(_python_kinds, _python_any)


def bad_events() -> SearchStrategy[dict[object, object]]:
    """Events that cannot be used as a whole: an attribute in two forms, or a name that is no string."""
    clashes = ({"a.b": 1, "a": {"b": 2}}, {"x": {"a.b": 1, "a": {"b": 1}}}, {"a": [{"b": 1}], "a.b": [2]})
    return st.sampled_from((*clashes, {1: "a"}, {"a": {None: 1}}))


def json_text(event: Mapping[str, object]) -> str:
    """An event of `json_events` as JSON text; infinity is written 1e400, since JSON has no word for it."""
    return json.dumps(event, ensure_ascii=False).replace("Infinity", "1e400")


@st.composite
def _events(draw: DrawFn, kinds: Mapping[Kind, SearchStrategy], other: SearchStrategy) -> dict[str, object]:
    """Each attribute is present four times in five, and then usually of its usual type."""
    event: dict[str, object] = {}
    for kind, names in ATTRIBUTES.items():
        for name in names:
            if draw(st.integers(0, 4)):
                event[name] = draw(_often(kinds[kind], other, odds=9))
    return _nested(draw, event)


def _nested(draw: DrawFn, event: dict[str, object]) -> dict[str, object]:
    """The event with some of its dotted attributes in the nested form."""
    if "a.b" in event and draw(st.booleans()):
        event["a"] = {"c": None, "b": event.pop("a.b")}
    shape = draw(st.sampled_from(("dotted", "object", "objects")))
    if "items.a" in event and shape == "object":
        event["items"] = {"a": event.pop("items.a")}
    elif "items.a" in event and shape == "objects":
        event["items"] = [{"a": event.pop("items.a")}, {}, {"a": "a", "b": {"c": 3}}]
    return event


# --- expressions --------------------------------------------------------------------------------------------


def expressions(max_depth: int = 6, sql_only: bool = False) -> SearchStrategy[Expression]:
    """Valid expressions of at most `max_depth` nodes from the root to a leaf.

    `sql_only` leaves out what SQL lacks: array and spatial functions, MATCHES, CASEI and ACCENTI.
    """
    return _conditions(max_depth, sql_only)


@cache
def _conditions(depth: int, sql_only: bool) -> SearchStrategy[Expression]:
    leaf = _chosen((5, _attributes("boolean")), (1, st.booleans().map(Constant)))
    if depth == 1:
        return leaf
    predicates = _predicates(depth, sql_only)
    inner = st.deferred(lambda: _conditions(depth - 1, sql_only))
    several = st.lists(inner, min_size=2, max_size=3)
    return _chosen(
        (1, leaf),
        (5, predicates),
        (2, inner.map(Not)),
        (2, several.map(conjunction)),
        (2, several.map(disjunction)),
    )


@cache
def _predicates(depth: int, sql_only: bool) -> SearchStrategy[Expression]:
    kinds = [
        (8, _comparisons(depth, sql_only)),
        (3, _memberships(depth, sql_only)),
        (2, _ranges(depth, sql_only)),
        (3, _likes(depth, sql_only)),
        (1, _nulls(depth, sql_only)),
    ]
    if not sql_only:
        kinds += [(2, _places()), (2, _regexes())]
        kinds += [(4, _arrays())] if depth > 2 else []
    return _chosen(*kinds)


def comparisons_with_constants(max_depth: int = 4) -> SearchStrategy[Expression]:
    """Expressions of nothing but attributes that are compared with constants, and AND, OR and NOT."""
    return _compared(max_depth)


@cache
def _compared(depth: int) -> SearchStrategy[Expression]:
    predicates = st.sampled_from(("number", "number", "number", "string", "boolean", "instant")).flatmap(_compared_leaf)
    if depth == 1:
        return predicates
    several = st.lists(_compared(depth - 1), min_size=2, max_size=4)
    return _chosen(
        (4, predicates),
        (1, _compared(depth - 1).map(Not)),
        (4, several.map(conjunction)),
        (1, several.map(disjunction)),
    )


def _compared_leaf(kind: Kind) -> SearchStrategy[Expression]:
    attribute, constant = _attributes(kind), _SCALARS[kind].map(Constant)
    pair = st.tuples(constant, constant).map(lambda two: sorted(two, key=lambda one: one.value))
    operators = ("=", "=", "<>") if kind in ("boolean", "string") else COMPARISONS
    choices = [
        (3, st.builds(Comparison, st.sampled_from(operators), attribute, constant)),
        (2, st.builds(In, attribute, st.lists(constant, min_size=1, max_size=3).map(tuple))),
    ]
    if kind == "number":
        choices.append((2, st.tuples(attribute, pair).map(lambda one: Between(one[0], *one[1]))))
    return _chosen(*choices)


def _attributes(kind: Kind) -> SearchStrategy[Expression]:
    """Attributes that are usually of a kind."""
    return _often(st.sampled_from(ATTRIBUTES[kind]), attribute_names(), odds=14).map(Attribute)


def _constants(kind: Kind) -> SearchStrategy[Expression]:
    return _often(_SCALARS[kind], scalars(), odds=14).map(Constant)


@cache
def _scalars_of(kind: Kind, depth: int, sql_only: bool) -> SearchStrategy[Expression]:
    """What may stand beside a comparison's operator, and is not a constant."""
    choices = [(8, _attributes(kind))]
    if kind == "number" and depth > 1:
        choices.append((4, _arithmetic(depth)))
    if kind == "boolean" and depth > 1:
        choices.append((8, st.deferred(lambda: _conditions(depth, sql_only))))
    if kind == "string" and depth > 1 and not sql_only:
        choices.append((3, _folded(_attributes("string"), depth)))
    return _chosen(*choices)


@cache
def _arithmetic(depth: int) -> SearchStrategy[Expression]:
    inner = _often(_attributes("number"), _SCALARS["number"].map(Constant), odds=2)
    if depth > 2:
        inner = _often(inner, st.deferred(lambda: _arithmetic(depth - 1)), odds=4)
    return st.builds(Arithmetic, st.sampled_from(ARITHMETIC), inner, inner)


def _folded(text: SearchStrategy[Expression], depth: int) -> SearchStrategy[Expression]:
    """Text inside CASEI or ACCENTI, or in both."""
    once = st.builds(Call, st.sampled_from(("CASEI", "ACCENTI")), st.tuples(text))
    return _often(once, _folded(once, depth - 1), odds=4) if depth > 2 else once


@st.composite
def _comparisons(draw: DrawFn, depth: int, sql_only: bool) -> Expression:
    kind = draw(st.sampled_from(("number", "string", *SCALAR_KINDS)))
    scalar = _scalars_of(kind, depth - 1, sql_only)
    left, right = draw(scalar), draw(_often(_constants(kind), scalar, odds=4))
    if isinstance(left, Call) and isinstance(right, Constant) and isinstance(right.value, str) and depth > 2:
        right = draw(_folded(st.just(right), 2))
    if draw(st.integers(0, 3)) == 3:
        left, right = right, left
    return Comparison(draw(st.sampled_from(COMPARISONS)), left, right)


@st.composite
def _memberships(draw: DrawFn, depth: int, sql_only: bool) -> Expression:
    kind = draw(st.sampled_from(SCALAR_KINDS))
    item = _often(_constants(kind), _scalars_of(kind, depth - 1, sql_only), odds=8)
    items = tuple(draw(st.lists(item, min_size=1, max_size=4)))
    return In(draw(_scalars_of(kind, depth - 1, sql_only)), items)


@st.composite
def _ranges(draw: DrawFn, depth: int, sql_only: bool) -> Expression:
    kind = draw(st.sampled_from(_ORDERED))
    bound = _often(_constants(kind), _scalars_of(kind, depth - 1, sql_only), odds=6)
    low, high = draw(bound), draw(bound)
    if isinstance(low, Constant) and isinstance(high, Constant) and type(low.value) is type(high.value):
        falling = draw(st.integers(0, 5)) == 5
        low, high = sorted((low, high), key=lambda constant: constant.value, reverse=falling)  # type: ignore[arg-type, return-value]
    return Between(draw(_scalars_of(kind, depth - 1, sql_only)), low, high)


@st.composite
def _likes(draw: DrawFn, depth: int, sql_only: bool) -> Expression:
    pattern = draw(_chosen((3, st.sampled_from(PATTERNS)), (2, _cut_strings()), (2, _random_patterns())))
    operand: Expression = draw(_attributes("string"))
    template: Expression = Constant(pattern)
    if depth > 2 and not sql_only and draw(st.booleans()):
        operand = draw(_folded(st.just(operand), depth - 1))
        template = draw(_folded(st.just(template), depth - 1))
    return Like(operand, template)


def _cut_strings() -> SearchStrategy[str]:
    """Patterns made of a string of the pool: one code point any, or the beginning, or the end."""
    cuts = (lambda s: "_" + s[1:], lambda s: s[:-1] + "_", lambda s: s[:1] + "%", lambda s: "%" + s[-1:])
    return st.tuples(st.sampled_from(STRINGS), st.sampled_from(cuts)).map(lambda two: two[1](two[0]))


def _random_patterns() -> SearchStrategy[str]:
    return st.lists(st.sampled_from(PATTERN_PARTS), max_size=4).map("".join)


def _nulls(depth: int, sql_only: bool) -> SearchStrategy[Expression]:
    kind = st.sampled_from(SCALAR_KINDS)
    computed = kind.flatmap(lambda kind: _scalars_of(kind, depth - 1, sql_only))
    return st.one_of(attribute_names().map(Attribute), computed).map(IsNull)


def _arrays() -> SearchStrategy[Expression]:
    usual = _chosen((5, _keywords), (1, _SCALARS["number"]), (1, scalars()))
    array = st.lists(usual.map(Constant), max_size=3).map(lambda items: Array(tuple(items)))
    pair = st.tuples(_attributes("list"), _often(array, _attributes("list"), odds=4))
    either = st.one_of(pair, pair.map(lambda two: (two[1], two[0])))
    return st.builds(Call, st.sampled_from(ARRAY_FUNCTIONS), either)


def _places() -> SearchStrategy[Expression]:
    region = _chosen((4, boxes().map(Constant)), (1, points().map(Constant)), (1, _attributes("place")))
    pair = st.tuples(_attributes("place"), region)
    either = _often(pair, pair.map(lambda two: (two[1], two[0])), odds=3)
    return st.builds(Call, st.just("S_INTERSECTS"), either)


def _regexes() -> SearchStrategy[Expression]:
    pair = st.tuples(_attributes("string"), st.sampled_from(REGEXES).map(Constant))
    return st.builds(Call, st.just("MATCHES"), pair)
