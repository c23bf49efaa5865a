"""`access` chooses covers well: the cheapest child of AND, all children of OR, the rarest keyword and attribute."""

from __future__ import annotations

import pytest

from tests.index.asking import asked, batch, compiled
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.index.boolean.access import Access
from tocsin.index.statistics import Statistics, sampled

N = 1_000
MANY = range(N)


@pytest.mark.parametrize("function", ["A_CONTAINS", "A_EQUALS"])
@pytest.mark.parametrize("common", ["a", "z"])
def test_all_of_several_keywords_are_found_under_the_rarest(function: str, common: str) -> None:
    """A subscription to a keyword that all name and one that it alone names is examined for the second."""
    texts = [f"{function}(l, ('{common}', 'k{k}'))" for k in MANY]

    assert asked(texts, [{"l": [common]}, {"l": [common, "x"]}, {"l": []}]).candidates_examined == 0
    assert asked(texts, [{"l": [common, "k7"]}]).candidates_examined == 1
    assert asked(texts, [{"l": ["k7", "k8", common]}]).candidates_examined == 2


def test_any_of_several_keywords_is_found_under_each() -> None:
    """A_OVERLAPS is examined for each of its keywords, and for no others."""
    texts = [f"A_OVERLAPS(l, ('x{k}', 'y{k}'))" for k in MANY]

    assert asked(texts, [{"l": ["x1"]}]).candidates_examined == 1
    assert asked(texts, [{"l": ["x1", "y2", "z"]}]).candidates_examined == 2
    assert asked(texts, [{"l": ["x1", "y1"]}]).candidates_examined <= 2
    assert asked(texts, [{"l": ["z"]}, {"l": []}, {"l": "x1"}, {}]).candidates_examined == 0


def test_elements_of_another_type_are_no_keys() -> None:
    """The number 1 in a list is not the string '1', nor `true`."""
    texts = [f"A_CONTAINS(l, ({k}))" for k in range(1, 500)] + [f"A_OVERLAPS(l, ('{k}', true))" for k in range(1, 500)]

    assert asked(texts, [{"l": [1]}, {"l": ["1"]}]).candidates_examined == 2
    assert asked(texts, [{"l": [True]}]).candidates_examined == 499
    assert asked(texts, [{"l": [False]}]).candidates_examined == 0


def test_or_is_found_under_each_of_its_attributes() -> None:
    """The cover of an OR is the union of its children's."""
    texts = [f"a = {k} OR b = {k} OR s = 'v{k}'" for k in MANY]

    assert asked(texts, [{"a": 5, "b": 6, "s": "v7"}]).candidates_examined == 3
    assert asked(texts, [{"a": 5}]).candidates_examined == 1
    assert asked(texts, [{"c": 5}, {"a": -1, "b": 0.5, "s": "v"}, {}]).candidates_examined == 0


@pytest.mark.parametrize(
    "wide",
    [
        "flag = true",
        "m >= 0",
        "m <> 7",
        "m IS NOT NULL",
        "m IS NULL",
        "TRUE",
        "s LIKE 'a%'",
        "(flag OR m = 1)",
        "(m IS NULL OR flag)",
        "m * 2 > n",
        "NOT (m = 3)",
    ],
)
def test_and_is_found_under_its_cheapest_child(wide: str) -> None:
    """The cover of an AND is its cheapest child's, wherever that stands."""
    texts = [f"{wide} AND n = {k}" if k % 2 else f"n = {k} AND {wide}" for k in MANY]
    others = {"flag": True, "m": 5, "s": "abc"}

    # An event that has `m` is no candidate for what wants none; an OR is looked at once for each of its parts.
    expected = {"m IS NULL": 0, "(flag OR m = 1)": 2}.get(wide, 1)
    assert asked(texts, [{**others, "n": 7}]).candidates_examined == expected
    assert asked(texts, [{**others, "n": -1}, others]).candidates_examined == 0


def test_covers_of_nested_groups() -> None:
    """An OR of ANDs takes the cheapest of each AND, an AND of ORs the cheapest OR."""
    either = [f"(a = {k} AND c = 1) OR (b = {k} AND c = 1)" for k in MANY]
    both = [f"(c = 1 OR d = 1) AND (a = {k} OR b = {k})" for k in MANY]
    deep = [f"((c = 1 AND (a = {k} OR (b = {k} AND d = 1))) OR (x = {k} AND NOT (c = 1 OR d = 1)))" for k in MANY]

    for texts in (either, both, deep):
        assert asked(texts, [{"c": 1, "d": 1}]).candidates_examined == 0
        assert 2 <= asked(texts, [{"c": 1, "d": 1, "a": 5, "b": 6}]).candidates_examined <= 4


def test_one_child_without_a_cover_leaves_an_or_without_one() -> None:
    """An OR with what may hold of any event is examined on each, unless an AND around it has a key."""
    texts = ["n = 1 OR m + 1 IS NULL"] * 30 + ["(n = 1 OR m + 1 IS NULL) AND s = 'a'"] * 40

    assert asked(texts, [{"n": 2, "m": 2}]).candidates_examined == 30
    assert asked(texts, [{"n": 2, "m": 2, "s": "a"}]).candidates_examined == 70


def test_not_is_pushed_inward_before_covers_are_chosen() -> None:
    """NOT of an OR is an AND: one attribute of it is enough to be ruled out."""
    texts = [f"NOT (a = {k} OR b = {k})" for k in range(300)]

    assert asked(texts, [{"c": 1}, {"a": "x", "b": "y"}]).candidates_examined == 0
    assert asked(texts, [{"b": 1}, {"a": 1}]).candidates_examined <= 300


def test_the_second_field_of_a_conjunction_prunes() -> None:
    """A conjunction whose key holds is no candidate on an event without another of its attributes."""
    texts = [f"a = 1 AND b{k % 100} >= 0 AND b{k % 100} <= {k}" for k in range(5_000)]
    often_b = Statistics({f"b{k}": 0.5 for k in range(100)} | {"a": 0.001}, "given")

    assert asked(texts, [{"a": 1}], often_b).candidates_examined == 0
    assert asked(texts, [{"a": 1, "b7": 1}], often_b).candidates_examined == 50
    assert asked(texts, [{"a": 1, "b7": "1"}], often_b).candidates_examined == 0


def test_the_second_field_is_the_rarest_of_the_others() -> None:
    """Of three attributes the rarest is the key and the next rarest the second."""
    texts = ["a >= 1 AND b >= 1 AND c >= 1"] * 200
    known = Statistics({"a": 0.9, "b": 0.1, "c": 0.5}, "given")

    assert asked(texts, [{"a": 1, "b": 1}], known).candidates_examined == 0
    assert asked(texts, [{"a": 1, "c": 1}], known).candidates_examined == 0
    assert asked(texts, [{"b": 1, "c": 1}], known).candidates_examined == 200


@pytest.mark.parametrize(
    "template",
    [
        "a = {k} AND b = {k}",
        "a = {k} AND (b = {k} OR b = -1)",
        "A_CONTAINS(a, ('w{k}')) AND b = {k}",
        "a > b AND a = {k}",
    ],
)
def test_statistics_choose_the_key(template: str) -> None:
    """The attribute that fewer events have is the key: an event that has only the other examines nothing."""
    texts = [template.format(k=k) for k in range(300)]
    on_a = {"a": ["w7"]} if "A_CONTAINS" in template else {"a": 7}

    rare_b = asked(texts, [on_a], Statistics({"a": 1.0, "b": 0.0001}, "given"))
    rare_a = asked(texts, [{"b": 7}], Statistics({"a": 0.0001, "b": 1.0}, "given"))

    assert rare_a.candidates_examined == 0
    assert rare_b.candidates_examined == 0


def test_sampled_statistics_choose_the_key() -> None:
    """Statistics of events that were seen, and what no event had counts as rarer than what any had."""
    texts = [f"a >= {k} AND b >= {k}" for k in range(300)] + [f"a >= {k} AND never >= {k}" for k in range(300)]
    expressions = compiled(texts)
    seen = encode_objects(enumerate([{"a": 1, "b": 2}] + [{"a": 1, "x": 3}] * 99), Wanted(None))

    known = sampled([seen])
    access = Access.build(expressions, known)

    assert known.share("a") == 1.0
    assert known.share("b") == 0.01
    assert 0 < known.share("never") < 0.01
    assert access.match(batch(access, [{"a": 1_000}])).candidates_examined == 0
    assert access.match(batch(access, [{"b": 1_000}])).candidates_examined == 0
    assert access.match(batch(access, [{"a": 1_000, "b": 1_000}])).candidates_examined == 300


def test_without_statistics_the_attribute_that_fewest_name_is_rarest() -> None:
    """An attribute that one subscription names is its key, not the one that all of them name."""
    texts = [f"common >= {k} AND own{k} >= {k}" for k in range(1_000)]

    assert asked(texts, [{"common": 5_000}]).candidates_examined == 0
    assert asked(texts, [{"common": 5_000, "own7": 5_000}]).candidates_examined == 1


@pytest.mark.parametrize("template", ["A_OVERLAPS(own{k}, common)", "S_INTERSECTS(own{k}, common)"])
def test_the_second_of_two_attributes_counts_as_named(template: str) -> None:
    """An attribute that all subscriptions name second is not taken for the rarest."""
    texts = [template.format(k=k) for k in range(300)]

    assert asked(texts, [{"common": [1, 2]}]).candidates_examined == 0
    assert asked(texts, [{"common": [1, 2], "own7": [1, 2]}]).candidates_examined == 1


def test_statistics_change_no_answer() -> None:
    """Whatever is said of the events, the answers are the same."""
    texts = [f"a = {k % 7} AND b >= {k} OR A_CONTAINS(l, ('x', 'k{k % 5}')) AND c < {k}" for k in range(200)]
    events = [{"a": i % 9, "b": i, "l": ["x", f"k{i % 6}"], "c": 100 - i} for i in range(100)]
    plain = asked(texts, events)

    for shares in ({}, {"a": 0.0, "b": 1.0}, {"a": 1.0, "b": 0.0, "l": 0.0, "c": 0.0}, {"a": 1.0, "l": 1e-300}):
        found = asked(texts, events, Statistics(shares, "given"))  # also held against scan

        assert len(found.subscriptions) == len(plain.subscriptions) > 0
