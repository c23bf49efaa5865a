"""OUTER: elements of lists compared with the event that they are in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.language.meaning import assert_meaning
from tocsin import Engine, RecordError, explain, match

ORDER = {"limit": 10, "currency": "EUR", "rush": True, "tags": ["a", "b"]}
CASES = [
    (
        "ANY(items, price > OUTER(limit))",
        [[{"price": 5}, {"price": 11}]],
        [[{"price": 10}], [], None, [{"price": "11"}]],
    ),
    ("EACH(items, currency = OUTER(currency))", [[{"currency": "EUR"}], []], [[{"currency": "USD"}], [{}]]),
    ("NOT ANY(items, currency = OUTER(currency))", [[{"currency": "USD"}], []], [[{"currency": "EUR"}], [{}]]),
    ("SOME(items, element > OUTER(limit))", [11, [3, 11]], [10, [3], None]),
    ("NOT SOME(items, element > OUTER(limit))", [10, [3], None], [11, [3, 11]]),
    ("ANY(items, price * 2 > OUTER(limit) + 1)", [[{"price": 6}]], [[{"price": 5}]]),
    ("ANY(items, price > 3 AND OUTER(rush))", [[{"price": 4}]], [[{"price": 2}]]),
    ("ANY(items, OUTER(missing) IS NULL)", [[{"price": 4}]], [[]]),
    ("ANY(items, OUTER(tags) = 'a')", [], [["a"]]),
    ("ANY(items, limit > OUTER(limit))", [[{"limit": 11}]], [[{"limit": 9}]]),
    (
        "ANY(items, ANY(parts, price > OUTER(limit)))",
        [[{"parts": [{"price": 11}], "limit": 20}]],
        [[{"parts": [{"price": 9}], "limit": 1}]],
    ),
    (
        "ANY(items, ANY(parts, OUTER(absent) IS NULL AND price > 1))",
        [[{"parts": [{"price": 2}], "absent": 1}]],
        [[{"parts": []}]],
    ),
    ("OUTER(limit) = 10", [None], []),
    ("OUTER(rush)", [None], []),
]


@pytest.mark.parametrize(("text", "match", "fail"), CASES)
def test_meaning(text: str, match: list[Any], fail: list[Any]) -> None:
    """JSON lines agree, too."""
    found, others = ([ORDER | {"items": value} for value in values] for values in (match, fail))
    assert_meaning(text, found, others)
    engine = Engine()
    engine.subscribe("s", text)
    lines = "".join(json.dumps(event) + "\n" for event in (*found, *others)).encode()
    assert engine.match_batch(lines).table["event"].to_pylist() == list(range(len(found)))


def test_many_forms_and_events() -> None:
    """Texts of one form, events with other limits and strings, and what was subscribed lately."""
    engine = Engine()
    engine.subscribe_many(
        [{"id": n, "where": f"ANY(items, kind = 'k{n}' AND price > OUTER(limit{n % 2}))"} for n in range(40)]
    )
    engine.subscribe(40, "ANY(items, kind = OUTER(wanted))")
    events = [
        {
            "limit0": n,
            "limit1": 40 - n,
            "wanted": f"k{n}",
            "items": [{"kind": f"k{k}", "price": 20} for k in range(n, n + 3)],
        }
        for n in range(40)
    ]
    answer = engine.match_batch(events, lists=True).table["subscription"].to_pylist()
    for n, found in enumerate(answer):
        limits = (n, 40 - n)
        assert found == [k for k in range(n, min(n + 3, 40)) if limits[k % 2] < 20] + [40]
    assert answer == [[one.subscription for one in engine.match(event)] for event in events]


def test_named_parts() -> None:
    subscription = {"id": "s", "where": "NAMED('dear', ANY(items, price > OUTER(limit)))"}
    answer = match(subscription, ORDER | {"items": [{"price": 1}, {"price": 12}, {"price": 13}]}, named=True)
    assert answer.table["named"].to_pylist() == [[{"name": "dear", "elements": [1, 2]}]]
    assert not answer.warnings


def test_explain_names_the_element() -> None:
    shown = str(explain("ANY(items, price > OUTER(limit))", ORDER | {"items": [{"price": 1}, {"price": 12}]}))
    assert "items[1] fulfils it" in shown
    assert 'price > OUTER("limit")' in shown or "price > OUTER(limit)" in shown


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ANY(items, price > OUTER(5))", "OUTER needs an attribute, not the number 5"),
        ("ANY(items, price > OUTER())", "OUTER takes one argument"),
        ("ANY(items, price > OUTER(a, b))", "OUTER takes one argument"),
    ],
)
def test_refusals(text: str, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        Engine().subscribe("s", text)
