"""Values at the edge of what a record may hold cost their attribute, field or record, and nothing beside it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import tocsin

ONE = [{"id": "one", "where": "n = 1"}]
GOOD = {"id": "good", "where": "n = 1"}


def pairs(answer: tocsin.Answer) -> list[tuple[int, str]]:
    return [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_maps_from_any_kind_of_string_are_sparse_attributes(kind: pa.DataType) -> None:
    """The keys of a map are names of attributes in whichever way Arrow stores the strings."""
    keys = pa.array(["k"]).cast(kind) if not pa.types.is_dictionary(kind) else pa.array(["k"]).dictionary_encode()
    maps = pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), keys, pa.array([1.0]))

    assert pairs(tocsin.match([{"id": "q", "where": "m.k = 1"}], pa.table({"m": maps}))) == [(0, "q")]


def test_a_name_that_is_no_string_makes_a_bad_event() -> None:
    """An event with a name that is no string is reported and matches nothing, not even IS NULL."""
    answer = tocsin.match([{"id": "null", "where": "z IS NULL"}], [{1: "a"}, {"a": 1}])

    assert pairs(answer) == [(1, "null")]
    assert [reject.row for reject in answer.errors] == [0]


@pytest.mark.parametrize("value", [10**5000, -(10**5000)], ids=["positive", "negative"])
def test_a_huge_integer_leaves_the_other_events_alone(value: int) -> None:
    """An integer of thousands of digits equals no number, and the events after it are served."""
    assert pairs(tocsin.match(ONE, [{"n": value}, {"n": 1}])) == [(1, "one")]


def test_huge_integers_in_json_are_of_no_type() -> None:
    """A JSON integer of thousands of digits is present and of no type."""
    answer = tocsin.match([{"id": "p", "where": "n IS NOT NULL"}], b'{"n": ' + b"9" * 5000 + b"}")

    assert pairs(answer) == [(0, "p")]


@pytest.mark.parametrize(
    "fields",
    [{"id": 10**5000}, {"score": 10**5000}, {"weights": {"n": 10**400}}, {"weights": [1, 2]}, {"weights": [[1, 2, 3]]}],
    ids=["id", "score", "weight", "weights", "triples"],
)
def test_bad_fields_of_subscriptions_are_rejects(fields: dict[str, Any]) -> None:
    """A field that its type cannot hold costs its subscription alone."""
    answer = tocsin.match([GOOD, {"id": "x", "where": "n = 1", **fields}], [{"n": 1}])

    assert pairs(answer) == [(0, "good")]
    assert [(reject.row, reject.field) for reject in answer.errors] == [(1, next(iter(fields)))]


def test_weights_that_are_a_column_of_lists_are_rejects() -> None:
    """Weights map names to numbers; a list of numbers is a reject."""
    table = pa.table({"id": ["q"], "where": ["n = 1"], "weights": [[1.0, 2.0]]})

    assert len(tocsin.Engine().subscribe_many(table).errors) == 1
