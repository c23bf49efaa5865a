"""Expressions that are valid, over the attributes and values that events have."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.strategies.operands import (
    PRESENT_TIME,
    apart,
    arithmetic,
    attributes,
    constants,
    folded,
    moved,
    shown,
    spelled,
)
from tests.strategies.pools import (
    ADDRESSES,
    ATTRIBUTES,
    DURATIONS,
    KEYWORDS,
    LIST,
    NETWORKS,
    ORDERED,
    PATTERN_PARTS,
    PATTERNS,
    QUERIES,
    REGEXES,
    SCALAR_KINDS,
    SCALARS,
    STRINGS,
    VERSIONS,
    Kind,
    attribute_names,
    boxes,
    chosen,
    often,
    points,
    scalars,
)
from tocsin.language.operators.array import ARRAY_FUNCTIONS
from tocsin.language.operators.operator import FUNCTIONS
from tocsin.language.operators.temporal import TEMPORAL_FUNCTIONS
from tocsin.model.expression import (
    COMPARISONS,
    EVERYTHING,
    OPEN_END,
    AnyAttribute,
    AnyElement,
    Array,
    Attribute,
    Between,
    Call,
    Comparison,
    Constant,
    EachElement,
    ElementAt,
    Expression,
    In,
    Interval,
    IsNull,
    Like,
    Not,
    conjunction,
    disjunction,
    fold,
    walk,
)


def expressions(max_depth: int = 6, sql_only: bool = False) -> SearchStrategy[Expression]:
    """Valid expressions of at most `max_depth` nodes from the root to a leaf, which an interval is, too.

    `sql_only` leaves out what SQL lacks: array and spatial functions, MATCHES, TEXT, CASEI and ACCENTI.
    """
    return _conditions(max_depth, sql_only)


@cache
def _conditions(depth: int, sql_only: bool) -> SearchStrategy[Expression]:
    leaf = chosen((5, attributes("boolean")), (1, st.booleans().map(Constant)))
    if depth == 1:
        return leaf
    predicates = _predicates(depth, sql_only)
    inner = st.deferred(lambda: _conditions(depth - 1, sql_only))
    several = st.lists(inner, min_size=2, max_size=3)
    return chosen(
        (1, leaf),
        (5, predicates),
        (2, inner.map(Not)),
        *([] if sql_only else [(1, inner.map(_holds))]),
        (2, several.map(conjunction)),
        (2, several.map(disjunction)),
        *([] if sql_only else [(1, _at_least(inner))]),
    )


@st.composite
def _at_least(draw: DrawFn, inner: SearchStrategy[Expression]) -> Expression:
    conditions = draw(st.lists(inner, min_size=1, max_size=5))
    return Call("AT_LEAST", (Constant(float(draw(st.integers(1, len(conditions))))), *conditions))


@cache
def _predicates(depth: int, sql_only: bool) -> SearchStrategy[Expression]:
    kinds = [
        (8, _comparisons(depth, sql_only)),
        (3, _memberships(depth, sql_only)),
        (2, _ranges(depth, sql_only)),
        (3, _likes(depth, sql_only)),
        (2, _nulls(depth, sql_only)),
    ]
    if not sql_only:
        kinds += [(2, _places()), (2, _regexes()), (2, _times()), (3, _texts()), (2, _addresses(depth))]
        kinds += [(4, _arrays())] if depth > 2 else []
    return chosen(*kinds)


def expressions_about_elements(max_depth: int = 4) -> SearchStrategy[Expression]:
    """Expressions of which nearly all ask something of any element of a list, also of lists in lists."""
    return _about_elements(max_depth, 2)


@cache
def _about_elements(depth: int, levels: int) -> SearchStrategy[Expression]:
    within = _conditions(3, False)
    inner = chosen((3, within), (2, _about_elements(2, levels - 1))) if levels else within
    texts = chosen((3, _compared(2).map(_of_element)), (1, st.just(Attribute("element"))))
    position = st.integers(-3, 2).map(lambda at: Constant(float(at)))
    field = chosen((3, attribute_names().map(Attribute)), (1, st.just(Attribute("element"))))
    field = chosen((4, field), (1, st.builds(ElementAt, st.just(Attribute(LIST)), position, field)))
    lists = chosen((3, st.just(Attribute(LIST))), (2, attributes("list")))
    computed = chosen(
        (3, st.builds(ElementAt, lists, position, field)), (1, lists.map(lambda one: Call("LENGTH", (one,))))
    )
    asked = chosen(
        (2, st.builds(Comparison, st.sampled_from(COMPARISONS), computed, scalars().map(Constant))),
        (1, st.builds(Comparison, st.sampled_from(COMPARISONS), computed, computed)),
        (1, st.builds(In, computed, st.lists(scalars().map(Constant), min_size=1, max_size=3).map(tuple))),
        (1, computed.map(IsNull)),
        (4, st.builds(AnyElement, st.just(Attribute(LIST)), inner)),
        (2, st.builds(AnyElement, attributes("list"), texts)),
        (1, st.builds(AnyElement, attribute_names().map(Attribute), inner)),
        (1, st.builds(AnyAttribute, st.just(Attribute(EVERYTHING)), texts)),
        (1, st.builds(EachElement, attributes("list"), texts)),
        (2, st.builds(_some, st.just(Attribute(LIST)), inner)),
        (2, st.builds(_some, attributes("list"), texts)),
    )
    if depth == 1:
        return asked
    again = st.deferred(lambda: _about_elements(depth - 1, levels))
    several = st.lists(often(again, within, odds=4), min_size=2, max_size=3)
    return chosen(
        (5, asked),
        (2, st.builds(EachElement, st.just(Attribute(LIST)), inner)),
        (2, again.map(Not)),
        (2, several.map(conjunction)),
        (2, several.map(disjunction)),
        (1, again.map(IsNull)),
        (
            1,
            st.builds(Comparison, st.sampled_from(("=", "<>")), again, st.one_of(again, st.booleans().map(Constant))),
        ),
    )


def _holds(condition: Expression) -> Expression:
    return Call("HOLDS", (condition,))


def _some(items: Attribute, condition: Expression) -> Expression:
    if any(isinstance(node, AnyAttribute) for node in walk(condition)):
        return AnyElement(items, condition)  # ANY_ATTRIBUTE cannot stand in SOME
    return FUNCTIONS["SOME"].call("SOME", (items, condition))


def _of_element(tree: Expression) -> Expression:
    """The same about an element that is no object: of every attribute it is the one."""
    return fold(tree, _about_element)


def _about_element(node: Expression, parts: Sequence[Expression]) -> Expression:
    if isinstance(node, Attribute):
        return Attribute("element")
    if isinstance(node, Comparison):
        return Comparison(node.op, *parts)
    if isinstance(node, In):
        return In(parts[0], tuple(parts[1:]))
    if isinstance(node, Between):
        return Between(*parts)
    if isinstance(node, Not):
        return Not(*parts)
    return type(node)(tuple(parts)) if parts else node  # type: ignore[call-arg]


def comparisons_with_constants(max_depth: int = 4) -> SearchStrategy[Expression]:
    """Expressions of nothing but attributes that are compared with constants, and AND, OR and NOT."""
    return _compared(max_depth)


@cache
def _compared(depth: int) -> SearchStrategy[Expression]:
    predicates = st.sampled_from(("number", "number", "number", "string", "boolean", "instant")).flatmap(_compared_leaf)
    if depth == 1:
        return predicates
    several = st.lists(_compared(depth - 1), min_size=2, max_size=4)
    return chosen(
        (4, predicates),
        (1, _compared(depth - 1).map(Not)),
        (4, several.map(conjunction)),
        (1, several.map(disjunction)),
    )


def conjunctions_of_clauses() -> SearchStrategy[Expression]:
    """ANDs of ORs of attributes that are compared with constants, or are not; some attributes come in several."""
    predicate = _compared(1)
    literal = chosen((3, predicate), (1, predicate.map(Not)))
    clause = st.lists(literal, min_size=1, max_size=4).map(disjunction)
    return st.lists(clause, min_size=2, max_size=5).map(conjunction)


def _compared_leaf(kind: Kind) -> SearchStrategy[Expression]:
    attribute, constant = attributes(kind), SCALARS[kind].map(Constant)
    pair = st.tuples(constant, constant).map(lambda two: sorted(two, key=lambda one: one.value))
    operators = ("=", "=", "<>") if kind in ("boolean", "string") else COMPARISONS
    choices = [
        (3, st.builds(Comparison, st.sampled_from(operators), attribute, constant)),
        (2, st.builds(In, attribute, st.lists(constant, min_size=1, max_size=3).map(tuple))),
    ]
    if kind == "number":
        choices.append((2, st.tuples(attribute, pair).map(lambda one: Between(one[0], *one[1]))))
    return chosen(*choices)


@cache
def _scalars_of(kind: Kind, depth: int, sql_only: bool) -> SearchStrategy[Expression]:
    """What may stand beside a comparison's operator, and is not a constant."""
    choices = [(8, attributes(kind))]
    if depth > 1 and not sql_only:
        choices.append((2, attributes(kind).map(lambda name: Call("OUTER", (name,)))))
    if kind == "number" and depth > 1:
        choices.append((4, arithmetic(depth)))
        if not sql_only:
            choices.append((1, attributes("string").map(lambda text: Call("LENGTH", (text,)))))
    if kind == "number" and not sql_only and depth > 1:
        choices.append((2, often(attribute_names(), st.sampled_from(ATTRIBUTES["string"]), odds=2).map(spelled)))
        choices.append((2, shown("HOUR", "WEEKDAY")))
        choices.append((2, apart()))
        choices.append((1, st.sampled_from(DURATIONS).map(lambda text: Call("DURATION", (Constant(text),)))))
    if kind == "instant" and not sql_only and depth > 1:
        choices.append((3, shown("DATE_OF")))
        choices.append((3, moved(depth)))
        choices.append((2, st.just(PRESENT_TIME)))
    if kind == "boolean" and depth > 1:
        choices.append((8, st.deferred(lambda: _conditions(depth, sql_only))))
    if kind == "string" and depth > 1 and not sql_only:
        choices.append((3, folded(attributes("string"), depth)))
    return chosen(*choices)


@st.composite
def _comparisons(draw: DrawFn, depth: int, sql_only: bool) -> Expression:
    kind = draw(st.sampled_from(("number", "string", *SCALAR_KINDS)))
    scalar = _scalars_of(kind, depth - 1, sql_only)
    left, right = draw(scalar), draw(often(constants(kind), scalar, odds=4))
    if isinstance(left, Call) and isinstance(right, Constant) and isinstance(right.value, str) and depth > 2:
        right = draw(folded(st.just(right), 2))
    if draw(st.integers(0, 3)) == 3:
        left, right = right, left
    return Comparison(draw(st.sampled_from(COMPARISONS)), left, right)


@st.composite
def _memberships(draw: DrawFn, depth: int, sql_only: bool) -> Expression:
    kind = draw(st.sampled_from(SCALAR_KINDS))
    item = often(constants(kind), _scalars_of(kind, depth - 1, sql_only), odds=8)
    items = tuple(draw(st.lists(item, min_size=1, max_size=4)))
    return In(draw(_scalars_of(kind, depth - 1, sql_only)), items)


@st.composite
def _ranges(draw: DrawFn, depth: int, sql_only: bool) -> Expression:
    kind = draw(st.sampled_from(ORDERED))
    bound = often(constants(kind), _scalars_of(kind, depth - 1, sql_only), odds=6)
    low, high = draw(bound), draw(bound)
    if isinstance(low, Constant) and isinstance(high, Constant) and type(low.value) is type(high.value):
        falling = draw(st.integers(0, 5)) == 5
        low, high = sorted((low, high), key=lambda constant: constant.value, reverse=falling)  # type: ignore[arg-type, return-value]
    return Between(draw(_scalars_of(kind, depth - 1, sql_only)), low, high)


@st.composite
def _likes(draw: DrawFn, depth: int, sql_only: bool) -> Expression:
    pattern = draw(chosen((3, st.sampled_from(PATTERNS)), (2, _cut_strings()), (2, _random_patterns())))
    operand: Expression = draw(attributes("string"))
    template: Expression = Constant(pattern)
    if depth > 2 and not sql_only and draw(st.booleans()):
        operand = draw(folded(st.just(operand), depth - 1))
        template = draw(folded(st.just(template), depth - 1))
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
    is_null = st.one_of(attribute_names().map(Attribute), computed).map(IsNull)
    return (
        is_null
        if sql_only
        else st.one_of(is_null, attribute_names().map(lambda name: Call("GIVEN", (Attribute(name),))))
    )


def _arrays() -> SearchStrategy[Expression]:
    usual = chosen((5, KEYWORDS), (1, SCALARS["number"]), (1, scalars()))
    element = often(usual.map(Constant), attribute_names().map(Attribute), odds=6)
    array = st.lists(element, max_size=3).map(lambda items: Array(tuple(items)))
    pair = st.tuples(attributes("list"), often(array, attributes("list"), odds=4))
    either = st.one_of(pair, pair.map(lambda two: (two[1], two[0])))
    return st.builds(Call, st.sampled_from(ARRAY_FUNCTIONS), either)


def _places() -> SearchStrategy[Expression]:
    region = chosen((4, boxes().map(Constant)), (1, points().map(Constant)), (1, attributes("place")))
    pair = st.tuples(attributes("place"), region)
    either = often(pair, pair.map(lambda two: (two[1], two[0])), odds=3)
    return st.builds(Call, st.just("S_INTERSECTS"), either)


def _times() -> SearchStrategy[Expression]:
    """Temporal functions of instants and intervals, with ends that are open, and attributes at either."""
    instant = attributes("instant")
    constants = SCALARS["instant"].map(Constant)
    ends = st.tuples(constants, constants).map(lambda two: sorted(two, key=lambda one: one.value))
    interval = chosen(
        (4, ends.map(lambda two: Interval(*two))),
        (1, constants.map(lambda one: Interval(one, OPEN_END))),
        (1, constants.map(lambda one: Interval(OPEN_END, one))),
        (1, st.just(Interval(OPEN_END, OPEN_END))),
        (3, st.builds(Interval, instant, attributes("instant"))),
        (1, instant.map(lambda one: Interval(one, OPEN_END))),
        (1, st.builds(Interval, constants, instant)),
    )
    argument = chosen((2, instant), (1, constants), (3, interval))
    pair = chosen((3, st.tuples(instant, argument)), (2, st.tuples(argument, argument)))
    return st.builds(Call, st.sampled_from(TEMPORAL_FUNCTIONS), pair)


def _texts() -> SearchStrategy[Expression]:
    attribute = often(attributes("string"), attributes("list"), odds=3)
    query = st.sampled_from(QUERIES).map(Constant)
    plainly = st.tuples(attribute, query)
    return st.builds(Call, st.just("TEXT"), often(plainly, st.tuples(attribute, query, st.just(Constant("plain")))))


def _addresses(depth: int) -> SearchStrategy[Expression]:
    """IP_IN, and, where depth allows, comparisons of IP with addresses and with IP of another attribute."""
    networks = st.lists(st.sampled_from(NETWORKS).map(Constant), min_size=1, max_size=3)
    inside = st.builds(lambda name, all: Call("IP_IN", (name, *all)), attributes("string"), networks)
    if depth < 3:
        return inside
    known = st.sampled_from([one for one in ADDRESSES if not one.startswith("01")]).map(Constant)
    versions = st.sampled_from([one for one in VERSIONS if one not in ("1.2", "01.2.3")]).map(Constant)
    return chosen((2, inside), (1, _compared_by("IP", known)), (1, _compared_by("SEMVER", versions)))


def _compared_by(name: str, constants: SearchStrategy[Expression]) -> SearchStrategy[Expression]:
    """Comparisons of a function of texts that have an order of their own."""
    of_attribute, of_constant = (one.map(lambda text: Call(name, (text,))) for one in (attributes("string"), constants))
    other = often(of_constant, of_attribute, odds=4)
    return chosen(
        (3, st.builds(Comparison, st.sampled_from(COMPARISONS), of_attribute, other)),
        (1, st.builds(In, of_attribute, st.lists(other, min_size=1, max_size=3).map(tuple))),
        (1, st.builds(Between, of_attribute, other, other)),
        (1, of_attribute.map(IsNull)),
    )


def _regexes() -> SearchStrategy[Expression]:
    pair = st.tuples(attributes("string"), st.sampled_from(REGEXES).map(Constant))
    return st.builds(Call, st.just("MATCHES"), pair)
