"""Conditions over time, with functions inside functions, and streams of events within some microseconds."""

from __future__ import annotations

from typing import Any, Final, get_args

from hypothesis import strategies as st

from tests.naive.over_time import Condition, Function, Term
from tocsin.language.text import parse

LONGEST: Final = 40
"""All instants of a stream are within so many microseconds, so that each of them can be tried."""

_PLAIN: Final = (
    "type = 'a'",
    "ok = TRUE",
    "NOT ok = TRUE",
    "amount > 1",
    "type <> 'b' AND amount IS NOT NULL",
    "ok IS NULL OR amount < 2",
)
FUNCTIONS: Final = get_args(Function)

attributes = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from("ab"),
        "ok": st.booleans(),
        "amount": st.sampled_from((-1.0, 0.0, 0.5, 1.0, 2.0, 3.0)),
        "card": st.sampled_from("xyz"),
    },
)
instants = st.integers(0, LONGEST)
spans = st.integers(0, 15)


def condition(text: str, **terms: Term) -> Condition:
    """A condition from a text in which terms have names."""
    return Condition(parse(text), tuple(terms.items()))


@st.composite
def terms(draw: st.DrawFn, depth: int = 2, function: Function | None = None) -> Term:
    """A term, of any function or of one. Its condition has further terms, up to a depth."""
    function = function or draw(st.sampled_from(FUNCTIONS))
    inner = (
        draw(st.none() | conditions(depth - 1)) if function in ("COUNT", "PREVIOUS") else draw(conditions(depth - 1))
    )
    if function == "SINCE":
        return Term(function, condition=inner)
    if function == "PREVIOUS":
        return Term(function, draw(st.sampled_from(("amount", "type"))), inner)
    named = {"COUNT": None, "COUNT_DISTINCT": "card"}.get(function, "amount")
    return Term(function, named, inner, draw(spans))


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> Condition:
    """A condition with up to two terms, one of which may have further terms inside. Names differ at each depth."""
    plain = draw(st.sampled_from(_PLAIN))
    if depth <= 0 or draw(st.integers(0, 3)) == 0:
        return condition(plain)
    deep = draw(terms(depth))
    parts = [_comparison(draw, f"deep{depth}", deep)]
    named = {f"deep{depth}": deep}
    if draw(st.booleans()):
        named[f"flat{depth}"] = draw(terms(1) if depth == 1 else terms(0))
        parts.append(_comparison(draw, f"flat{depth}", named[f"flat{depth}"]))
    if draw(st.booleans()):
        parts.append(plain)
    return condition(draw(st.sampled_from((" AND ", " OR "))).join(parts), **named)


def _comparison(draw: st.DrawFn, name: str, term: Term) -> str:
    if term.function == "PREVIOUS" and term.attribute == "type":
        return f"{name} = 'a'"
    number: Any = draw(st.integers(0, 3))
    if term.function == "SINCE":
        number = f"0.{draw(spans):06d}"
    negated = draw(st.sampled_from(("", "", "", "NOT ")))
    return f"{negated}{name} {draw(st.sampled_from(('<=', '>=', '>', '=')))} {number}"
