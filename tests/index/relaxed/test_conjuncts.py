"""The dimensions of a condition are its conjuncts as written, whatever its functions are compiled to."""

from __future__ import annotations

import itertools
from typing import Any, Final

import pytest

import tocsin
from tests.naive.relaxed import relaxed
from tocsin.language.functions import FUNCTIONS
from tocsin.language.operators.operator import Function
from tocsin.language.operators.temporal import TEMPORAL_FUNCTIONS

FEBRUARY: Final = "INTERVAL('2024-02-01', '2024-03-01')"
OF_ONE_ATTRIBUTE: Final = frozenset(name for name in FUNCTIONS if name.startswith("S_")) | {"TEXT"}
"""Functions that stand for conditions on one attribute alone: these are one dimension however they are compiled."""

CONDITIONS: Final[dict[str, tuple[str, ...]]] = {
    **{
        name: tuple(
            f"{negation}{name}({arguments})"
            for negation in ("", "NOT ")
            for arguments in (
                f"INTERVAL(a, b), {FEBRUARY}",
                "INTERVAL( a, b), INTERVAL('..', '..')",
                "INTERVAL('2024-01-01', b), INTERVAL(a, '..')",
            )
        )
        for name in TEMPORAL_FUNCTIONS
    },
    "GIVEN": ("GIVEN(a) AND b = 1", "NOT (GIVEN(a) AND b = 1)"),
    "HOLDS": ("HOLDS(a) AND b = 1", "NOT HOLDS(a)"),
    "AT_LEAST": ("AT_LEAST(2, a = 1, b = 1)", "NOT AT_LEAST(1, a = 1, b = 1)"),
    "NAMED": ("NAMED('x', a = 1 AND b = 1)", "a = 1 AND NAMED('x', b = 1 AND c = 1)"),
    "EACH": ("EACH(a, THIS = 1) AND b = 1", "NOT EACH(a, THIS = 1)"),
    "ANY_ATTRIBUTE": ("ANY_ATTRIBUTE(THIS = 1) AND a = 1",),
    "IP_IN": ("IP_IN(a, '10.0.0.0/8') AND b = 1",),
    "NOT": ("NOT (a = 1 OR b = 1)", "NOT(a = 1 OR (b = 1 AND c = 1))"),
    "constants": ("(a = 1 AND b = 1) OR 1 = 2", "(a = 1 AND b = 1) OR FALSE", "a = 1 AND b = 1 AND 1 = 1"),
}
VALUES: Final = (1, 2, "2024-02-10", "10.1.2.3", None, True, [1, 1])
EVENTS: Final[list[dict[str, Any]]] = [
    {"a": a, "b": b, "c": c} for a, b in itertools.product(VALUES, repeat=2) for c in (1, "2024-01-31T00:00:00Z")
]


@pytest.mark.parametrize("name", CONDITIONS)
def test_dimensions_are_conjuncts_as_written(name: str) -> None:
    weights = {"a": 0.25}
    for text in CONDITIONS[name]:
        tree = tocsin.parse(text.replace("NAMED('x', ", "(1 = 2 OR "))  # the oracle knows no names of parts
        own = weights if "a" in text else {}
        engine = tocsin.Engine()
        engine.subscribe("s", text, weights=own)
        answer = engine.match_batch(EVENTS, ranking=tocsin.Relaxed(1))
        rows = [tuple(row.values()) for row in answer.table.to_pylist()]
        assert rows == relaxed([("s", tree, own)], EVENTS, 1), text


def test_every_function_that_stands_for_others_is_tried() -> None:
    meaning_others = {name for name, function in FUNCTIONS.items() if type(function).meant is not Function.meant}
    assert meaning_others - OF_ONE_ATTRIBUTE <= set(CONDITIONS)
