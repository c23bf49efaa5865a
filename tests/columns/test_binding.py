"""A few strings get the same rank codes as many, whether they were seen before or not."""

from __future__ import annotations

import re
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tocsin.columns import binding
from tocsin.columns.binding import Binder
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.writer import compile_expressions

words = st.text(st.sampled_from("abzé"), max_size=3)


@given(operands=st.lists(words, min_size=1, max_size=6), strings=st.lists(words, min_size=1, max_size=6))
def test_a_few_strings_have_the_ranks_of_many(operands: list[str], strings: list[str]) -> None:
    """Equal to an operand, between two, before all and behind all."""
    compiled = compile_expressions([tocsin.parse(f"a < '{one}'") for one in operands])
    batch = encode_objects([(row, {"a": one}) for row, one in enumerate(strings)], Wanted(["a"]))
    binder = Binder(compiled)
    with mock.patch.object(binding, "_FEW", 0):
        wanted = Binder(compiled).bind(batch).ranks.tolist()

    first, again = binder.bind(batch).ranks.tolist(), binder.bind(batch).ranks.tolist()

    assert first == again == wanted


@pytest.mark.parametrize("text", ["CASEI(a) = 'é'", "a LIKE 'b%'", "MATCHES(a, 'b.')", "a = b"])
def test_what_needs_more_of_strings_gets_it(text: str) -> None:
    """Transforms, patterns and comparisons of two attributes are not answered from the ranks."""
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": 0, "where": text}, {"id": 1, "where": "a = 'bx'"}])

    found = [[one.subscription for one in engine.match({"a": a, "b": "É"})] for a in ("É", "bx", "É", "bx")]

    assert found[:2] == found[2:] == [[0] if text in ("CASEI(a) = 'é'", "a = b") else [], found[1]]
    assert found[1] == ([1] if found[0] else [0, 1])


def test_strings_are_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a stream of ever new strings does not fill the memory."""
    monkeypatch.setattr(binding, "_MOST_KNOWN", 10)
    binder = Binder(compile_expressions([tocsin.parse("a = 's7'")]))
    wanted = Wanted(["a"])

    codes = [binder.bind(encode_objects([(0, {"a": f"s{n}"})], wanted)).ranks.item() for n in range(100)]

    assert len(binder._known) <= 10
    assert [n for n, code in enumerate(codes) if code == 1] == [7]


@pytest.mark.parametrize("others", [0, 70], ids=["few strings", "many"])
@given(st.lists(st.fixed_dictionaries({}, optional={"a": words, "b": words, "c": words}), min_size=1, max_size=4))
def test_regular_expressions_are_tried_if_an_event_has_what_they_ask_about(
    others: int, events: list[dict[str, str]]
) -> None:
    """One that has a literal, one that has none, and one under another attribute: nothing is missed, or too much.

    In a small batch it is tried on the strings of its attribute, in a large one on all if an event has the attribute.
    """
    asked = {"a": "a.*z", "b": "[bé]$"}
    compiled = compile_expressions([tocsin.parse(f"MATCHES({name}, '{regex}')") for name, regex in asked.items()])
    events = [*events, *({"c": f"{number}z"} for number in range(others))]
    batch = encode_objects(list(enumerate(events)), Wanted([*asked, "c"]))

    bound = Binder(compiled).bind(batch)

    for number, text in enumerate(batch.strings):
        found = bound.fits[bound.fit_starts[number] : bound.fit_starts[number + 1]].tolist()
        has = {name: any(name in e and (others or e[name] == text) for e in events) for name in asked}
        tried = [2 * row + 1 for row, (name, regex) in enumerate(asked.items()) if has[name] and re.search(regex, text)]
        assert found == tried
