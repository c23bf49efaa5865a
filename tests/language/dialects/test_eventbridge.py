"""Event patterns of EventBridge: as the page says, as the naive reading says, and as a library for Go says."""

from __future__ import annotations

import json
from typing import Any

import event_ruler
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tocsin
from tests.language.dialects.agreeing import answers, refusal
from tests.naive.eventbridge import matches

CASES: list[tuple[Any, Any, bool]] = [
    ({"a": ["x"]}, {"a": "x"}, True),
    ({"a": ["x"]}, {"a": ["y", "x"]}, True),
    ({"a": [1]}, {"a": 1.0}, True),
    ({"a": [1]}, {"a": "1"}, False),
    ({"a": [True]}, {"a": "true"}, False),
    ({"a": [None]}, {"a": None}, True),
    ({"a": [None]}, {}, False),
    ({"a": [None]}, {"a": [1, None]}, True),
    ({"a": [{"exists": False}]}, {}, True),
    ({"a": [{"exists": False}]}, {"a": None}, False),
    ({"a": [{"exists": True}]}, {"a": None}, True),
    ({"a": [{"exists": True}]}, {"a": []}, False),
    ({"a": [{"exists": True}]}, {"a": {"b": 1}}, False),
    ({"a": {"b": [{"exists": False}]}}, {"a": [{"b": 1}, {"c": 1}]}, False),
    ({"a": {"b": ["x"], "c": [{"exists": False}]}}, {"a": [{"b": "x"}]}, True),
    ({"a": {"b": ["x"], "c": [{"exists": False}]}}, {"a": [{"b": "x"}, {"c": 2}]}, True),
    ({"a": {"b": ["x"], "c": [{"exists": False}]}}, {"a": [{"c": 2}, {"b": "x"}]}, True),
    ({"a": {"b": ["x"], "c": [{"exists": False}]}}, {"a": [{"b": "x", "c": 2}]}, False),
    ({"a": {"c": ["x"], "b": [{"exists": False}]}}, {"a": [{"c": "x"}, {"b": 2}]}, False),
    ({"a": ["x", "y"], "$or": [{"a": [{"anything-but": "x"}]}, {"b": ["z"]}]}, {"a": "w"}, True),
    ({"a": ["x", "y"], "$or": [{"a": [{"anything-but": "x"}]}, {"b": ["z"]}]}, {"a": "x"}, False),
    ({"a": ["x", "y"], "$or": [{"a": [{"anything-but": "x"}]}, {"b": ["z"]}]}, {"a": "x", "b": "z"}, True),
    ({"$or": [{"a": ["w"]}, {"b": ["z"]}], "a": ["x"]}, {"a": "w"}, False),
    ({"a": [{"cidr": "10.0.0.1/8"}]}, {"a": "10.1.1.1"}, True),
    ({"a": [{"exists": False}, "x"]}, {"a": "x"}, True),
    ({"a": [{"exists": False}, "x"]}, {"a": "y"}, False),
    ({"a": [{"anything-but": "x"}]}, {"a": "y"}, True),
    ({"a": [{"anything-but": ["x", "y"]}]}, {"a": "y"}, False),
    ({"a": [{"anything-but": "x"}]}, {"a": ["x", "y"]}, True),
    ({"a": [{"anything-but": "x"}]}, {}, False),
    ({"a": [{"anything-but": "x"}]}, {"a": None}, True),
    ({"a": [{"anything-but": 5}]}, {"a": "5"}, True),
    ({"a": [{"anything-but": {"prefix": "x"}}]}, {"a": "xy"}, False),
    ({"a": [{"anything-but": {"suffix": ["x", "y"]}}]}, {"a": "xy"}, False),
    ({"a": [{"numeric": [">", 5]}]}, {"a": "6"}, False),
    ({"a": [{"numeric": [">", 5, "<=", 7]}]}, {"a": 7}, True),
    ({"a": [{"cidr": "10.0.0.0/8"}]}, {"a": ["1.1.1.1", "10.1.1.1"]}, True),
    ({"a": [{"cidr": "2001:db8::/32"}]}, {"a": "2001:db8::1"}, True),
    ({"a": [{"wildcard": "a*b\\*c"}]}, {"a": "axxb*c"}, True),
    ({"a": [{"wildcard": "50%*"}]}, {"a": "50 of 60"}, False),
    ({"a": [{"equals-ignore-case": "Ab"}]}, {"a": "aB"}, True),
    ({"a": [{"prefix": {"equals-ignore-case": "Ab"}}]}, {"a": "aBC"}, True),
    ({"a": {"b": ["1"], "c": ["2"]}}, {"a": [{"b": "1", "c": "3"}, {"b": "3", "c": "2"}]}, False),
    ({"a": {"b": ["1"], "c": ["2"]}}, {"a": [{"b": "1", "c": "2"}]}, True),
    ({"a": [1]}, {"a": [[1]]}, True),
    ({"a": [1]}, {"a": [2, [3, 1]]}, True),
    ({"a": [{"exists": False}]}, {"a": [[1]]}, False),
    ({"a": [{"exists": True}]}, {"a": [[]]}, False),
    ({"a": [{"anything-but": 1}]}, {"a": [[1]]}, False),
    ({"a": {"b": [1]}}, {"a": [{"b": [[2], [1]]}]}, True),
    ({"$or": [{"a": ["x"]}, {"b": ["y"]}], "c": [1]}, {"b": "y", "c": 1}, True),
    ({"$or": [{"a": ["x"]}, {"b": [{"exists": False}]}]}, {"b": 1}, False),
    ({"detail": {"$or": [{"a": ["x"]}, {"b": [{"exists": False}]}]}}, {"detail": {"c": 1}}, True),
]


@pytest.mark.parametrize(("pattern", "event", "expected"), CASES)
def test_patterns(pattern: Any, event: Any, expected: bool) -> None:
    """All ways to ask agree with the page, and with the naive reading."""
    assert answers(pattern, "eventbridge", event) == {expected}
    assert matches(pattern, event) is expected


_texts = st.sampled_from(["a", "b", "ab", "A", "10.1.2.3", "a*", ""])
_scalars = _texts | st.sampled_from([0, 1, 2.5, True, False, None])
_matchers = st.one_of(
    st.sampled_from([{"exists": True}, {"exists": False}]),
    st.builds(lambda text: {"prefix": text}, _texts),
    st.builds(lambda text: {"suffix": {"equals-ignore-case": text}}, _texts),
    st.builds(lambda text: {"equals-ignore-case": text}, _texts),
    st.builds(lambda text: {"wildcard": f"{text}*".replace("**", "*")}, _texts),
    st.builds(lambda low: {"numeric": [">=", low, "<", low + 2]}, st.integers(0, 2)),
    st.builds(lambda values: {"anything-but": values}, st.lists(_texts, min_size=1, max_size=2)),
    st.builds(lambda values: {"anything-but": values}, st.lists(st.integers(0, 2), min_size=1, max_size=2)),
    st.builds(lambda text: {"anything-but": {"prefix": text}}, _texts),
    st.just({"cidr": "10.0.0.0/8"}),
)
_values = st.lists(_scalars | _matchers, min_size=1, max_size=2)
_NAMES = st.sampled_from("abc")
_lists = st.lists(_scalars | st.lists(_scalars, max_size=2), max_size=2)


def _patterns(depth: int) -> st.SearchStrategy[dict[str, Any]]:
    inner = _values if depth == 0 else st.one_of(_values, _values, _patterns(depth - 1))
    plain = st.dictionaries(_NAMES, inner, min_size=1, max_size=2)
    if depth == 0:
        return plain
    choice = st.builds(lambda some: {"$or": some}, st.lists(_patterns(0), min_size=2, max_size=2))
    return st.one_of(plain, plain, plain, choice)


def _events(depth: int) -> st.SearchStrategy[dict[str, Any]]:
    if depth == 0:
        return st.dictionaries(_NAMES, _scalars | _lists, max_size=3)
    inner = _events(depth - 1)
    return st.dictionaries(_NAMES, st.one_of(_scalars, _lists, inner, st.lists(inner, max_size=2)), max_size=3)


@given(_patterns(2), _events(2))
def test_generated_patterns_agree_with_the_naive_reading(pattern: Any, event: Any) -> None:
    """Patterns with all matchers mean what the naive reading says, lists of objects included."""
    assert answers(pattern, "eventbridge", event) == {matches(pattern, event)}


_simple = st.lists(
    st.sampled_from(["a", "b", "ab", "", True, False, None]),
    min_size=1,
    max_size=2,
) | st.sampled_from([[{"exists": True}], [{"exists": False}]])


@given(
    st.dictionaries(_NAMES, _simple | st.dictionaries(_NAMES, _simple, min_size=1, max_size=2), min_size=1, max_size=2),
    st.dictionaries(
        _NAMES,
        st.sampled_from(["a", "b", "ab", True, None])
        | st.lists(st.dictionaries(_NAMES, st.sampled_from(["a", "b", None]), max_size=2), max_size=2),
        max_size=3,
    ),
)
def test_generated_patterns_agree_with_event_ruler(pattern: Any, event: Any) -> None:
    """What the library event-ruler knows of patterns, it answers likewise; it takes no empty event.

    It counts a list of objects as a value, and an object in it by its own names. In Event Ruler a pattern is about the
    leaves with its path alone. Such events are left out.
    """
    asked = [name for name, inner in pattern.items() if isinstance(inner, list)]
    assume(not any(isinstance(event.get(name), list) for name in asked))
    if not event:
        event = {"z": 1}
    expected = event_ruler.test_event_pattern(json.dumps(event), json.dumps(pattern))
    assert answers(pattern, "eventbridge", event) == {expected}


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ({"a": "x"}, "at a: what a name matches needs a list that is not empty, not 'x'"),
        ({"a": []}, "at a: what a name matches needs a list"),
        ({"a": [{"fuzzy": 1}]}, "at a[0].fuzzy: EventBridge has no matcher 'fuzzy'"),
        ({"a": [["x"]]}, "at a[0]: a list of a pattern holds strings"),
        ({"a": {"b": [{"cidr": "300.0.0.0/8"}]}}, "at a.b[0].cidr"),
        ({"a": [{"numeric": ["=", "5"]}]}, "at a[0].numeric[1]: numeric needs a number, not '5'"),
        ({"a": [{"numeric": ["!", 5]}]}, "at a[0].numeric[0]: numeric compares by"),
        ({"a": [{"wildcard": "a**"}]}, "two * side by side"),
        ({"a": [{"wildcard": "a\\b"}]}, "a backslash in a wildcard"),
        ({"a": [{"exists": 1}]}, "exists needs true or false"),
        ({"a": [{"prefix": "a", "suffix": "b"}]}, "a matcher has one name"),
        ({"a": [{"anything-but": [True]}]}, "anything-but needs strings or numbers"),
        ({"$or": []}, "at $or"),
        ({"$or": [{"a": [1]}]}, "at $or: $or needs two patterns"),
        ({"a": [{"anything-but": ["x", 1]}]}, "strings or numbers, and not both"),
        ({"a": [{"numeric": [">", 1, "<", 0]}]}, "a lower bound and then a higher one"),
        ({"a": [{"numeric": ["<", 1, ">", 0]}]}, "a lower bound and then a higher one"),
        ({}, "a pattern needs an object that is not empty"),
        ("{", "this is not JSON"),
        ("[1]", "a pattern needs an object"),
    ],
)
def test_refusals_name_the_place(pattern: Any, reason: str) -> None:
    assert reason in refusal(pattern, "eventbridge")


def test_the_rule_stays_as_it_was_written(tmp_path: Any) -> None:
    """`get`, `explain`, saved folders and bulk loads keep the pattern, as a text or as an object."""
    pattern = {"detail": {"state": ["running", {"prefix": "st"}]}}
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": "s", "where": pattern, "language": "eventbridge"}])
    engine.subscribe("t", json.dumps(pattern), language="eventbridge")
    engine.save(tmp_path / "index")
    for one in (engine, tocsin.Engine.load(tmp_path / "index")):
        for name in ("s", "t"):
            assert one.get(name) == {"id": name, "where": pattern, "language": "eventbridge", "score": 1.0}
            told = one.explain(name, {"detail": {"state": "gone"}})
            assert told.failed[0].predicate == 'detail.state: ["running", {"prefix": "st"}]'


def test_an_unknown_language_is_named() -> None:
    engine = tocsin.Engine()
    with pytest.raises(tocsin.RecordError, match="there is no language 'klingon'; give one of cql2, eventbridge"):
        engine.subscribe("s", "a = 1", language="klingon")
    with pytest.raises(tocsin.RecordError, match="there is no language 'klingon'"):
        engine.subscribe("s", "@klingon {}")
    report = engine.subscribe_many(
        [{"id": "s", "where": {"a": "x"}, "language": "eventbridge"}, {"id": "t", "where": "a = 1", "language": "cql2"}]
    )
    assert (report.accepted, report.errors[0].field) == (1, "where")
