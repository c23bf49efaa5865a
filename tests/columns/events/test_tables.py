"""An Arrow table means what the same values mean as Python objects."""

from __future__ import annotations

import datetime as dt
import decimal
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.columns.events.decoding import EVERYTHING, decoded, problems
from tocsin.columns.events import sparse_columns
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.tables import encode_table
from tocsin.columns.events.wanted import Wanted

NUMBERS = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf"), -1e300]))
INTEGERS = st.one_of(st.none(), st.sampled_from([0, 1, -5, 2**53, 2**53 + 1, -(2**60)]))
TEXTS = st.one_of(st.none(), st.sampled_from(["", "a", "é", "😀", "a"]))
MOMENTS = st.one_of(st.none(), st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)))
COLUMNS = [
    (pa.float64(), NUMBERS),
    (pa.int64(), INTEGERS),
    (pa.bool_(), st.one_of(st.none(), st.booleans())),
    (pa.string(), TEXTS),
    (pa.string_view(), TEXTS),
    (pa.dictionary(pa.int32(), pa.string()), TEXTS),
    (pa.timestamp("us"), MOMENTS),
    (pa.timestamp("us", "UTC"), MOMENTS.map(lambda m: m and m.replace(tzinfo=dt.UTC))),
    (pa.date32(), MOMENTS.map(lambda m: m and m.date())),
    (pa.list_(pa.float64()), st.one_of(st.none(), st.lists(NUMBERS, max_size=4))),
    (pa.list_(pa.int64()), st.one_of(st.none(), st.lists(INTEGERS, max_size=4))),
    (pa.list_(pa.string()), st.one_of(st.none(), st.lists(TEXTS, max_size=4))),
    (pa.struct([("x", pa.float64()), ("y", pa.struct([("z", pa.string())]))]), None),
    (pa.list_(pa.struct([("x", pa.float64())])), None),
    (pa.map_(pa.string(), pa.float64()), None),
    (pa.decimal128(10, 2), st.one_of(st.none(), st.decimals(-100, 100, places=2))),
    (pa.null(), st.none()),
]
NESTED = {
    12: st.one_of(
        st.none(),
        st.fixed_dictionaries({"x": NUMBERS, "y": st.one_of(st.none(), st.fixed_dictionaries({"z": TEXTS}))}),
    ),
    13: st.one_of(st.none(), st.lists(st.fixed_dictionaries({"x": NUMBERS}), max_size=3)),
    14: st.one_of(st.none(), st.dictionaries(st.sampled_from(["k", "l", "m"]), NUMBERS, max_size=3)),
}


@pytest.mark.parametrize("number", range(len(COLUMNS)), ids=[str(kind) for kind, _ in COLUMNS])
@given(data=st.data())
def test_a_column_means_what_its_values_mean(number, data):
    """Types, payloads, absence and problems are those of the values as Python objects."""
    kind, values = COLUMNS[number]
    cells = data.draw(st.lists(values if values is not None else NESTED[number], min_size=1, max_size=6))
    cells += data.draw(st.sampled_from([0, 20])) * [None]  # columns that are mostly null take another way
    prefix = data.draw(st.lists(st.just(cells[0]), max_size=2))  # a sliced array has an offset
    column = pa.array(prefix + cells, kind).slice(len(prefix))
    expected = encode_objects(enumerate({"c": cell} for cell in cells), EVERYTHING)

    found = encode_table(pa.table({"c": column}), EVERYTHING)

    assert decoded(found) == decoded(expected)
    assert problems(found) == problems(expected)


@given(data=st.data(), at_once=st.sampled_from([1, 40, 1 << 20]), fewest=st.sampled_from([1, 3]))
def test_sparse_columns_mean_what_they_mean_alone(data, at_once, fewest):
    """Columns of one type that are mostly null are encoded as one, whatever their offsets and the lots."""
    table, records = {}, [{} for _ in range(20)]
    for number in range(data.draw(st.integers(2, 12))):
        kind, values = COLUMNS[data.draw(st.sampled_from([0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 16]))]
        places = data.draw(st.lists(st.integers(0, 19), max_size=9, unique=True))
        cells = [data.draw(values) if row in places else None for row in range(20)]
        offset = data.draw(st.integers(0, 2))
        table[f"c{number}"] = pa.array(cells[:offset] + cells, kind).slice(offset)
        for record, cell in zip(records, cells, strict=True):
            record[f"c{number}"] = cell
    expected = encode_objects(enumerate(records), EVERYTHING)

    with mock.patch.multiple(sparse_columns, _AT_ONCE=at_once, _FEWEST=fewest):
        found = encode_table(pa.table(table), EVERYTHING)

    assert decoded(found) == decoded(expected)
    assert problems(found) == problems(expected)


def test_two_sparse_columns_of_one_name():
    """A row that has both is refused, as with full columns."""
    columns = [pa.array([None] * 5 + [float(number)]) for number in range(12)]
    names = [f"c{number % 11}" for number in range(12)]

    batch = encode_table(pa.table(columns, names=names), EVERYTHING)

    assert batch.rows.tolist() == [0, 1, 2, 3, 4]
    assert [(r.row, r.field) for r in batch.rejects] == [(5, "c0")]


def test_rows_of_many_columns_stay_together():
    """Entries of several columns, some absent, end up with their own event."""
    records = [{"a": 1.0, "b": "x"}, {"b": "y"}, {}, {"a": 2.0, "c": [1.0, 2.0]}]
    table = pa.table(
        {
            "a": pa.array([r.get("a") for r in records]),
            "b": pa.array([r.get("b") for r in records]),
            "c": pa.array([r.get("c") for r in records]),
        }
    )

    assert decoded(encode_table(table, EVERYTHING)) == decoded(encode_objects(enumerate(records), EVERYTHING))


def test_an_attribute_given_twice_refuses_only_its_row():
    """A dotted column and a nested one of the same name clash where both are present."""
    table = pa.table({"a.b": [1.0, None, 3.0], "a": [{"b": 1.0}, {"b": 2.0}, None]})

    batch = encode_table(table, EVERYTHING)

    assert batch.rows.tolist() == [1, 2]
    assert [(r.row, r.field) for r in batch.rejects] == [(0, "a.b")]


@pytest.mark.parametrize(
    ("kind", "one", "name"),
    [(pa.int64(), 1, "m.k"), (pa.struct([("x", pa.int64())]), {"x": 1}, "m.k.x"), (pa.list_(pa.int64()), [1], "m.k")],
)
def test_a_key_that_a_map_repeats_refuses_only_its_row(kind, one, name):
    """Whatever the values are: scalars, lists or objects."""
    column = pa.array([[("k", one)], [("k", one), ("k", one)], [("k", one), ("l", one)]], pa.map_(pa.string(), kind))

    batch = encode_table(pa.table({"m": column}), EVERYTHING)

    assert batch.rows.tolist() == [0, 2]
    assert [(r.row, r.field) for r in batch.rejects] == [(1, name)]


def test_decimals_that_float64_cannot_tell_apart_are_reported():
    """A decimal that its float64 does not print as is served rounded, and the rounding reported; 0.10 is 0.1."""
    column = pa.array([decimal.Decimal("0.10"), decimal.Decimal("0.1000000000000000000001")], pa.decimal128(30, 22))

    batch = encode_table(pa.table({"c": column}), EVERYTHING)

    assert len(batch) == 2
    assert problems(batch) == {(1, "c")}


def test_a_string_that_is_no_utf8_costs_only_itself():
    """One bad value in a column is of no type and reported; the others are served."""
    column = pa.array([b"good", b"\xff", None]).view(pa.string())

    batch = encode_table(pa.table({"c": column}), EVERYTHING)

    assert decoded(batch) == [{"c": (1, "good")}, {"c": (6, 0)}, {}]
    assert problems(batch) == {(1, "c")}


def test_an_attribute_given_twice_is_found_where_nobody_asks_for_it():
    """What makes an event bad does not depend on what is subscribed."""
    table = pa.table({"b.c": [1.0, None], "b": [{"c": 2.0}, {"c": 2.0}], "a": [1.0, 1.0]})

    assert encode_table(table, Wanted(["a"])).rows.tolist() == [1]
    assert encode_table(table, Wanted(["a", "b.c"])).rows.tolist() == [1]


def test_nanoseconds_are_cut_and_reported():
    """An instant keeps microseconds."""
    column = pa.array([1_000, 1_001], pa.timestamp("ns"))

    batch = encode_table(pa.table({"c": column}), EVERYTHING)

    assert batch.arrays.payloads.tolist() == [1, 1]
    assert problems(batch) == {(1, "c")}


def test_only_wanted_columns_are_read():
    """What no subscription names is not looked at, and reported neither."""
    table = pa.table({"a": [float("inf")], "b": [float("inf")]})

    batch = encode_table(table, Wanted(["b"]))

    assert batch.attributes == ["b"]
    assert problems(batch) == {(0, "b")}
