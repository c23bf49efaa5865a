"""`access` examines about what matches: a bound on the candidates of each kind of access key."""

from __future__ import annotations

import random

import pytest

from tests.index.asking import Event, asked, batch, compiled, pairs
from tocsin.index.boolean.access import Access

N = 10_000
MANY = range(N)
FAR = ({}, {"other": 1}, {"n": None}, {"n": "5"}, {"n": True}, {"n": [5]}, {"n": float("inf")}, {"n": [0, 0, 9, 9]})


def test_equality_on_numbers_examines_the_matches() -> None:
    """Among 10,000 distinct operands an event examines the one that it equals, and verifies nothing."""
    events = [{"n": k} for k in random.Random(1).sample(MANY, 100)] + [{"n": 0.5}, {"n": -1}, {"n": N}, *FAR]

    found = asked([f"n = {k}" for k in MANY], events)

    assert len(found.subscriptions) == found.candidates_examined == 100
    assert found.verified == 0


@pytest.mark.parametrize("value", [0, 7, 4_999.5, 5_000, N - 2, N, -1])
@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
def test_ranges_with_one_end_examine_the_matches(operator: str, value: float) -> None:
    """A range without a second end is a candidate only where it matches."""
    found = asked([f"n {operator} {k}" for k in MANY], [{"n": value}, *FAR])

    assert found.candidates_examined == len(found.subscriptions)
    assert found.verified == 0


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
def test_ranges_with_one_end_lead_to_conjunctions_that_they_hold_for(operator: str) -> None:
    """With a costlier predicate beside it, a range brings up the conjunctions that it holds for and no others."""
    near = 20 if operator in ("<", "<=") else N - 20
    found = asked([f"n {operator} {k} AND m <> {k}" for k in MANY], [{"n": N - near, "m": -1}])

    assert 19 <= len(found.subscriptions) <= 21
    assert found.candidates_examined == len(found.subscriptions)


@pytest.mark.parametrize("value", [0, 17, 5_000, 5_000.5, N - 1])
def test_narrow_ranges_examine_a_few_times_the_matches(value: float) -> None:
    """Of ranges with two ends those are examined that begin near the value."""
    texts = [f"n BETWEEN {k} AND {k + 2} AND m >= 0" for k in MANY]

    found = asked(texts, [{"n": value, "m": 1}])

    assert 1 <= len(found.subscriptions) <= 3
    assert found.candidates_examined <= 8


def test_wide_ranges_do_not_spoil_narrow_ones() -> None:
    """Ranges of other widths in the same list are no reason to examine more of the narrow ones."""
    narrow = [f"n BETWEEN {k} AND {k + 1} AND m >= 0" for k in MANY]
    wide = [f"n BETWEEN {k} AND {N + k} AND m >= 0" for k in range(20)]

    found = asked(narrow + wide, [{"n": 5_000, "m": 1}])

    assert len(found.subscriptions) == 22
    assert found.candidates_examined <= 30


@pytest.mark.parametrize(
    ("template", "value", "matches"),
    [
        ("s = 'w{k:05}'", "w00042", 1),
        ("s = 'w{k:05}'", "w00042x", 0),
        ("s IN ('w{k:05}', 'v{k:05}', 'u')", "v00042", 1),
        ("s IN ('w{k:05}', 'v{k:05}')", "u", 0),
        ("s <= 'w{k:05}'", "w01990", 10),
        ("s < 'w{k:05}'", "w01990", 9),
        ("s > 'w{k:05}'", "w00010", 10),
        ("s >= 'w{k:05}'", "w00010a", 11),
        ("s BETWEEN 'w{k:05}' AND 'w{k:05}z'", "w00042a", 1),
        ("CASEI(s) = CASEI('W{k:05}')", "W00042", 1),
        ("CASEI(s) = 'w{k:05}'", "W00042", 1),
        ("CASEI(s) IN ('w{k:05}', 'x')", "w00042", 1),
        ("ACCENTI(CASEI(s)) = 'we{k:05}'", "WÉ00042", 1),
    ],
)
def test_strings_are_keys_like_numbers(template: str, value: str, matches: int) -> None:
    """Equality, IN and ranges of strings, through CASEI and ACCENTI too, examine the matches."""
    found = asked([template.format(k=k) for k in range(2_000)], [{"s": value}, {"s": 5}, {"s": ["w00042"]}, {}])

    assert len(found.subscriptions) == matches
    assert found.candidates_examined == matches


def test_booleans_are_keys() -> None:
    """What asks for the other truth value is no candidate, nor is anything for a value that is no boolean."""
    texts = ["flag = true"] * 300 + ["flag = false"] * 500 + ["flag"] * 200

    assert asked(texts, [{"flag": True}]).candidates_examined == 500
    assert asked(texts, [{"flag": False}]).candidates_examined == 500
    assert asked(texts, [{"flag": 1}, {"flag": "true"}, {}]).candidates_examined == 0


def test_instants_are_keys() -> None:
    """Instants examine their matches, and no string or number that looks like one examines any."""
    days = [f"20{year:02}-{month:02}-{day:02}" for year in range(10) for month in range(1, 13) for day in range(1, 29)]
    noon = {"t": "2003-07-15T00:00:00Z"}

    equal = asked([f"t = DATE('{day}')" for day in days], [noon, {"t": "2003-07-15"}])
    later = asked([f"t >= TIMESTAMP('{day}T00:00:00Z')" for day in days], [{"t": 20030715}])

    assert equal.candidates_examined == len(equal.subscriptions) <= 2
    assert later.candidates_examined == 0


def test_types_of_one_attribute_are_apart() -> None:
    """Subscriptions to other types of the same attribute are not examined."""
    texts = [f"x = {k}" for k in range(500)] + [f"x = 'v{k}'" for k in range(500)] + ["x = true"] * 500

    found = asked(texts, [{"x": 7}, {"x": "v7"}])

    assert found.candidates_examined == 2


def test_a_negation_needs_its_attribute_and_type() -> None:
    """NOT p and <> examine the events that have p's attribute in p's type, and no others."""
    for template in ("NOT (n = {k})", "n <> {k}", "NOT (n < {k})", "n NOT BETWEEN 1 AND {k}", "NOT (n IN (1, 2, {k}))"):
        texts = [template.format(k=k) for k in range(5, 505)]

        assert asked(texts, FAR).candidates_examined == 0, template
        assert asked(texts, [{"n": 5}]).candidates_examined <= 500, template


UNKEYED: dict[str, tuple[str, list[Event], list[Event]]] = {  # a template, events that examine all, and none
    "LIKE": ("s LIKE '_%' OR n = -{k}", [{"s": "b"}], [{"n": 1}, {"s": 1}, {"s": ["a"]}]),
    "NOT MATCHES": ("NOT (MATCHES(s, 'a{k}$'))", [{"s": "b"}], [{"n": 1}, {"s": 1}]),
    "NOT LIKE": ("s NOT LIKE '%a{k}_'", [{"s": "b"}], [{"n": 1}, {"s": 1}]),
    "NOT S_INTERSECTS": ("NOT S_INTERSECTS(p, BBOX({k}, 0, {k}, 1))", [{"p": [-1, 0]}], [{"q": [0, 0]}, {"p": None}]),
    "arithmetic": ("n * 2 + {k} > 5", [{"n": 1}], [{"m": 1}, {}]),
    "two attributes": ("n + {k} > m", [{"n": 1, "m": 9}], [{"s": "a"}, {}]),
    "A_CONTAINEDBY": ("A_CONTAINEDBY(l, ('a', 'b{k}'))", [{"l": ["c"]}], [{"l": "a"}, {"l": 1}, {}]),
    "NOT A_CONTAINS": ("NOT A_CONTAINS(l, ('a', 'b{k}'))", [{"l": ["c"]}], [{"l": "a"}, {}]),
    "two lists": ("A_OVERLAPS(l, k) OR A_EQUALS(l, ('a{k}'))", [{"l": [], "k": []}], [{"s": "a"}, {"l": "a"}, {}]),
    "IS NOT NULL": ("n + {k} IS NOT NULL", [{"n": 1}], [{"m": 1}, {}]),
}


@pytest.mark.parametrize("kind", UNKEYED)
def test_other_predicates_need_their_attribute(kind: str) -> None:
    """What has no narrower key examines the events that have its attribute, and only those."""
    template, present, absent = UNKEYED[kind]
    texts = [template.format(k=k) for k in range(100)]

    assert asked(texts, absent).candidates_examined == 0
    for event in present:
        assert asked(texts, [event]).candidates_examined == 100


@pytest.mark.parametrize("event", [{}, {"n": 1}, {"n": 5}, {"s": "a"}])
@pytest.mark.parametrize(
    "text", ["n + 1 IS NULL", "TRUE", "NOT FALSE", "1 + 1 = 2", "n + 1 IS NULL OR m = 1", "(n = 1) = TRUE"]
)
def test_what_has_no_cover_is_examined_on_every_event(text: str, event: Event) -> None:
    """IS NULL of arithmetic, truth whatever the event, and conditions used as values are verified on every event."""
    found = asked([text, f"({text}) AND n = 5"] * 10, [event] * 70)

    assert found.candidates_examined == 70 * (20 if event.get("n") == 5 else 10)


@pytest.mark.parametrize(
    "text",
    [
        "FALSE",
        "NOT TRUE",
        "1 = 2",
        "1 = 'a'",
        "NOT (1 = 'a')",
        "n BETWEEN 3 AND 1",
        "s BETWEEN 'b' AND 'a'",
        "n = 1 AND FALSE",
        "n = 1 AND m BETWEEN 3 AND 1",
        "s LIKE 'a%' AND n BETWEEN 3 AND 1",
        "n BETWEEN 3 AND 1 OR m BETWEEN 4 AND 2",
        "(n = 1 OR m = 1) AND (FALSE OR 1 = 2)",
    ],
)
def test_what_can_match_nothing_is_never_examined(text: str) -> None:
    """FALSE, UNKNOWN and ranges that end before they begin are examined on no event."""
    found = asked([text] * 50, [{"n": 1, "m": 1, "s": "a"}, {"n": 2, "m": 3}, {}])

    assert found.candidates_examined == 0


def test_in_a_set_of_many_examines_the_sets_that_have_the_value() -> None:
    """Each item of IN is a key of its own."""
    texts = [f"n IN ({', '.join(str(100 * k + i) for i in range(50))})" for k in range(200)]

    assert asked(texts, [{"n": 1_234}]).candidates_examined == 1
    assert asked(texts, [{"n": 1_250}, {"n": -1}, *FAR]).candidates_examined == 0


def test_many_events_examine_what_they_examine_alone() -> None:
    """A batch examines and verifies what its events do one by one."""
    texts = [f"a = {k % 50} AND b > {k}" for k in range(500)] + ["s LIKE 'x%' OR n = 3", "n IS NULL", "n = 1"] * 20
    events = [{"a": i % 60, "b": i, "s": "x" if i % 3 else 1, "n": i % 5} for i in range(150)]
    expressions = compiled(texts)
    access = Access.build(expressions)

    whole = access.match(batch(access, events))
    single = [access.match(batch(access, [event])) for event in events]

    assert whole.candidates_examined == sum(found.candidates_examined for found in single)
    assert whole.verified == sum(found.verified for found in single)
    assert [s for _, s in pairs(whole)] == [s for found in single for _, s in pairs(found)]


def test_output_beyond_the_first_room_is_not_counted_twice() -> None:
    """An event with more matches than the output has room for leaves the counts of the events before it alone."""
    texts = ["n = 1"] * 20_000 + ["a = 1 AND b <> 3"] * 1_000
    expressions = compiled(texts)
    access = Access.build(expressions)

    found = access.match(batch(access, [{"a": 1, "b": 3}] * 10 + [{"n": 1}]))

    assert len(found.subscriptions) == 20_000
    assert found.verified == 10 * 1_000
    assert found.candidates_examined == 20_000 + 10 * 1_000
