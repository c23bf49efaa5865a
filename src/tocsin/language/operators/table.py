"""The table of all operators."""

from __future__ import annotations

from typing import Final

from tocsin.language.operators import (
    any_element,
    arithmetic,
    array,
    comparison,
    distance,
    holding,
    logic,
    membership,
    pattern,
    scalars,
    spatial,
    temporal,
    text,
)
from tocsin.language.operators.operator import register

OPERATORS: Final = (
    *(logic.All(), logic.Either(), logic.Negation()),
    *(scalars.Constants(), scalars.Attributes()),
    *(comparison.Compared(), comparison.Absence()),
    *(membership.Member(), membership.Within()),
    *(arithmetic.Computed(), arithmetic.Spelled()),
    *(pattern.Folding(), pattern.Likeness(), pattern.Matching()),
    *(array.Arrays(), array.Relation()),
    spatial.Relation(),
    distance.Distance(),
    *(temporal.Intervals(), temporal.Relation()),
    text.Keywords(),
    any_element.SomeElement(),
    *(holding.Holds(), holding.Some()),
)


def register_all() -> None:
    """Register all operators. Importing `tocsin.language` does this once."""
    for operator in OPERATORS:
        register(operator)
