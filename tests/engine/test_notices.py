"""A condition that meets nothing is told of, with what was meant; one that meets something is not."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tocsin
from tests.naive.flatten import flatten
from tests.naive.truth import truth
from tests.strategies.conditions import expressions, expressions_about_elements
from tests.strategies.events import json_events, with_lists
from tocsin.cli.main import main
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.engine.notices.case import but_for_case
from tocsin.engine.notices.exchanged import exchanged
from tocsin.engine.seen import Seen
from tocsin.language import parse, to_text
from tocsin.model.expression import AnyElement, Attribute, Between, Constant, Expression, In, walk

EVENTS = [
    {
        "price": 5,
        "city": "paris",
        "tags": ["x"],
        "gold": None,
        "ts": "yesterday",
        "number": "7",
        "ok": True,
        "rows": [{"v": "a"}],
    },
    {"price": 6.5, "city": "oslo", "tags": ["y"], "ts": "2024", "number": "8", "ok": False},
]


ASKED = [
    ("prcie < 5", "no event has prcie; did you mean price?"),
    ("Price < 5", "no event has Price; did you mean price?"),
    ("unheard = 5", "no event has unheard"),
    ('city = "oslo"', "no event has oslo; write text in single quotes: 'oslo'"),
    ("price = '5'", "every price that came is a number, never a text"),
    ("number = 7", "every number that came is a text, never a number; to read its texts so, pass schema="),
    (
        "ts > DATE('2024-01-01')",
        "every ts that came is a text, never an instant; write date and time as 2024-06-01T08:15:00Z",
    ),
    ("T_BEFORE(tags, prcie)", "every tags that came is a list, never an instant"),
    ("ANY(tags, sise > 3)", "of the elements of tags: no element has sise"),
    ("ANY(price, size > 3)", "no event has a list price"),
    ("tags = 'x'", "every tags that came is a list, never a text; use A_CONTAINS, A_OVERLAPS or ANY for lists"),
    ("A_CONTAINS(city, ('oslo'))", "every city that came is a text, never a list"),
    ("S_INTERSECTS(city, POINT(1 2))", "every city that came is a text, never a geometry"),
    ("CASEI(city) = 'PARIS'", "folded text is never 'PARIS', which folds to 'paris': fold it, too"),
    ("CASEI(city) LIKE 'P%'", "folded text is never 'P%', which folds to 'p%': fold it, too"),
    ("CASEI(city) IN ('oslo', 'Rome')", "folded text is never 'Rome', which folds to 'rome': fold it, too"),
    ("price BETWEEN 9 AND 3", "no value lies within"),
    ("price > 6 AND price < 6", "no value satisfies all of these conditions"),
    ("1 = 2", "never true"),
    ("TRUE", "always true"),
    ("unheard IS NULL", "always true: no event has unheard"),
    ("unheard IS NOT NULL", "no event has unheard"),
    ("price + unheard > 3", "no event has unheard"),
    ("(unheard > 1) = (price > 2)", "no event has unheard"),
    ("city LIKE 'o%' AND NOT (prcie > 4)", "no event has prcie; did you mean price?"),
    ("price <> 2 AND price <> '2'", "no value satisfies all of these conditions"),
    ("price NOT IN ('01234', 94110)", "no value satisfies all of these conditions"),
    ("NOT (price = 'a' OR price = 1)", "no value satisfies all of these conditions"),
    ("ok OR (price <> 2 AND price <> '2')", "no value satisfies all of these conditions"),
    ("price > 3 AND A_CONTAINS(price, (1))", "no value satisfies all of these conditions"),
    ("city * 2 > 1", "every city that came is a text, never a number"),
    ("price < city", "price and city are never of one type: every price that came is a number, every city a text"),
    ("city < price + 1", "every city that came is a text, never a number"),
    ("price < CASEI(city)", "every price that came is a number, never a text"),
    ("A_CONTAINS(tags, (1))", "every element of tags that came is a text, never a number"),
    ("A_CONTAINS(tags, ('x', TRUE))", "every element of tags that came is a text, never a boolean"),
    ("A_OVERLAPS(tags, (1, TRUE))", "every element of tags that came is a text, never a number or a boolean"),
    ("MATCHES(CASEI(city), 'ERROR')", "folded text never has 'ERO': write the pattern in folded letters, or with (?i)"),
    ("(price = 5) + (price = 6) >= 1", "neither true nor false of any event: it calculates with what is not a number"),
    ("(unheard > 1) IS NULL", "always true: no event has unheard"),
    ("(city > 1) IS NULL", "always true: every city that came is a text, never a number"),
    ("(city * 2) IS NULL", "always true: every city that came is a text, never a number"),
    ("(city * 2) IS NOT NULL", "every city that came is a text, never a number"),
    ("ANY(rows, v <> 2 AND v <> '2')", "of the elements of rows: no value satisfies all of these conditions"),
    ("ANY(rows, w + 1 > 2)", "of the elements of rows: no element has w"),
    ("ANY(rows, v * 2 > 1)", "of the elements of rows: every v that came is a text, never a number"),
]


FINE = [
    "price > 5 AND price < 6",
    "price < 4 OR price > 9",
    "price <> 6",
    "CASEI(city) = CASEI('PARIS')",
    "ok AND city IN ('a', 'b')",
    "A_OVERLAPS(tags, ('q', 5))",
    "gold IS NULL OR price IS NULL",
    "price + 1 > 3",
    "city = 'Rome' AND city LIKE '%e'",
    "price IN (500, '500')",
    "price = 500 OR price = '500' OR price = TRUE",
    "price + 1 IS NULL OR price > 1",
    "price * 2 > price",
    "A_CONTAINEDBY(tags, (1))",
    "A_EQUALS(tags, ('q'))",
    "MATCHES(CASEI(city), '(?i)PARIS|\\W\\pL[[:^upper:]]')",
    "MATCHES(city, 'PARIS')",
    "((price > 1) = (price < 3)) IS NULL",
    "(prcie > 1 OR price > 1) = TRUE",
    "ok = (price > 3)",
]


@pytest.mark.parametrize(("where", "reason"), ASKED)
def test_what_meets_nothing_is_told(where: str, reason: str) -> None:
    """By `match`, by an engine before and after it merges; dicts, JSON lines."""
    lines = "".join(json.dumps(event) + "\n" for event in EVENTS).encode()
    engine = tocsin.Engine()
    engine.subscribe("s", where)

    for told in (tocsin.match([{"id": "s", "where": where}], EVENTS).warnings, engine.warnings(lines)):
        assert len(told) == 1
        assert told[0].reason.startswith(reason)
        assert (told[0].subscriptions, told[0].example) == (1, "s")
        assert told[0].condition in to_text(parse(where))
    before = engine.warnings(EVENTS)
    engine.merge()
    assert engine.warnings(EVENTS) == before


@pytest.mark.parametrize("where", FINE)
def test_what_can_be_is_not_told(where: str) -> None:
    """It holds of none of the events, perhaps, but could."""
    events = [*EVENTS, {"gold": 1}]

    assert tocsin.match([{"id": "s", "where": where}], events).warnings == []


PLACES = {
    "texts": ["1", "2"],
    "five": [1, 2, 3, 4, 5],
    "reversed": [9, 9, 1, 1],
    "nulls": [None, None],
    "not a number": [float("nan"), 1.0],
    "one": [1.0],
}


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize(
    "where",
    [
        "S_INTERSECTS(p, BBOX(0, 0, 5, 5))",
        "NOT S_WITHIN(p, POLYGON((0 0, 9 0, 9 9, 0 0)))",
        "DISTANCE_M(p, POINT(1 1)) < 5",
        "ANY(rows, S_INTERSECTS(p, BBOX(0, 0, 5, 5)))",
    ],
)
def test_lists_that_are_not_places_are_told(where: str, kind: str) -> None:
    """Where a place is asked of them, even if others are places, in dicts, JSON lines and tables."""
    place, row = PLACES[kind], "rows" in where
    events = [{"p": one, "rows": [{"p": one}]} for one in ([1.0, 1.0], place)]
    sources: list[Any] = [events]
    if kind != "not a number":
        sources.append("".join(json.dumps(event) + "\n" for event in events).encode())
    if kind != "texts":
        column = [[1.0, 1.0], place]
        sources.append(pa.table({"p": column, "rows": [[{"p": one}] for one in column]}))
    for source in sources:
        told = [str(notice) for notice in tocsin.match([{"id": "s", "where": where}], source).warnings]
        assert len(told) == 1 and "1 list that came is not a place: a point is two numbers" in told[0], row


@pytest.mark.parametrize("place", [[1, 1, 50], [0, 0, 7, 2, 2, 9], [1, 1], [0, 0, 2, 2]])
def test_altitudes_are_left_out(place: list[float]) -> None:
    """A point of three numbers and a box of six are places, and nothing is told; as sets they are what they are."""
    asked = [
        {"id": "box", "where": "S_INTERSECTS(p, BBOX(0, 0, 3, 3))"},
        {"id": "far", "where": "S_INTERSECTS(p, BBOX(5, 5, 9, 9))"},
        {"id": "set", "where": f"A_EQUALS(p, ({', '.join(map(str, place))}))"},
    ]
    for source in ([{"p": place}], json.dumps({"p": place}).encode(), pa.table({"p": [[float(one) for one in place]]})):
        answer = tocsin.match(asked, source)
        assert answer.table["subscription"].to_pylist() == ["box", "set"]
        assert answer.warnings == []


def test_one_mistake_of_many_is_one_notice() -> None:
    """With how many ask it, the most first; subscriptions that are gone do not count."""
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": n, "where": f"prcie < {n}"} for n in range(50)])
    engine.subscribe_many([{"id": n, "where": f"color = '{n}'"} for n in range(50, 60)])
    engine.unsubscribe(0)

    told = engine.match_batch(EVENTS).warnings

    assert [(notice.attribute, notice.subscriptions) for notice in told] == [("prcie", 49), ("color", 10)]
    assert str(told[0]) == "prcie < 1 (subscriptions 1, 2, 3 and 46 more): no event has prcie; did you mean price?"
    assert [notice.reason for notice in engine.warnings()] == []


def test_what_is_asked_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second answer of an engine compiles nothing for its warnings, and neither does one after a change."""
    compiled: list[int] = []

    def counting(trees: Any, *args: Any) -> Any:
        trees = list(trees)
        compiled.append(len(trees))
        return compile_expressions(trees, *args)

    for module in ("asking", "telling"):
        monkeypatch.setattr(f"tocsin.engine.notices.{module}.compile_expressions", counting)
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": n, "where": f"ANY(rows, v = '{n}' AND w > {n})"} for n in range(700)])
    first = engine.match_batch(EVENTS).warnings
    assert sum(compiled) >= 1400
    compiled.clear()

    again = engine.match_batch(EVENTS).warnings
    engine.subscribe(700, "price > 1")
    after = engine.match_batch(EVENTS).warnings

    assert first == again == after != []
    assert sum(compiled) == 0


def test_notices_travel_with_a_pickled_answer() -> None:
    answer = tocsin.match([{"id": "s", "where": "prcie < 5"}], EVENTS)

    assert pickle.loads(pickle.dumps(answer)).warnings == answer.warnings
    assert len(answer.warnings) == 1


def test_the_command_line_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """`check --sample` all of it, `match` the first few."""
    monkeypatch.chdir(tmp_path)
    records = [{"id": str(n), "where": where} for n, (where, _) in enumerate(ASKED)]
    Path("s.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    Path("e.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))

    assert main(["check", "s.jsonl", "--sample", "e.jsonl"]) == 0
    shown = capsys.readouterr().out
    assert "warning: prcie < 5 (subscriptions 0, 24): no event has prcie; did you mean price?" in shown
    assert shown.count("warning: ") >= 15

    assert main(["check", "s.jsonl"]) == 0
    assert capsys.readouterr().out.count("warning: ") == 10

    assert main(["match", "s.jsonl", "e.jsonl", "--out", "out.jsonl"]) == 0
    shown = capsys.readouterr().err
    assert shown.count("warning: ") == 3
    assert "more warnings; `tocsin check s.jsonl --sample e.jsonl` shows them" in shown

    assert main(["match", "s.jsonl", "e.jsonl", "--out", "out.jsonl", "--no-warnings"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_explain_names_the_attribute_that_was_meant() -> None:
    told = str(tocsin.explain("prcie < 5", EVENTS[0]))

    assert "prcie is absent; did you mean price?" in told
    assert "did you mean" not in str(tocsin.explain("prcie IS NULL", EVENTS[0]))


def has_alternatives(tree: Expression) -> bool:
    """Whether a part may make it TRUE where the part that is told of does not: an item of a list, another attribute."""
    nodes = list(walk(tree))
    if any(has_alternatives(one.condition) for one in nodes if isinstance(one, AnyElement)):
        return True
    ends = [(one.low, one.high) for one in nodes if isinstance(one, Between)]
    if len({type(end.value) for pair in ends for end in pair if isinstance(end, Constant)}) > 1:
        return True  # two comparisons of two types
    if any(isinstance(one, In) and not isinstance(one.operand, Attribute) for one in nodes):
        return True  # an OR of comparisons
    return sum(isinstance(one, Attribute) for one in nodes) > 1


INSIDE = parse("S_INTERSECTS(place, BBOX(1, 1, 1, 1))")


@given(
    st.lists(st.one_of(expressions(max_depth=3), expressions_about_elements(2)), min_size=1, max_size=4),
    st.lists(with_lists(json_events()), min_size=1, max_size=6),
)
@example([INSIDE], [{"place": {"type": "Point", "coordinates": [1.0, 1.0]}}, {"place": [1.0]}])
@example([parse("AT_LEAST(2, TRUE, flag)"), parse("NOT AT_LEAST(2, FALSE, flag)")], [{"flag": False}, {}])
@example([parse("NAMED('k', TRUE AND flag)"), parse("HOLDS(1 = 1 AND flag)")], [{"flag": False}, {}])
def test_what_is_told_is_true(trees: list[Any], events: list[dict[str, Any]]) -> None:
    """Of no event is a condition TRUE of which that is said, of all one that is said to be always true."""
    records = [{"id": n, "where": to_text(tree)} for n, tree in enumerate(trees)]
    values = [flatten(event)[0] for event in events]

    for notice in tocsin.match(records, events).warnings:
        if notice.condition.endswith("...") or has_alternatives(parse(notice.condition)):
            continue
        truths = [truth(parse(notice.condition), value) for value in values]
        if "of the elements" in notice.reason and ("always true" in notice.reason or "[]" in repr(events)):
            continue  # it is of each element, if there is one
        if re.match("[0-9,]+ lists? that came", notice.reason):  # it is of some events: others may fulfil the condition
            lists = [isinstance(value.get(notice.attribute), tuple) for value in values]
            unread = [one is None for one, is_list in zip(truths, lists, strict=True) if is_list]
            assert int(notice.reason.split()[0]) == sum(unread), notice
        elif notice.reason.startswith("always true"):
            assert all(one is True for one in truths), notice
        else:
            assert not any(one is True for one in truths), notice


SINGLES = [0.1, 0.5, 16777217, -3, 1.5e-300, 2**24]


@given(st.sampled_from(SINGLES), st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.booleans())
def test_what_32_bit_floats_cannot_be_is_told(number: float, operation: str, is_nested: bool) -> None:
    """A constant that no such float equals, alone and in a list; the same column of 64 bits is fine."""
    name = "o.x" if is_nested else "x"
    texts = [f"{name} {operation} {number!r}", f"{name} IN ({number!r}, 'a', 'b')"]
    single = pa.array([0.5, 2.0], pa.float32())
    events = pa.table({"o": pa.StructArray.from_arrays([single], ["x"])} if is_nested else {"x": single})
    rounds = pa.scalar(number, pa.float64()).cast(pa.float32()).as_py() != number

    for text in texts:
        told = [one.reason for one in tocsin.match([{"id": 1, "where": text}], events).warnings]
        assert any("32-bit floats" in reason for reason in told) is rounds, (text, told)
        assert not tocsin.match([{"id": 1, "where": text}], events.to_pylist()).warnings


@pytest.mark.parametrize("form", ["dicts", "JSON", "CSV", "Arrow"])
def test_numbers_that_float64_rounds_are_told_where_equality_is_asked(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """9007199254740993.0 comes as its neighbour, which is then taken for equal."""
    monkeypatch.chdir(tmp_path)
    events: Any = {
        "dicts": [{"n": 9007199254740993.0}],
        "JSON": b'{"n": 9007199254740993.0}',
        "CSV": b"n\n9007199254740993.0\n",
        "Arrow": pa.table({"n": [9007199254740993.0]}),
    }[form]
    if form == "CSV":
        Path("n.csv").write_bytes(events)
        events = "n.csv"
    asked = ["n = 9007199254740992", "n IN (1, 9007199254740992)", "n <> 9007199254740992", "n > 5", "n = 5", "n <> 5"]

    answer = tocsin.match([{"id": number, "where": text} for number, text in enumerate(asked)], events)

    told = [one for one in answer.warnings if "2**53" in one.reason]
    assert [(one.attribute, one.subscriptions) for one in told] == [("n", 3)]
    assert {row["subscription"] for row in answer} == {0, 1, 3, 5}


NOT_READABLE = [
    ("price < 5", b"price;new\n5,50;ja\n6,70;nein\n", "texts such as '5,50' are not numbers: convert them"),
    ("new", b"price;new\n5,50;ja\n6,70;nein\n", "texts such as 'ja' are not booleans: convert them"),
    ("price < 5", b"price;new\n5.5;ja\nVB;nein\n", "to read its texts so, pass schema={'price': 'number'}"),
    ("price < 5", b"price;new\n;ja\n?;nein\n", "texts such as '?' are not numbers: convert them"),
]


@pytest.mark.parametrize(("where", "text", "told"), NOT_READABLE)
def test_a_type_is_advised_only_if_the_texts_can_be_read_so(where: str, text: bytes, told: str, tmp_path: Path) -> None:
    """If most of the first texts cannot be, the warning shows one of them."""
    (tmp_path / "events.csv").write_bytes(text)

    answer = tocsin.match({"id": "a", "where": where}, tmp_path / "events.csv")

    assert [told in one.reason for one in answer.warnings] == [True]


@pytest.mark.parametrize("where", ["day > '2026-11-01'", "day > 2026-11-01"])
def test_a_date_that_is_compared_with_another_type(where: str, tmp_path: Path) -> None:
    """The warning shows how a date is written, also if some value could not be read."""
    (tmp_path / "events.csv").write_text("day\n" + "2026-11-02\n" * 20 + "soon\n")

    answer = tocsin.match({"id": "a", "where": where}, tmp_path / "events.csv")

    assert [one.reason.partition("; ")[2] for one in answer.warnings] == ["write a constant such as DATE('2024-05-31')"]


def test_no_condition_is_read_if_no_event_came() -> None:
    def texts() -> Iterator[tuple[str, str]]:
        raise AssertionError
        yield "a", "city = 'Oslo'"

    assert list(but_for_case(texts(), Seen())) == []
    assert list(exchanged(texts(), {"place": ("lon", "lat")}, Seen())) == []
