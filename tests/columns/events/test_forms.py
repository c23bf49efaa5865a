"""Single events of known forms are encoded as the long way encodes them, and match as they should."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.columns.events.decoding import decoded
from tests.columns.events.test_plain import NAMES, plain_values
from tests.naive import match as naive
from tocsin.columns.events.forms import encode_one, event_of_known_form
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.errors import RecordError
from tocsin.model.readings import as_instant, as_null

VALUES: dict[type, list[Any]] = {
    str: ["a", "b", "é", "", "\ud800", "2024-05-31"],
    int: [0, 1, -1, 2**53, 2**53 + 1, 10**400],
    float: [0.5, -0.0, float("nan"), float("inf"), 1e308],
    bool: [False, True],
    type(None): [None],
    list: [[13.4, 52.5], ["a", "b", "a"], [1, "a"], [], [None], [True], ["é"], [{"b": 1}]],
}
EVENTS = st.dictionaries(st.sampled_from(NAMES), plain_values | st.sampled_from(VALUES[list]), max_size=8)
OF_ELEMENTS = compile_expressions(
    map(tocsin.parse, ("ANY(l, element = 'a')", "NOT ANY(items, element > 1)", "ANY_ATTRIBUTE(element LIKE 'a%')"))
).attributes
READINGS = (as_instant("s"), as_null("n"), as_null("flag"), "a.c", "items.a.b", *OF_ELEMENTS)


@st.composite
def alike(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Events with the same names, nearly all of them with values of the same types."""
    first = draw(EVENTS)
    events = [first]
    for _ in range(draw(st.integers(1, 5))):
        events.append({name: draw(st.sampled_from(VALUES[type(value)])) for name, value in first.items()})
    return draw(st.permutations([*events, *draw(st.lists(EVENTS | own.python_events(), max_size=2))]))


OF_EVERY_KIND = [
    {name: VALUES[kind][turn % len(VALUES[kind])] for name, kind in zip("sifbnl", VALUES, strict=True)}
    for turn in (0, 0, 0, *range(8))
]


@example([OF_EVERY_KIND], set("sifbnl"))
@given(st.lists(alike(), min_size=1, max_size=3), st.sets(st.sampled_from([*NAMES, *READINGS])))
def test_they_are_encoded_like_new_ones(groups: list[list[Any]], names: set[str]) -> None:
    """Also after more names are wanted."""
    shared, wanted = Wanted(sorted(names)), sorted(names)
    for group in groups:
        for row, event in enumerate(group):
            batch = encode_one(row, event, shared)
            fresh = encode_objects([(row, event)], Wanted(wanted))
            assert batch.rows.tolist() == fresh.rows.tolist()
            assert batch.rejects == fresh.rejects
            assert decoded(batch) == decoded(fresh)
            assert set(batch.elements) == set(fresh.elements)
            for name, lists in batch.elements.items():
                other = fresh.elements[name]
                assert decoded(lists.batch) == decoded(other.batch)
                assert lists.events.tolist() == other.events.tolist()
                assert lists.owners.tolist() == other.owners.tolist()
                assert lists.batch.rows.tolist() == other.batch.rows.tolist()
        more = [name for name in (f"later{len(wanted)}", "s", "a.b") if name not in wanted]
        wanted += more
        shared.add(more)


@given(st.lists(own.expressions(max_depth=4), min_size=1, max_size=6), alike())
def test_they_match_as_they_should(trees: list[Any], events: list[Any]) -> None:
    held, engine = list(enumerate(trees)), tocsin.Engine()
    for number, tree in held:
        engine.subscribe(number, tocsin.to_text(tree))
    for event in events * 2:
        expected = [subscription for _, subscription in naive.match(held, [event])]
        try:
            found = [one.subscription for one in engine.match(event)]
        except RecordError:
            found = []
        assert found == expected


def test_which_forms_are_bound() -> None:
    """The second event of a form binds it; the third is encoded so, unless a value needs a closer look."""
    wanted = Wanted(["n", "s", "a.b"])
    known: list[dict[str, Any]] = [{"n": 1, "s": "x", "z": None}] * 3 + [
        {"n": 2**60, "s": "x", "z": None},
        {"n": 1, "s": "é", "z": None},
    ]
    assert [event_of_known_form(0, one, wanted) is not None for one in known] == [False, False, True, False, False]
    lists: list[dict[str, Any]] = [{"n": [1, 2]}] * 3 + [{"n": [None]}]
    assert [event_of_known_form(0, one, wanted) is not None for one in lists] == [False, False, True, False]
    beside: list[dict[str, Any]] = [{"z": [1, "x"]}] * 3 + [{"z": [{"n": 1}]}, {"z": [None]}]
    assert [event_of_known_form(0, one, wanted) is not None for one in beside] == [False, False, True, False, False]
    never: list[dict[Any, Any]] = [
        {"n": {}},
        {"a": 1},
        {"n": 1, 5: 2},
        {f"x{place}": place for place in range(65)},
    ]
    assert all(event_of_known_form(0, one, wanted) is None for one in never * 3)
