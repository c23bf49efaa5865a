"""An operator that existing leaves express is one record: here CLOSE_TO(price, 100, 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tocsin.language import evaluate, parse, parse_any, to_json, to_text
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.leaves import Leaves
from tocsin.language.operators.operands import Path
from tocsin.language.operators.operator import Function, describe, register, unregister
from tocsin.model.elements import Values
from tocsin.model.expression import Attribute, Call, Constant, Expression


class CloseTo(Function):
    """Whether a number is at most so far from another one."""

    names, takes = ("CLOSE_TO",), None

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        number, *others = arguments
        if not isinstance(number, Attribute) or len(others) != 2:
            raise Misplaced(f"CLOSE_TO takes an attribute and two numbers, not {describe(number)}", number)

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> bool | None:
        came, centre, reach = parts
        return centre - reach <= came <= centre + reach if isinstance(came, float) else None

    def needed(self, node: Call, wanted: bool, values: Values) -> str:
        return f"{to_text(node.arguments[0])} {'near' if wanted else 'far from'} {to_text(node.arguments[1])}"

    def literal(self, node: Call, leaves: Leaves) -> int:
        number = cast(Attribute, node.arguments[0])
        centre, reach = (cast(float, cast(Constant, one).value) for one in node.arguments[1:])
        literal = leaves.between(Path(number.name), centre - reach, centre + reach)
        assert literal is not None
        return literal

    def has_recipe(self, node: Call) -> bool:
        return False


@pytest.fixture(scope="module", autouse=True)
def known() -> Iterator[None]:
    operator = CloseTo()
    register(operator)
    yield
    unregister(operator)


def alerts(count: int) -> list[dict[str, str]]:
    return [{"id": str(n), "where": f"CLOSE_TO(price, {n}, 0.4) AND color = 'red'"} for n in range(count)]


def test_text_and_json_have_it() -> None:
    """It is read and written as others are, and refused in their words."""
    tree = parse("NOT close_to(price, 100, 5) OR rain")

    assert to_text(tree) == "NOT CLOSE_TO(price, 100, 5) OR rain"
    assert parse_any(to_json(tree)) == tree
    with pytest.raises(tocsin.ExpressionError, match="takes an attribute and two numbers, not the number 3"):
        parse("CLOSE_TO(3, 100, 5)")


def test_its_index_is_that_of_its_leaves(tmp_path: FilePath) -> None:
    """An event looks at the alerts around its price, not at all of them; so does a folder that was saved."""
    engine = tocsin.Engine()
    engine.subscribe_many(alerts(5_000))
    events = [{"price": 17.3, "color": "red"}, {"price": 17.3, "color": "blue"}, {"color": "red"}]

    answer = engine.match_batch(events)
    engine.save(tmp_path / "folder")
    again = tocsin.Engine.load(tmp_path / "folder").match_batch(events)

    assert answer.table.column("subscription").to_pylist() == ["17"]
    assert again.table.equals(answer.table)
    assert answer.stats.candidates_examined <= 10
    assert "price near 17" in str(engine.explain("17", {"price": 40, "color": "red"}))


@given(
    reach=st.integers(0, 3),
    negated=st.booleans(),
    price=st.one_of(st.integers(-1, 9), st.none(), st.text(max_size=1), st.booleans()),
)
def test_every_index_says_what_its_evaluator_says(reach: int, negated: bool, price: object) -> None:
    """Of events with, without and with another value than a number."""
    where = f"{'NOT ' if negated else ''}CLOSE_TO(price, 4, {reach})"
    event = {} if price is None else {"price": price}
    values: dict[str, Any] = {"price": float(price) if type(price) is int else price} if event else {}

    truth = evaluate(parse(where), values)

    for index in ("scan", "access"):
        found = tocsin.match([{"id": "it", "where": where}], [event], index=index)
        assert (found.table.num_rows == 1) == (truth is True)
