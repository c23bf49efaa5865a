"""ANY_ATTRIBUTE on plain events, which are encoded together: as on each of them alone."""

from __future__ import annotations

from typing import Any

import pytest

from tocsin import Engine
from tocsin.language import evaluate, parse
from tocsin.model.elements import values_for

WHERE = [
    "ANY_ATTRIBUTE(CASEI(element) LIKE CASEI('%Fail%'))",
    "NOT ANY_ATTRIBUTE(element LIKE '%a%')",
    "ANY_ATTRIBUTE(element > 4)",
    "ANY_ATTRIBUTE(element = true)",
    "ANY_ATTRIBUTE(element >= TIMESTAMP('2024-05-01T00:00:00Z'))",
    "ANY_ATTRIBUTE(MATCHES(element, 'é|n.t')) AND user = 'x'",
    "ANY_ATTRIBUTE(element IS NULL)",
]
ODD: list[Any] = [
    float("nan"),
    float("inf"),
    2**60,
    -(2**70),
    "é",
    "naïve not",
    [1, "fail"],
    {"in": "FAILED"},
    None,
    [],
]


def _events(names: int) -> list[dict[str, Any]]:
    plain = [
        {
            "user": "xyz"[n % 3],
            f"n{n % names}": n % 7,
            "text": f"login {'failed' if n % 5 == 0 else 'ok'}",
            "b": n % 11 == 0,
        }
        for n in range(70)
    ]
    plain += [{"user": "x", "at": f"2024-05-0{1 + n}T00:00:00Z", "f": n / 2, "none": None} for n in range(9)]
    return plain + [{"user": "x", "odd": value, "unasked": n} for n, value in enumerate(ODD)] + [{}]


@pytest.mark.parametrize("names", [1, 60])
@pytest.mark.parametrize("others", [0, 300], ids=["few names asked for", "many"])
def test_a_batch_is_each_event(names: int, others: int) -> None:
    """Few names are encoded name by name, many end to end; odd values leave their event to the general way."""
    engine = Engine()
    engine.subscribe_many({"id": n, "where": where} for n, where in enumerate(WHERE))
    engine.subscribe_many({"id": 1000 + n, "where": f"other{n} = 1"} for n in range(others))
    events, trees = _events(names), [parse(where) for where in WHERE]
    expected = [[n for n, tree in enumerate(trees) if evaluate(tree, values_for(trees, event))] for event in events]
    answer = engine.match_batch(events)
    found = {row: [] for row in range(len(events))}
    for row, number in zip(answer.table["event"].to_pylist(), answer.table["subscription"].to_pylist(), strict=True):
        found[row].append(number)
    assert [sorted(found[row]) for row in range(len(events))] == expected
    for _ in range(3):  # the form of an event is known from the third on
        assert [sorted(match.subscription for match in engine.match(event)) for event in events] == expected


def test_a_value_that_nobody_names_is_told_as_before() -> None:
    """A number too large to be exact is told in whatever attribute it is, alone or among others."""
    engine = Engine()
    engine.subscribe("a", "ANY_ATTRIBUTE(element = 'x')")
    odd = {"n": 2**60, "s": "x"}
    alone = engine.match_batch([odd])
    among = engine.match_batch([*({"n": n, "s": "x"} for n in range(60)), odd])
    assert [(error.field, error.reason) for error in alone.errors] == [(e.field, e.reason) for e in among.errors]
    assert [str(notice) for notice in alone.warnings] == [str(notice) for notice in among.warnings]
