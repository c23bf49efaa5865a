"""Warnings of letter case parse few texts, and tell of all that a string satisfies only if case is ignored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.columns.events.wanted import Wanted
from tocsin.engine.notices import case
from tocsin.engine.notices.case import but_for_case
from tocsin.engine.seen import Seen, seen_in
from tocsin.language import parse, to_text
from tocsin.language.evaluate import evaluate
from tocsin.language.ignoring_case import ignoring_case
from tocsin.language.stored import stored_expression
from tocsin.model.expression import Expression

STRINGS = ["", "oslo", "Oslo", "OSLO", "straße", "STRASSE", "it's", "IT'S", "a_b", "A%b", "10", "x\\y"]
PATTERNS = [
    *(text for text in STRINGS if "\\" not in text),
    "o%",
    "%LO",
    "o_lo",
    "%'%",
    "a\\_B",
    "x\\\\%",
    "%ß%",
    "%SS%",
    "%",
    "z%",
]


def seen_of(strings: list[str]) -> Seen:
    return seen_in([{"city": text, "price": 5} for text in strings], Wanted(["city", "price"]))


def told(texts: list[str], seen: Seen) -> list[tuple[str, int, int]]:
    """The condition, the number of subscriptions and the first of them, of each warning."""
    return [(one.condition, one.subscriptions, one.example) for one in but_for_case(enumerate(texts), seen)]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


CONDITIONS = st.one_of(
    st.sampled_from(STRINGS).map(lambda text: f"city = {quoted(text)}"),
    st.lists(st.sampled_from(STRINGS), min_size=1, max_size=3).map(
        lambda own: f"city IN ({', '.join(map(quoted, own))})"
    ),
    st.sampled_from(PATTERNS).map(lambda text: f"city LIKE {quoted(text)}"),
    st.sampled_from(PATTERNS).map(lambda text: f"city like {quoted(text)}"),
    st.sampled_from(["os.o", "^IT", "ß|z"]).map(lambda text: f"MATCHES(city, {quoted(text)})"),
)


@given(where=CONDITIONS, strings=st.lists(st.sampled_from(STRINGS), min_size=1, max_size=4))
def test_all_that_case_prevents_is_told(where: str, strings: list[str]) -> None:
    """And nothing else: as an evaluation of every condition on every string says."""
    tree = parse(where)
    ignoring = ignoring_case(tree)
    assert ignoring is not None
    events = [{"city": text} for text in strings]
    met = [event for event in events if evaluate(ignoring, event) is True]
    prevented = bool(met) and not any(evaluate(tree, event) is True for event in met)

    assert told([f"price < 5 AND {where}"], seen_of(strings)) == ([(to_text(tree), 1, 0)] if prevented else [])


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are parsed."""
    texts: list[str] = []

    def parse_stored(text: str) -> Expression:
        texts.append(text)
        return stored_expression(text)

    monkeypatch.setattr(case, "stored_expression", parse_stored)
    return texts


def test_texts_that_no_string_may_meet_are_not_parsed(parsed: list[str]) -> None:
    """Nor those that a string meets as it is."""
    texts = ["city = 'Rome'", "city = 'Oslo'", "city LIKE 'R%'", "city IN ('Rome', 'Oslo')", "city > 'a'", "price < 5"]
    assert told([*texts, "city = 'oslo' AND price < 3"], seen_of(["Oslo"])) == [("city = 'oslo'", 1, 6)]
    assert parsed == ["city = 'oslo' AND price < 3"]


def test_all_subscriptions_of_a_condition_are_counted() -> None:
    """One that has it twice counts once."""
    texts = ["city = 'oslo'", *(f"city = 'x{number}'" for number in range(2000)), "price < 5 OR city = 'oslo'"]
    texts += ["city = 'oslo' OR city = 'oslo' AND price < 7"]
    assert told(texts, seen_of(["Oslo"])) == [("city = 'oslo'", 3, 0)]


def test_rules_of_other_systems_are_read_as_what_they_mean(parsed: list[str]) -> None:
    rule = "@sql city = 'oslo' AND price < 5"
    assert told([rule], seen_of(["Oslo"])) == [("city = 'oslo'", 1, 0)]
    assert parsed == [rule]
