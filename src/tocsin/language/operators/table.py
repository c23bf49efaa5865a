"""The table of all operators."""

from __future__ import annotations

from typing import Final

from tocsin.language.operators import (
    any_element,
    arithmetic,
    array,
    at_least,
    comparison,
    distance,
    duration,
    given,
    holding,
    list_value,
    local_time,
    logic,
    membership,
    named,
    network,
    now,
    number,
    outer,
    over_time,
    pattern,
    scalars,
    spatial,
    temporal,
    text,
    version,
)
from tocsin.language.operators.operator import register

OPERATORS: Final = (
    *(logic.All(), logic.Either(), logic.Negation(), at_least.AtLeast()),
    *(scalars.Constants(), scalars.Attributes()),
    *(comparison.Compared(), comparison.Absence()),
    *(membership.Member(), membership.Within()),
    *(arithmetic.Computed(), number.AsNumber()),
    *(pattern.Folding(), pattern.Likeness(), pattern.Matching()),
    *(array.Arrays(), array.Relation()),
    spatial.Relation(),
    distance.Distance(),
    *(network.Address(), network.InNetwork(), version.Version()),
    *(temporal.Intervals(), temporal.Relation()),
    *(local_time.LocalTime(), duration.Duration(), now.Now()),
    text.Keywords(),
    given.Given(),
    *(list_value.Length(), list_value.Element()),
    *(any_element.SomeElement(), any_element.EveryElement(), any_element.SomeAttribute()),
    outer.Outer(),
    *(holding.Holds(), holding.Some()),
    named.Part(),
    *(over_time.Counted(), over_time.CountedDistinct(), over_time.Aggregated()),
    *(over_time.Previous(), over_time.Since(), over_time.By()),
)


def register_all() -> None:
    """Register all operators. Importing `tocsin.language` does this once."""
    for operator in OPERATORS:
        register(operator)
