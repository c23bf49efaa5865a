"""SQL: elements of lists by their positions, as DuckDB counts them."""

from __future__ import annotations

import pytest

from tests.language.dialects.agreeing import answers
from tests.language.dialects.test_sql import found, found_by_duckdb


@pytest.mark.parametrize(
    "where",
    [
        "l[1] = 1",
        "l[2] > 1 OR l[-1] = 5",
        "l[-2] = 1",
        "l[3] IS NULL",
        "l[1] < i AND NOT l[1] = l[2]",
        "l[1] IN (1, 5) AND l[1] BETWEEN 1 AND 2",
        "l[1] + 1 = 2 * l[2] - 2",
        "l[1] IS DISTINCT FROM 1",
        "(l[1]) = 1 AND l[2] IS NOT NULL",
    ],
)
def test_positions(where: str) -> None:
    """A clause finds the rows that DuckDB finds. Spark counts from 0, so it is not asked."""
    assert found(where) == found_by_duckdb(where)


@pytest.mark.parametrize(
    ("where", "expected"),
    [("o.l[1].a.b = 1", True), ("o.l[2].a.b = 1", False), ("o.l[-1].a.b = 2", True), ("o.l[1].a.b < o.l[2].a.b", True)],
)
def test_members_of_an_element(where: str, expected: bool) -> None:
    """A name behind a position is a member of that element, and not of the others."""
    event = {"o": {"l": [{"a": {"b": 1}}, {"a": {"b": 2}}]}}
    assert answers(where, "sql", event) == {expected}
