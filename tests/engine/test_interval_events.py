"""Events with ranges among their values are told, by every index, of all that can be TRUE of them."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.engine.interval_samples import (
    COMPARING,
    MATCHERS,
    UNLIMITED,
    Scored,
    check,
    check_texts,
    ends_near,
    found_by,
    holding,
    satisfied,
    scored,
)
from tests.engine.relaxed_samples import INTEGER_IDS, STRING_IDS
from tests.naive import match as naive
from tests.naive.range_examples import EVENT, WORKED
from tests.naive.ranges import can_be
from tests.sizes import sized
from tocsin import Range
from tocsin.model.expression import Expression
from tocsin.model.values import Instant

ALL: Final = pytest.mark.parametrize("index", MATCHERS)
FIVES: Final = ("a < 5", "a <= 5", "a = 5", "a <> 5", "a >= 5", "a > 5")
HOURS: Final = dt.datetime(2024, 5, 31, 8), dt.datetime(2024, 5, 31, 12)

ids = st.sampled_from([STRING_IDS, INTEGER_IDS]).flatmap(st.permutations)
scores = st.lists(st.sampled_from([1.0, 2.0, -1.0, 0.0]), min_size=12, max_size=12)
rankings = st.sampled_from([None, None, tocsin.Top(1), tocsin.Top(3)])
bad_events = own.bad_events().filter(lambda event: all(type(name) is str for name in event))
mixed_events = st.one_of(own.interval_events(), own.interval_events(), own.python_events(), bad_events)


def subscriptions(trees: st.SearchStrategy[Expression], most: int = 8) -> st.SearchStrategy[list[Scored]]:
    """Trees under ids of one kind that are in no order, with scores that tie."""
    drawn = st.tuples(ids, st.lists(trees, min_size=1, max_size=most), scores)
    return drawn.map(lambda three: list(zip(*three, strict=False)))


@ALL
def test_worked_examples(index: str) -> None:
    """What was worked out by hand, in the midst of events without ranges."""
    expected = {text: True in can_be(truth) for text, truth in WORKED}
    engine, reference = holding(index, scored(list(expected)))
    texts = {name: text for name, text in enumerate(expected) if name in reference}
    point = {"over": 7, "point": 7}

    for _ in range(2):
        answer = engine.match_batch([point, EVENT, {}, EVENT], lists=True)
        rows = [[texts[name] for name in row["subscription"]] for row in answer.table.to_pylist()]
        assert rows[1] == rows[3] == [text for text in texts.values() if expected[text]]
        assert rows[0] == satisfied(list(texts.values()), point)
        assert answer.errors == []
        engine.merge()
    assert len(texts) > (len(expected) - 1 if index in UNLIMITED else 15)


@pytest.mark.parametrize(("text", "truth"), WORKED)
def test_explain_tells_a_match_where_there_is_one(text: str, truth: Any) -> None:
    """Of one expression, and of a subscription of an engine; it can be read."""
    engine = tocsin.Engine()
    engine.subscribe(1, text)

    for explained in (tocsin.explain(text, EVENT), engine.explain(1, EVENT)):
        assert explained.matched == (True in can_be(truth))
        assert str(explained)


@settings(max_examples=max(10, settings.default.max_examples // 3))
@given(
    held=subscriptions(own.expressions(max_depth=5)),
    events=st.lists(mixed_events, max_size=6).map(lambda events: [*events, {}]),  # one that is not bad
    ranking=rankings,
)
def test_any_expressions(held: list[Scored], events: list[Any], ranking: Any) -> None:
    """Expressions of every kind, and events of every kind, bad ones among them."""
    for index in MATCHERS:
        if index not in COMPARING:
            check(index, held, events, ranking)


@settings(max_examples=max(10, settings.default.max_examples // 4))
@given(
    held=subscriptions(own.comparisons_with_constants()),
    events=st.lists(mixed_events, max_size=6).map(lambda events: [*events, {}]),  # one that is not bad
    ranking=rankings,
)
def test_comparisons_with_constants(held: list[Scored], events: list[Any], ranking: Any) -> None:
    """Numbers, strings, booleans and instants under AND, OR and NOT."""
    for index in MATCHERS:
        check(index, held, events, ranking)


@settings(max_examples=max(10, settings.default.max_examples // 4))
@given(
    held=subscriptions(own.conjunctions_of_ranges(), most=12),
    events=st.lists(st.one_of(own.interval_grid_events(), own.grid_events()), min_size=1, max_size=6),
    ranking=rankings,
)
def test_conjunctions_on_a_grid(held: list[Scored], events: list[Any], ranking: Any) -> None:
    """Few attributes and values, an attribute perhaps twice, so that ends meet constants."""
    for index in MATCHERS:
        check(index, held, events, ranking)


@settings(max_examples=sized(20, 100))
@given(tree=own.expressions(max_depth=5), event=own.interval_events())
def test_explain_agrees_with_the_oracle(tree: Expression, event: dict[str, Any]) -> None:
    """`explain` says that it matched exactly where the oracle matches."""
    explained = tocsin.explain({"id": "x", "where": tocsin.to_text(tree)}, event)

    assert explained.matched == (naive.match([(1, tree)], [event]) == [(0, 1)])
    assert str(explained)


@settings(max_examples=sized(20, 60))
@given(held=subscriptions(own.expressions(max_depth=4)), events=st.lists(mixed_events, max_size=6), data=st.data())
def test_an_event_is_answered_alike_in_any_batch(held: list[Scored], events: list[Any], data: Any) -> None:
    """Neither the ranges of other events nor the order of events say anything about one."""
    order = data.draw(st.permutations(range(len(events))))
    named = [{"id": name, "where": tocsin.to_text(tree)} for name, tree, _ in held]

    engine = tocsin.Engine()
    engine.subscribe_many(named)
    engine.merge()

    straight, shuffled, alone = (
        [row["subscription"] for batch in batches for row in engine.match_batch(batch, lists=True).table.to_pylist()]
        for batches in ([events], [[events[place] for place in order]], [[event] for event in events])
    )

    assert straight == alone
    assert shuffled == [straight[place] for place in order]


@ALL
def test_ends_at_the_next_number(index: str) -> None:
    """A range that ends right beside the constant, or at it, with either end open."""
    spans = ends_near(5.0, math.nextafter(5, 0), math.nextafter(5, 9))

    check_texts(index, [*FIVES, "a BETWEEN 5 AND 5", "NOT a IN (5, 6)"], [{"a": span} for span in spans])


@ALL
def test_ends_at_the_next_microsecond(index: str) -> None:
    """Instants of one microsecond's distance; each item of IN is judged by itself."""
    five, six = (f"TIMESTAMP('1970-01-01T00:00:00.00000{n}Z')" for n in (5, 6))
    texts = [text.replace("5", five) for text in FIVES] + [f"a NOT IN ({five}, {six})", f"a > {five} AND a < {six}"]

    check_texts(index, texts, [{"a": span} for span in ends_near(*map(Instant, (5, 4, 6)))])  # type: ignore[arg-type]


@ALL
def test_each_condition_is_judged_by_itself(index: str) -> None:
    """What no point satisfies can be TRUE of a range: conditions that exclude each other are each judged alone."""
    texts = [
        "a = 8 AND a = 6",
        "a IN (5, 6) AND a IN (8, 9)",
        "a = 6 AND NOT a = 6",
        "a IN (6, 7) AND NOT a IN (6, 7)",
        "a BETWEEN 5 AND 6 AND a BETWEEN 8 AND 9",
        "a = 6 AND a = 60",
    ]
    held = scored(texts)
    if not index.startswith("k_index"):
        held += [(10 + name, tree, 1.0) for name, tree, _ in scored(["a > 8 AND a < 6", "a BETWEEN 9 AND 5"])]
    events = [{"a": Range(5, 9)}, {"a": Range(5, 9, contained=True)}, {"a": 6}, {"a": Range(6, 6)}]
    engine, reference = holding(index, held)
    everything = sorted({0, 1, 2, 3, 4} & set(reference.held)) + [
        name for name, *_ in held if name == 10
    ]  # BETWEEN 9 AND 5 is empty

    for _ in range(2):
        assert [[m.subscription for m in engine.match(event)] for event in events] == [everything, [], [], []]
        engine.merge()
    assert len(everything) > 3


def test_a_range_and_its_complement() -> None:
    """A condition or its NOT always holds of a point; of a contained range perhaps neither, else perhaps both."""
    texts = ["a < 7", "NOT a < 7", "a < 7 OR NOT a < 7", "a < 7 AND NOT a < 7"]

    found = {span: found_by("auto", texts, {"a": span}) for span in (Range(5, 9), Range(5, 9, contained=True), 5)}

    assert list(found.values()) == [texts, [], ["a < 7", "a < 7 OR NOT a < 7"]]


@ALL
def test_ranges_anywhere_in_an_object(index: str) -> None:
    """At the top, in an object, in an object's object and under a dotted name, beside points."""
    texts = [f"{name} BETWEEN 3 AND 4" for name in ("n", "x.n", "x.y.n", "z.n", "z.m")]
    event = {"n": Range(0, 3), "x": {"n": Range(4, 9), "y": {"n": Range(2, 5)}}, "z.n": Range(3.5, 3.75), "z": {"m": 3}}
    missed = {"n": Range(0, 2), "x": {"n": Range(5, 9), "y": {"n": Range(4.5, 5)}}, "z.n": Range(None, 2.5)}

    assert found_by(index, texts, event) == texts
    assert found_by(index, texts, missed) == []


def test_within_a_list_a_range_has_no_type() -> None:
    """As a point has none: it is present, reported, and nothing else is TRUE of it; the rest is served."""
    events: list[Any] = [
        {"a": [1, Range(0, 5)], "b": 1},
        {"b": 1, "c": [{"d": Range(0, 5), "e": 1}, {"d": 1}]},
        {"a": (Range(0, 5),), "b": 1},
        {"a": Range(0, 5), "b": 1},
    ]
    texts = ("a >= 0", "NOT a >= 0", "a IS NULL", "a IS NOT NULL", "A_OVERLAPS(a, (1))", "c.d >= 0", "c.d IS NOT NULL")
    held = [{"id": text, "where": text} for text in (*texts, "b = 1", "A_CONTAINS(c.e, (1))")]

    for source in (events, iter(events)):
        answer = tocsin.match(held, source, lists=True)

        assert [(error.row, error.field) for error in answer.errors] == [(0, "a"), (1, "c.d"), (2, "a")]
        assert [sorted(row["subscription"]) for row in answer.table.to_pylist()] == [
            ["a IS NOT NULL", "b = 1"],
            ["A_CONTAINS(c.e, (1))", "a IS NULL", "b = 1", "c.d IS NOT NULL"],
            ["a IS NOT NULL", "b = 1"],
            ["a >= 0", "a IS NOT NULL", "b = 1"],
        ]


@pytest.mark.parametrize("index", [name for name in MATCHERS if not name.startswith("k_index")])
def test_dates_and_timestamps(index: str) -> None:
    """Ends of every kind that an instant has, with zone and without; a date is its midnight."""
    texts = ["t < TIMESTAMP('2024-05-31T10:00:00Z')", "t = DATE('2024-05-31')", "t > TIMESTAMP('2024-05-31T12:00:00Z')"]
    zone = dt.timezone(dt.timedelta(hours=3))
    spans = [
        (Range(*HOURS), [0]),
        (Range(*HOURS, contained=True), []),
        (Range(*(moment.replace(tzinfo=zone) for moment in HOURS), contained=True), [0]),
        (Range(*map(Instant.of, HOURS)), [0]),
        (Range(dt.date(2024, 5, 31), dt.date(2024, 6, 1)), [0, 1, 2]),
        (Range(dt.date(2024, 5, 31), HOURS[1]), [0, 1]),
        (Range(HOURS[1], None), [2]),
        (Range(None, HOURS[0], contained=True), [0]),
        (Range(None, dt.date(2024, 5, 30)), [0]),
        (Range(0, 1e15), []),
    ]

    for span, expected in spans:
        assert found_by(index, texts, {"t": span}) == [texts[place] for place in expected], span


def test_open_ends_are_infinite() -> None:
    """None, and infinity where it is the end's own; everything beyond the other end is in the range."""
    texts = ["a < -1e308", "a <= 5", "a < 5", "a = 5", "a > 5", "a >= 1e308", "a <> 5"]

    for contained, expected in ((False, [0, 1, 2, 3, 6]), (True, [1])):
        for lo in (None, -math.inf):
            event = {"a": Range(lo, 5, contained=contained)}
            assert found_by("auto", texts, event) == [texts[place] for place in expected]
    for hi in (None, math.inf):
        assert found_by("auto", texts, {"a": Range(5, hi)}) == [texts[place] for place in (1, 3, 4, 5, 6)]


def test_a_range_is_no_bad_value() -> None:
    """`strict` has nothing to complain of, and nothing is reported."""
    held = [{"id": 1, "where": "a > 1"}]

    answer = tocsin.match(held, [{"a": Range(0, 2)}], strict=True)

    assert answer.table.to_pylist() == [{"event": 0, "subscription": 1}]
    assert (answer.errors, answer.complete) == ([], True)


@cache
def many() -> tuple[list[Scored], list[dict[str, Any]], list[tuple[int, Any]]]:
    """Hundreds of subscriptions, more events than fit a block of the verifier, few with ranges; and all matches."""
    dice = random.Random(2014)

    def condition(name: str) -> str:
        low = dice.randint(0, 40)
        some = (f"{name} = {low}", f"{name} IN ({low}, {low + 9})", f"{name} BETWEEN {low} AND {low + 4}")
        return dice.choice((*some, *some, f"NOT {name} = {low}", f"{name} <= {low}", f"{name} > {low}"))

    texts = [" AND ".join(condition(name) for name in dice.sample("abcde", dice.randint(1, 3))) for _ in range(400)]
    events: list[dict[str, Any]] = [
        {name: dice.randint(0, 60) for name in "abcde" if dice.random() < 0.8} for _ in range(150)
    ]
    for row in (0, 1, 62, 63, 64, 65, 100, 127, 128, 149):
        for name in dice.sample("abcde", dice.randint(1, 5)):
            lo = dice.randint(-5, 50)
            events[row][name] = Range(lo, lo + dice.choice((0, 1, 10, 40)), contained=dice.random() < 0.3)
    ids = dice.sample(range(10_000), len(texts))
    held = [(n, tocsin.parse(text), dice.choice((1.0, 2.0, 3.0))) for n, text in zip(ids, texts, strict=True)]
    return held, events, naive.match([(n, tree) for n, tree, _ in held], events)


@ALL
def test_many_subscriptions_and_a_few_ranges_among_many_events(index: str) -> None:
    """The blocks that have ranges, at their edges too, and those that have none; the best three too."""
    drawn, events, matches = many()
    engine, reference = holding(index, drawn)
    held = {name: one.score for name, one in reference.held.items()}
    found = {row: [name for at, name in matches if at == row and name in held] for row in range(len(events))}
    best = {row: sorted(names, key=lambda name: (-held[name], name))[:3] for row, names in found.items()}

    for _ in range(2):
        for ranking, expected in ((None, found), (tocsin.Top(3), best)):
            rows = engine.match_batch(events, ranking=ranking, lists=True).table.to_pylist()
            assert {row["event"]: row["subscription"] for row in rows} == expected
        engine.merge()
    assert len(held) > 50


@pytest.mark.parametrize("index", MATCHERS)
def test_a_wide_range_finds_every_value_in_it(index: str) -> None:
    """Of a thousand values those from end to end."""
    engine = tocsin.Engine(index)
    engine.subscribe_many([{"id": n, "where": f"a = {n}"} for n in range(1000)])
    engine.merge()

    def ids(span: Any) -> Sequence[int]:
        return [match.subscription for match in engine.match({"a": span})]

    assert ids(Range(100, 700)) == list(range(100, 701))
    assert ids(Range(100.5, 101.5)) == [101]
    assert ids(Range(990, None)) == list(range(990, 1000))
    assert ids(Range(None, 3)) == [0, 1, 2, 3]
    assert ids(Range(7, 8, contained=True)) == []
    assert ids(Range(7, 7, contained=True)) == ids(7) == [7]
