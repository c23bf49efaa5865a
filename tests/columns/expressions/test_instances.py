"""Instances of templates, compiled a chunk at a time, mean what their trees mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.encoding import encoded
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.instances import compile_instances
from tocsin.columns.expressions.recipes import RecipeBook
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index.boolean.scan import Scan
from tocsin.language import Instance, Templates
from tocsin.model.expression import Expression


def read(texts: list[str]) -> list[Expression | Instance]:
    templates = Templates()
    return [templates.instance(text) or tocsin.parse(text) for text in texts]


def answers(compiled: CompiledExpressions, events: list[dict]) -> list[tuple[int, int]]:
    found = Scan.build(compiled).match(encoded(events, Wanted(compiled.attributes)))
    return list(zip(found.events.tolist(), found.subscriptions.tolist(), strict=True))


@given(
    expressions=st.lists(own.expressions(max_depth=3), min_size=1, max_size=12),
    events=st.lists(own.json_events(), min_size=1, max_size=12),
)
def test_instances_answer_like_their_trees(expressions, events):
    """Whatever the expressions: with a recipe or without, in one chunk."""
    texts = [tocsin.to_text(expression) for expression in expressions]

    compiled = compile_instances(read(texts), RecipeBook())

    assert answers(compiled, events) == answers(compile_expressions(expressions), events)


TEMPLATES = (
    "{a} = {n} AND {b} <> {m}",
    "{a} > {n} OR {b} <= -{m}",
    "{a} IN ({n}, {m}, {n}) AND {b} = '{s}'",
    "{b} IN ('{s}', '{t}') AND NOT {a} BETWEEN {n} AND {m}",
    "{b} BETWEEN '{s}' AND '{t}' OR {b} < '{t}' AND {b} > '{s}'",
    "CASEI({b}) = '{s}' AND {a} >= -{n}",
    "CASEI({b}) = CASEI('{s}') AND {a} > {n}",
    "CASEI({b}) IN (CASEI('{s}'), ACCENTI(CASEI('{t}'))) OR ACCENTI({b}) = ACCENTI('{s}')",
    "CASEI({b}) LIKE CASEI('{t}%') OR {b} = CASEI('{t}')",
    "TEXT({b}, 'a') OR ACCENTI({b}) >= ACCENTI('{s}')",
    "A_CONTAINS(l, ('{s}', '{t}', '{s}')) OR A_EQUALS(l, ({n}, {m}))",
    "S_INTERSECTS(p, BBOX(-{n}, {m}, {n}, 9)) AND {b} = '{t}'",
    "{n} < {m} AND {a} = {n}",
    "{a} + {n} > {m}",
    "{b} LIKE '{s}%'",
    "flag AND {a} IS NOT NULL AND {a} = {n}",
    "{c} >= DATE('2024-05-0{k}') AND {b} = '{s}'",
    "{c} < TIMESTAMP('2024-05-0{k}T12:00:00Z') OR {c} > DATE('2024-05-08')",
    "NOT {c} BETWEEN DATE('2024-05-01') AND DATE('2024-05-0{k}') AND {c} LIKE '2024-05-0_'",
    "{c} IN (DATE('2024-05-0{k}'), DATE('2024-05-02'), 'May') OR DATE('2024-05-0{k}') <> {c}",
)


@pytest.mark.parametrize("template", TEMPLATES)
def test_all_instances_of_a_template_answer_like_their_trees(template: str) -> None:
    """Equal names, doubled set members, signs and empty strings included."""
    random = np.random.default_rng(5)
    texts = [
        template.format(
            a=random.choice(["x", "y"]),
            b=random.choice(["u", "v", "x"]),
            c=random.choice(["t", "w"]),
            k=random.integers(1, 6),
            n=random.integers(0, 5),
            m=random.integers(0, 9),
            s=random.choice(["", "a", "B", "b", "é"]),
            t=random.choice(["b", "c", "Z"]),
        )
        for _ in range(200)
    ]
    events = [
        {
            "x": float(random.integers(-5, 9)),
            "y": int(random.integers(-5, 9)),
            "u": str(random.choice(["", "a", "aa", "b", "B", "bc", "é", "z"])),
            "v": str(random.choice(["", "a", "b", "B", "c", "Z"])),
            "t": str(
                random.choice(["2024-05-03", "2024-05-04T12:00:00Z", "2024-05-02T23:00:00-01:00", "May", "2024-05-32"])
            ),
            "w": str(random.choice(["2024-05-01", "2024-05-09", "2024-05-05T00:00:00.000001Z"])),
            "flag": bool(random.integers(0, 2)),
            "l": random.choice([1.0, 2.0, 3.0], 2).tolist() + random.choice(["a", "b", "c"], 2).tolist(),
            "p": random.integers(-9, 9, 2).tolist(),
        }
        for _ in range(100)
    ]

    compiled = compile_instances(read(texts), RecipeBook())
    expected = answers(compile_expressions([tocsin.parse(text) for text in texts]), events)

    assert answers(compiled, events) == expected
    assert expected


def test_most_templates_have_a_recipe() -> None:
    """What comes by the million is compiled in columns."""
    book, templates = RecipeBook(), Templates()
    one = templates.instance("a = 1 AND b IN ('x', 'y') AND NOT (c < 5 OR S_INTERSECTS(p, BBOX(0, 0, 1, 1)))")

    assert one is not None
    assert book.read(one)[1] is None, "a template that was seen once has none"
    assert book.read(one)[1] is not None
    assert RecipeBook().read(one, is_alone=False)[1] is not None
    folded = templates.instance("CASEI(brand) = CASEI('NOKIA') AND price < 5")
    assert folded is not None
    book.read(folded)
    assert book.read(folded)[1] is not None
    of_date = templates.instance("ts >= DATE('2024-05-31') AND ts < TIMESTAMP('2024-06-02T00:00:00Z')")
    assert of_date is not None
    book.read(of_date)
    assert book.read(of_date)[1] is not None


DATED = [
    "a + n BETWEEN DATE('1970-01-0{}') AND DATE('1970-01-09')",
    "DATE('1970-01-0{}') - n > 3600",
    "a - TIMESTAMP('1970-01-0{}T00:00:00.25Z') < 7.5 AND n = 1",
    "n > {} AND DATE('1970-01-02') - a > 60",
]


@pytest.mark.parametrize("text", DATED)
def test_sums_with_dates_are_those_of_each_text_alone(text: str) -> None:
    """Of texts that differ in a date or in a number, and of equal ones: added together, one by one, and scanned."""
    texts = [text.format(number) for number in (2, 3, 2, 4, 3)]
    moments = "1970-01-01T00:00:00Z", "1970-01-02T10:00:00Z"
    events = [{"a": a, "n": n} for a in (0, 3, 86_400, 172_807, *moments) for n in (1, 3, 86_400, 180_000, *moments)]
    alone = [tocsin.match([{"id": 0, "where": text}], events).table["event"].to_pylist() for text in texts]
    records = [{"id": number, "where": text} for number, text in enumerate(texts)]
    together = [tocsin.Engine(index) for index in ("auto", "scan", "auto")]
    for engine in together[:2]:
        assert engine.subscribe_many(records).accepted == len(texts)
    for record in records:
        together[2].subscribe(record["id"], record["where"])

    assert any(alone)
    for engine in together:
        found = engine.match_batch(events).table.to_pydict()
        assert [
            sorted(event for event, own in zip(found["event"], found["subscription"], strict=True) if own == number)
            for number in range(len(texts))
        ] == alone
