"""The oracle of interval events gives what was worked out by hand, and what follows from its definitions."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from tests import strategies as own
from tests.naive import match as naive
from tests.naive.engine import Reference
from tests.naive.flatten import flatten
from tests.naive.range_examples import EVENT, WORKED
from tests.naive.ranges import COMPARE, EITHER, Truth, can_be, judge, truth_that
from tests.naive.relaxed import relaxed
from tests.naive.truth import concerns, truth
from tests.sizes import sized
from tests.strategies.pools import INSTANTS
from tocsin.language import parse
from tocsin.language.operators.operator import is_condition
from tocsin.model.expression import (
    And,
    Attribute,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Not,
    Or,
    walk,
)
from tocsin.model.ranking import Top
from tocsin.model.values import UNTYPED, Instant, Range, Value

GRID: Final = [n / 2 for n in range(-4, 18)]
"""Numbers on the lines that constants and ends are on, between them and beyond."""

compared = own.comparisons_with_constants()
numbers = st.integers(0, 6).map(float)
leaves = st.builds(
    Comparison, st.sampled_from(tuple(COMPARE)), st.sampled_from("abcd").map(Attribute), numbers.map(Constant)
)
spans = st.fixed_dictionaries(dict.fromkeys("abcd", own.grid_ranges()))


@pytest.mark.parametrize(("text", "expected"), WORKED)
def test_worked_examples(text: str, expected: Truth) -> None:
    """A worked example has one truth."""
    values, problems = flatten(EVENT)

    assert truth(parse(text), values) is expected
    assert problems == []


def test_every_truth_is_worked_out_often() -> None:
    """Of the worked examples many are TRUE, FALSE, UNKNOWN and EITHER."""
    assert min(Counter(expected for _, expected in WORKED).values()) >= 20


def among(span: Range) -> list[float]:
    """The numbers of the grid that lie in a range."""
    return [x for x in GRID if span.lo <= x <= span.hi]  # type: ignore[operator]


@given(op=st.sampled_from(tuple(COMPARE)), span=own.grid_ranges(), constant=numbers)
def test_a_comparison_is_what_it_is_of_the_points_of_the_range(op: str, span: Range, constant: float) -> None:
    """An overlapping range can be what some point of it is, a contained one is what every point of it is."""
    found = {COMPARE[op](x, constant) for x in among(span)}

    expected = truth_that(True in found, False in found)
    assert judge(op, span, constant) is (None if span.contained and expected is EITHER else expected)


@given(op=st.sampled_from(tuple(COMPARE)), span=own.ranges("instant"), constant=st.sampled_from(INSTANTS))
def test_instants_are_judged_like_their_microseconds(op: str, span: Range, constant: Instant) -> None:
    """As numbers, an open end being infinite."""
    lo = -math.inf if span.lo is None else float(span.lo.microseconds)  # type: ignore[union-attr]
    hi = math.inf if span.hi is None else float(span.hi.microseconds)  # type: ignore[union-attr]
    same = Range(lo, hi, contained=span.contained)

    assert judge(op, span, constant) is judge(op, same, float(constant.microseconds))
    assert judge(op, span, float(constant.microseconds)) is None
    assert judge(op, same, constant) is None


@given(tree=compared, event=own.python_events(), contained=st.booleans())
def test_a_range_of_one_value_is_that_value(tree: Expression, event: dict[str, Any], contained: bool) -> None:
    """To comparisons with constants under AND, OR and NOT."""
    values, _ = flatten(event)
    as_ranges = {
        name: Range(value, value, contained=contained) if type(value) in (float, Instant) else value
        for name, value in values.items()
    }
    assume(as_ranges != values)

    assert truth(tree, as_ranges) is truth(tree, values)  # type: ignore[arg-type]


def with_all(values: Mapping[str, Any], contained: bool) -> dict[str, Value]:
    """The values, their ranges all contained, or none of them."""
    return {
        name: Range(value.lo, value.hi, contained=contained) if isinstance(value, Range) else value
        for name, value in values.items()
    }


def asks_for_unknown(tree: Expression) -> bool:
    """Whether IS NULL looks at a condition, so that being UNKNOWN makes something TRUE."""
    nulls = [node.operand for node in walk(tree) if isinstance(node, IsNull)]
    return any(is_condition(operand) and not isinstance(operand, Attribute) for operand in nulls)


@given(tree=own.expressions(), event=own.interval_events())
def test_what_can_be_of_contained_ranges_can_be_of_overlapping_ones(tree: Expression, event: dict[str, Any]) -> None:
    """TRUE or FALSE, under NOT too; only IS NULL of a condition is TRUE because less is known."""
    assume(not asks_for_unknown(tree))
    values, _ = flatten(event)

    strict, loose = (can_be(truth(tree, with_all(values, contained))) for contained in (True, False))

    assert strict <= loose
    assert len(strict) < 2


def points_of(values: Mapping[str, Any]) -> Iterator[dict[str, float]]:
    """Every choice of one point of the grid from each range."""
    for chosen in itertools.product(*map(among, values.values())):
        yield dict(zip(values, chosen, strict=True))


def trees_of(leaf: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """AND, OR and NOT of a few leaves."""

    def joined(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.one_of(several.map(And), several.map(Or), inner.map(Not))

    return st.recursive(leaf, joined, max_leaves=5)


@settings(max_examples=sized(20, 60))
@given(tree=trees_of(leaves), values=st.fixed_dictionaries(dict.fromkeys("abc", own.grid_ranges())))
def test_what_some_choice_of_points_is_overlapping_ranges_can_be(tree: Expression, values: dict[str, Range]) -> None:
    """And what contained ranges are, every choice of points is."""
    found = {truth(tree, points) for points in points_of(values)}

    assert set().union(*map(can_be, found)) <= can_be(truth(tree, with_all(values, contained=False)))
    for known in can_be(truth(tree, with_all(values, contained=True))):
        assert found == {known}


@settings(max_examples=sized(20, 60))
@given(
    ops=st.tuples(*[st.sampled_from(tuple(COMPARE))] * 3),
    constants=st.tuples(numbers, numbers, numbers),
    values=st.fixed_dictionaries(dict.fromkeys("abc", own.grid_ranges())),
    negated=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    outer=st.sampled_from((And, Or)),
    inner=st.sampled_from((And, Or)),
)
def test_attributes_named_once_can_be_what_points_are(ops, constants, values, negated, outer, inner) -> None:
    """Where no attribute comes twice, judging each comparison by itself misses nothing and adds nothing."""
    one, two, three = (
        Not(tree) if is_negated else tree
        for tree, is_negated in zip(
            (
                Comparison(op, Attribute(name), Constant(constant))
                for op, name, constant in zip(ops, "abc", constants, strict=True)
            ),
            negated,
            strict=True,
        )
    )
    tree = outer((one, Not(inner((two, three)))))

    found = {truth(tree, points) for points in points_of(values)}

    assert can_be(truth(tree, with_all(values, contained=False))) == found


def test_a_comparison_is_judged_by_itself() -> None:
    """No point is above 8 and below 6, and yet Range(5, 9) is told of both."""
    tree = parse("a > 8 AND a < 6")

    assert not any(truth(tree, {"a": x}) for x in GRID)
    assert concerns(tree, {"a": Range(5, 9)})
    assert not concerns(tree, {"a": Range(5, 9, contained=True)})


NEXT: Final = Instant(INSTANTS[1].microseconds + 1)


@pytest.mark.parametrize(("contained", "expected"), [(False, EITHER), (True, None)])
def test_each_item_of_in_is_judged_by_itself(contained: bool, expected: Truth) -> None:
    """Even where the items are all the microseconds of the range."""
    text = " OR ".join(f"a = TIMESTAMP('{moment.isoformat()}')" for moment in (INSTANTS[1], NEXT))

    assert truth(parse(text), {"a": Range(INSTANTS[1], NEXT, contained=contained)}) is expected


def test_within_a_list_a_range_has_no_type() -> None:
    """As a point has none: in a list, and in a list of objects."""
    values, problems = flatten({"a": [1, Range(0, 1)], "b": [{"c": Range(0, 1), "d": 1}], "e": Range(0, 1)})

    assert values == {"a": UNTYPED, "b": UNTYPED, "b.c": UNTYPED, "b.d": (1.0,), "e": Range(0, 1)}
    assert [name for name, reason in problems if reason] == ["a", "b.c"]


def test_what_can_be_true_matches() -> None:
    """Among the matches, the best, in part, and of an engine."""
    texts = {3: "a > 8 AND b = 1", 1: "a < 6 AND b = 1", 2: "a < 5 AND b = 1", 4: "NOT a < 5"}
    events: list[dict[str, Any]] = [{"a": Range(5, 9), "b": 1}, {"a": 7}, {"a": Range(5, 9, contained=True)}]
    trees = [(name, parse(text)) for name, text in texts.items()]
    reference = Reference()
    for name, text in texts.items():
        reference.subscribe(name, text, score=name)

    assert naive.match(trees, events) == [(0, 1), (0, 3), (0, 4), (1, 4), (2, 4)]
    assert naive.top([(*one, float(one[0])) for one in trees], events, 2)[:3] == [(0, 4, 4.0), (0, 3, 3.0), (1, 4, 4.0)]
    assert relaxed([(*one, {"a": 5}) for one in trees], events[:1], 4) == [
        *[(0, 1, 6.0), (0, 3, 6.0), (0, 4, 5.0), (0, 2, 1.0)]
    ]
    assert reference.match(events[0], Top(2)) == [(4, 4.0), (3, 3.0)]
    assert reference.explain(3, events[0]) is EITHER


@pytest.mark.long
def test_every_truth_is_drawn_often() -> None:
    """Of drawn conditions on drawn interval events enough are EITHER, and of every other truth."""
    counts = Counter[Truth]()

    @settings(max_examples=400, deadline=None, database=None, derandomize=True, phases=[Phase.generate])
    @given(compared, own.interval_events())
    def count(tree: Expression, event: dict[str, Any]) -> None:
        counts[truth(tree, flatten(event)[0])] += 1

    count()

    assert min(counts[one] for one in (True, False, None, EITHER)) >= 12
