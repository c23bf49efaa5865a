"""What an index cannot hold it refuses: which subscription it is, why, and what takes it."""

from __future__ import annotations

import pytest

import tocsin
from tests.index.asking import compiled
from tocsin.index import matcher_builder
from tocsin.papers.opindex.k_index import MOST_VALUES

REFUSED = {
    "k_index": (
        ("A > 2", "without an end"),
        ("NOT (A > 2)", "without an end"),
        ("t > DATE('2024-01-01')", "without an end"),
        ("t BETWEEN DATE('2024-01-01') AND DATE('2024-01-02')", "more than"),
        ("T_INTERSECTS(t, INTERVAL('..', DATE('2024-01-01')))", "more than"),
        (f"A BETWEEN 1 AND {MOST_VALUES + 1}", "more than"),
        ("s > 'a'", "range of strings"),
        ("s LIKE 'a%'", "does not compare"),
        ("A = 1 AND B IS NULL", "does not compare"),
        ("A = B", "does not compare"),
        (" AND ".join(f"(A = {i} OR B = {i} AND C = {i})" for i in range(12)), "disjunctive"),
    ),
    "be_tree": (
        ("s LIKE 'a%'", "does not compare"),
        ("A = 1 AND B IS NULL", "does not compare"),
        ("A = B", "does not compare"),
        (" AND ".join(f"(A = {i} OR B = {i})" for i in range(12)), "disjunctive"),
    ),
    **dict.fromkeys(
        ("tiles", "vcr", "r_tree"),
        (
            ("NOT (a > 2)", "no range of an attribute and no box"),
            ("a = 1 OR b = 2", "no range of an attribute and no box"),
            ("a <> 1 AND s LIKE 'a%'", "no range of an attribute and no box"),
            ("NOT S_INTERSECTS(p, BBOX(0, 0, 1, 1))", "no range of an attribute and no box"),
            ("A_OVERLAPS(p, q)", "no range of an attribute and no box"),
            ("TRUE", "no range of an attribute and no box"),
        ),
    ),
    "opindex": (
        ("a IS NULL", "IS NULL holds where"),
        ("a = 1 AND b IS NULL", "IS NULL holds where"),
        ("TRUE", "holds for every event"),
        ("a = 1 OR TRUE", "holds for every event"),
        ("a = b", "compares two attributes"),
        ("a + 1 = 2", "compares two attributes, or calculates"),
        ("A_CONTAINS(l, ('x'))", "about arrays"),
        ("S_INTERSECTS(p, POINT(1 2))", "about geometries"),
        ("(a = 1) = (b = 2)", "as a value"),
        (" AND ".join(f"(a = {k} OR b = {k})" for k in range(65)), "in conjunctive more than 64"),
    ),
}


@pytest.mark.parametrize(
    ("index", "text", "reason"), [(index, *row) for index, rows in REFUSED.items() for row in rows]
)
def test_what_an_index_cannot_hold_is_refused(index: str, text: str, reason: str) -> None:
    """The number of the subscription, and why; "auto" takes it."""
    with pytest.raises(tocsin.UnsuitableIndex, match=reason) as caught:
        matcher_builder(index, {}).build(compiled(["A = 1", text, "A = 2"]))

    assert caught.value.number == 1
    assert "'auto'" in str(caught.value)
