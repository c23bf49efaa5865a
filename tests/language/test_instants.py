"""Sums and differences with instants: two of them differ by seconds, and seconds move one."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.meaning import assert_meaning
from tests.naive import match as naive
from tests.strategies.events import python_events
from tests.strategies.operands import apart, moved
from tests.strategies.pools import ATTRIBUTES, SCALARS
from tocsin import Engine, match, to_json
from tocsin.model.expression import COMPARISONS, Attribute, Comparison, Constant, Expression, IsNull, Not

NOON, TWO = "2024-05-31T12:00:00Z", "2024-05-31T14:00:00Z"
CASES = [
    ("b - a = 7200", [(NOON, TWO), (dt.datetime(2024, 5, 31, 12), TWO), (5, 7205)], [(TWO, NOON), ("x", TWO)]),
    ("b - a > 0.5", [(NOON, "2024-05-31T12:00:00.600Z")], [(NOON, "2024-05-31T12:00:00.5Z"), (NOON, 5), (NOON, None)]),
    ("a + 7200 = b", [(NOON, TWO), (1, 7201)], [(NOON, NOON), (NOON, "14:00"), (NOON, 7200)]),
    ("7200 + a <= b", [(NOON, TWO)], [(TWO, NOON)]),
    ("b - DURATION('PT2H') >= a", [(NOON, TWO)], [(NOON, NOON)]),
    ("b - 7200 = TIMESTAMP('2024-05-31T12:00:00.0Z')", [(None, TWO)], [(None, NOON), (None, 7200)]),
    ("a - 0.0000005 = DATE('2024-05-31')", [("2024-05-31", 0)], [(NOON, 0)]),
    ("TIMESTAMP('2024-05-31T14:00:00.000001Z') - a BETWEEN 7200 AND 7201", [(NOON, 0)], [(TWO, 0), (5, 0)]),
    ("(b - a) / 60 = 120", [(NOON, TWO)], [(TWO, NOON)]),
    ("b - a IN (7200, 3600)", [(NOON, TWO)], [(NOON, NOON)]),
    ("b - DATE_OF(b) = 50400", [(0, TWO)], [(0, NOON)]),
    ("(b - a) IS NULL", [(NOON, 5), ("x", TWO), (True, True)], [(NOON, TWO), (5, 7), (5, NOON)]),
    ("(a + b) IS NULL", [(NOON, TWO), (NOON, "5")], [(NOON, 5), (5, NOON)]),
    ("a * 2 IS NULL", [(NOON, 0)], [(5, 0)]),
    ("NOT b - a > 7200", [(NOON, TWO)], [(NOON, "2024-06-01"), ("x", TWO)]),
    ("ANY(b, until - since >= 60)", [(0, [{"since": NOON, "until": TWO}])], [(0, [{"since": NOON, "until": NOON}])]),
]


@pytest.mark.parametrize(("text", "match", "fail"), CASES)
def test_meaning(text: str, match: list[tuple[Any, Any]], fail: list[tuple[Any, Any]]) -> None:
    found, others = ([{"a": one, "b": other} for one, other in pairs] for pairs in (match, fail))
    assert_meaning(text, found, others)


_COMPARED = st.one_of(
    st.builds(
        Comparison,
        st.sampled_from(COMPARISONS),
        st.one_of(apart(), moved(3)),
        st.one_of(
            *(SCALARS[kind].map(Constant) for kind in ("number", "instant")),
            st.sampled_from((*ATTRIBUTES["instant"], *ATTRIBUTES["number"])).map(Attribute),
            moved(2),
        ),
    ),
    st.one_of(apart(), moved(3)).map(IsNull),
)


@given(
    st.lists(st.one_of(_COMPARED, _COMPARED.map(Not)), min_size=1, max_size=8), st.lists(python_events(), max_size=6)
)
def test_law(conditions: list[Expression], came: list[dict[str, Any]]) -> None:
    """The index, the scan and the oracle agree about every sum and difference."""
    expected = naive.match(list(enumerate(conditions)), came)
    for index in ("auto", "scan"):
        engine = Engine(index=index)
        engine.subscribe_many([{"id": number, "where": to_json(one)} for number, one in enumerate(conditions)])
        answer = engine.match_batch(came)
        found = zip(answer.table["event"].to_pylist(), answer.table["subscription"].to_pylist(), strict=True)
        assert sorted(found) == expected, index


def test_instants_that_are_far() -> None:
    """Beyond what 64 bits hold, there is no instant; the distance of two instants is still known."""
    ends = pa.array([-(2**63) + 2, 2**63 - 2, 0], pa.int64()).cast(pa.timestamp("us"))
    table = pa.table({"a": ends})
    conditions = ["a - DATE('1970-01-01') > 9.2e12", "(a + 1e9) IS NULL", "(a - 1e30) IS NULL", "NOW() - a > 9.2e12"]
    answer = match([{"id": one, "where": one} for one in conditions], table)
    found = answer.table.group_by("subscription").aggregate([("event", "list")]).to_pylist()
    assert {one["subscription"]: one["event_list"] for one in found} == {
        conditions[0]: [1],
        conditions[1]: [0, 1],
        conditions[2]: [0, 1, 2],
        conditions[3]: [0],
    }


def test_a_warning_for_what_never_comes() -> None:
    """Texts that are no instants are named; those that may be are not."""
    subscription = {"id": "s", "where": "closed - opened > 60"}
    good = match(subscription, [{"opened": NOON, "closed": TWO}])
    bad = match(subscription, [{"opened": True, "closed": TWO}])
    assert not good.warnings
    assert "opened" in bad.warnings[0].reason
