"""NUMBER: strings and booleans of events as numbers."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.language.meaning import assert_meaning
from tocsin import Engine, ExpressionError, parse

CASES = [
    ("NUMBER(x) = 5", ["5", 5, "5.0", "+5", "0.5e1"], ["", " 5", "five", True, None, [5], "1e999"]),
    ("NUMBER(x) > 0", [True, "1", 0.5], [False, "0", "-1", "x", None]),
    ("NUMBER(x) IS NULL", ["x", "", None, ["5"]], ["5", False, 7]),
    ("NUMBER(x) * 2 + 1 = 11", ["5", 5], ["6", "x"]),
    ("NOT NUMBER(x) = 5", ["6", True], ["x", None, "5"]),
    ("ANY(x, NUMBER(element) BETWEEN 4 AND 6)", [["x", "5"], [5]], [["7"], [], "5"]),
    ("NUMBER('12') = 12", [None, 1], []),
]


@pytest.mark.parametrize(("text", "match", "fail"), CASES)
def test_meaning(text: str, match: list[object], fail: list[object]) -> None:
    assert_meaning(text, [{"x": value} for value in match], [{"x": value} for value in fail])


def test_tables() -> None:
    """Columns of strings are read as numbers, too."""
    engine = Engine()
    engine.subscribe_many([{"id": f"s{n}", "where": f"NUMBER(x) = {n}"} for n in range(9)])
    table = engine.match_batch(pa.table({"x": ["3", "x", None, "08"] * 5})).table
    assert table["subscription"].to_pylist() == ["s3", "s8"] * 5


@pytest.mark.parametrize("text", ["NUMBER(x + 1) > 0", "NUMBER(x)", "NUMBER(x, y) = 1"])
def test_refusals(text: str) -> None:
    """NUMBER takes an attribute, and is not a condition."""
    with pytest.raises(ExpressionError, match="NUMBER"):
        parse(text)
