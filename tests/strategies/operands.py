"""What conditions compare besides conditions: attributes, constants, arithmetic and functions of these."""

from __future__ import annotations

from functools import cache
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.strategies.pools import ATTRIBUTES, DURATIONS, SCALARS, ZONES, Kind, attribute_names, chosen, often, scalars
from tocsin.model.expression import ARITHMETIC, Arithmetic, Attribute, Call, Constant, Expression

PRESENT_TIME: Final = Call("NOW", ())


def attributes(kind: Kind) -> SearchStrategy[Expression]:
    """Attributes that are usually of a kind."""
    return often(st.sampled_from(ATTRIBUTES[kind]), attribute_names(), odds=14).map(Attribute)


def constants(kind: Kind) -> SearchStrategy[Expression]:
    return often(SCALARS[kind], scalars(), odds=14).map(Constant)


@cache
def arithmetic(depth: int) -> SearchStrategy[Expression]:
    inner = often(attributes("number"), SCALARS["number"].map(Constant), odds=2)
    if depth > 2:
        inner = often(inner, st.deferred(lambda: arithmetic(depth - 1)), odds=4)
    return st.builds(Arithmetic, st.sampled_from(ARITHMETIC), inner, inner)


def spelled(name: str) -> Expression:
    return Call("NUMBER", (Attribute(name),))


def shown(*names: str) -> SearchStrategy[Expression]:
    """What clocks and calendars show at an instant."""
    instant = often(attributes("instant"), attribute_names().map(Attribute), odds=4)
    zone = st.sampled_from(ZONES).map(Constant)
    return st.builds(Call, st.sampled_from(names), st.one_of(st.tuples(instant), st.tuples(instant, zone)))


def folded(text: SearchStrategy[Expression], depth: int) -> SearchStrategy[Expression]:
    """Text inside CASEI or ACCENTI, or in both."""
    once = st.builds(Call, st.sampled_from(("CASEI", "ACCENTI")), st.tuples(text))
    return often(once, folded(once, depth - 1), odds=4) if depth > 2 else once


def _instants() -> SearchStrategy[Expression]:
    return chosen(
        (6, attributes("instant")),
        (2, st.just(PRESENT_TIME)),
        (1, SCALARS["instant"].map(Constant)),
        (1, attribute_names().map(Attribute)),
    )


def _seconds(depth: int) -> SearchStrategy[Expression]:
    """A number of seconds; a duration is a call of a constant, and so one level deeper than the others."""
    numbers = chosen((1, SCALARS["number"].map(Constant)), (1, attributes("number")))
    length = st.sampled_from(DURATIONS).map(lambda text: Call("DURATION", (Constant(text),)))
    return st.one_of(length, numbers) if depth > 2 else numbers


def apart() -> SearchStrategy[Expression]:
    """The seconds between two instants."""
    return st.builds(Arithmetic, st.just("-"), _instants(), _instants())


def moved(depth: int) -> SearchStrategy[Expression]:
    """An instant, some seconds earlier or later."""
    moment = often(_instants(), st.deferred(lambda: moved(depth - 1)), odds=4) if depth > 2 else _instants()
    return st.one_of(
        st.builds(Arithmetic, st.sampled_from(("+", "-")), moment, _seconds(depth)),
        st.builds(Arithmetic, st.just("+"), _seconds(depth), moment),
    )
