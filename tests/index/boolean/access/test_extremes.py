"""`access` answers like `scan` on very wide, very long and very odd loads."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from tests.index.asking import assert_access_is_scan, assert_alike, batch, compiled
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.sparse import encode_sparse
from tocsin.columns.events.tables import encode_table
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.writer import compile_conjunctions
from tocsin.index.boolean.access import Access
from tocsin.index.boolean.scan import Scan
from tocsin.kernels import codes

FIELDS = 70_000


def test_more_fields_than_the_bitmap_of_presence_has_bits() -> None:
    """Fields that share a bit of the bitmap are not taken for one another."""
    count = FIELDS
    second = (np.arange(count) + 2**16) % count
    attributes = np.stack([np.arange(count), second], axis=1).reshape(-1).astype(np.int32)
    operations = np.tile(np.array([codes.EQUAL, codes.GREATER_OR_EQUAL], np.uint8), count)
    names = [f"a{k:05}" for k in range(count)]
    starts = np.arange(0, 2 * count + 1, 2)
    expressions = compile_conjunctions(names, starts, attributes, operations, np.ones(2 * count))
    rng = random.Random(1)
    events = [{names[k]: 1 for k in rng.sample(range(count), 50)} for _ in range(40)]
    events += [
        {names[k]: 1, names[(k + 2**16) % count]: v} for k in (0, 1, 4_463, 4_464, 65_535, 65_536) for v in (0, 1)
    ]
    events += [dict.fromkeys(names, 1)]
    given = encode_objects(enumerate(events), Wanted(None))

    found = assert_access_is_scan(expressions, given)

    assert found.starts[-1] - found.starts[-2] == count
    assert len(found.subscriptions) >= count + 6


def test_expressions_of_many_conjuncts() -> None:
    """Two hundred predicates in one AND, the last of which decides."""
    texts = [" AND ".join(f"a{i} >= {k}" for i in range(200)) for k in range(30)]
    texts += [" AND ".join(f"NOT (a{i} = {k})" for i in range(200)) for k in range(30)]
    texts += [" AND ".join(f"a{i % 5} <> {k + i}" for i in range(200)) for k in range(60)]
    texts += [" AND ".join(f"(a{i} = {k} OR a{i + 1} = {k})" for i in range(100)) for k in range(10)]
    expressions = compiled(texts)
    whole = {f"a{i}": 7 for i in range(200)}
    events = [whole, whole | {"a199": 3}, whole | {"a0": 3}, whole | {"a100": "x"}, {"a0": 7}]

    assert_access_is_scan(expressions, batch(expressions, events * 15))


def test_sets_of_many_items() -> None:
    """IN and array functions over 10,000 items."""
    numbers = ", ".join(str(k) for k in range(0, 20_000, 2))
    words = ", ".join(f"'w{k}'" for k in range(0, 20_000, 2))
    texts = [f"n IN ({numbers})", f"n NOT IN ({numbers})", f"s IN ({words})", f"A_OVERLAPS(l, ({words}))"]
    texts += [f"A_CONTAINEDBY(l, ({words}))", f"A_CONTAINS(l, ({words}))", f"n IN ({numbers}) AND s = 'w3'"]
    expressions = compiled(texts)
    everything = [f"w{k}" for k in range(20_000)]
    events = [{"n": k, "s": f"w{k}", "l": [f"w{k}", f"w{k + 4}"]} for k in range(0, 30_000, 371)]
    events += [{"l": everything}, {"l": everything[::2]}, {"l": everything[1::2]}, {"l": []}]

    found = assert_access_is_scan(expressions, batch(expressions, events))

    assert set(found.subscriptions.tolist()) >= {0, 1, 2, 3, 4, 5}


def test_long_lists_of_values() -> None:
    """An event with a list of 18,000 elements among events with small ones, and one larger than any before."""
    texts = [f"A_OVERLAPS(l, ('w{k}', {k}, 'v{k}'))" for k in range(300)] + ["A_CONTAINS(l, ('w1', 2, 'v3'))"] * 60
    expressions = compiled(texts)
    access, scan = Access.build(expressions), Scan.build(expressions)

    for size in (1, 20, 6_000, 5, 7_000):
        values = [f"w{k}" for k in range(size)] + list(range(size)) + [f"v{k}" for k in range(size)]
        given = batch(access, [{"l": ["w1"]}] * 70 + [{"l": values}] + [{"l": [3]}] * 70)

        assert_alike(access.match(given), scan.match(given))


def test_very_long_or_chains() -> None:
    """An OR of 5,000 predicates is one subscription under as many keys."""
    texts = [" OR ".join(f"a{k % 40} = {k}" for k in range(5_000)), " OR ".join(f"n > {k}" for k in range(2_000))]
    texts += [" OR ".join(f"(a{k % 7} = {k} AND n <> {k})" for k in range(1_000))]
    expressions = compiled(texts)
    events = [{f"a{k % 40}": k, "n": k % 3} for k in range(0, 6_000, 61)] + [{"n": 1e9}, {"n": 0}, {}]

    found = assert_access_is_scan(expressions, batch(expressions, events))

    assert len(found.subscriptions) > 100


def test_deep_nesting() -> None:
    """Groups within groups, as deep as the language allows, are placed and verified."""

    def nested(depth: int, k: int) -> str:
        text = f"a{k} = {k}"
        for level in range(depth):
            text = f"({text} {'AND' if level % 2 else 'OR'} a{(k + level) % 5} >= {level % 4})"
        return text

    expressions = compiled(nested(depth, k) for depth in (1, 2, 10, 60, 120) for k in range(12))
    events = [{f"a{i}": (i * j) % 5 for i in range(12)} for j in range(20)] + [{"a1": 1}, {}]

    assert_access_is_scan(expressions, batch(expressions, events))


ODD_NUMBERS = [0.0, -0.0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 2.0**53, float("inf")]


@pytest.mark.parametrize("operator", ["=", "<>", "<", "<=", ">", ">="])
def test_numbers_at_the_edges(operator: str) -> None:
    """Both zeros are one number, infinity is of no type, NaN is absent, and neighbours are told apart."""
    finite = [number for number in ODD_NUMBERS if number - number == 0]
    texts = [f"n {operator} {number!r}" for number in finite]
    texts += [f"n {operator} {number!r} AND m = 1" for number in finite] * 10
    expressions = compiled([*texts, "n IS NULL", "n IS NOT NULL", "n BETWEEN -0.0 AND 0.0", "n BETWEEN 0 AND -0.0"])
    events = [{"n": number, "m": 1} for number in (*ODD_NUMBERS, float("-inf"), float("nan"), 2**60, None)]

    assert_access_is_scan(expressions, batch(expressions, events))


def test_numbers_from_tables_and_sparse_events() -> None:
    """NaN and infinity in Arrow columns, and sparse events, are what they are to a scan."""
    names = [f"a{k}" for k in range(30)]
    expressions = compiled([f"a{k} >= {k % 3} AND a{(k * 7) % 30} <= 2" for k in range(30)] + ["a1 IS NULL", "a2 <> 0"])
    rng = random.Random(2)
    values = [0.0, -0.0, 1.0, 2.0, float("nan"), float("inf"), -float("inf"), None]
    table = pa.table({name: pa.array(rng.choices(values, k=150), pa.float64()) for name in names})
    chosen = [rng.sample(names, rng.randrange(30)) for _ in range(150)]
    numbers = [[rng.choice(values[:7]) for _ in row] for row in chosen]
    sparse = encode_sparse(pa.array(chosen), pa.array(numbers), np.arange(150), Wanted(expressions.attributes))

    for given in (encode_table(table, Wanted(expressions.attributes)), sparse):
        assert_access_is_scan(expressions, given)


def test_transforms_beside_the_plain_attribute() -> None:
    """One attribute through no function, CASEI, ACCENTI and both orders has lists of its own for each."""
    words = ["éa", "EA", "ea", "Éa", "İ", "i̇", "ß", "SS", "ﬁ", "FI", "", "a\u0301", "Á"]
    forms = ("{0}", "CASEI({0})", "ACCENTI({0})", "CASEI(ACCENTI({0}))", "ACCENTI(CASEI({0}))")
    texts = []
    for form in forms:
        left = form.format("s")
        texts += [f"{left} = '{w}'" for w in words] + [f"{left} = {form.format(repr(w))}" for w in words]
        texts += [f"{left} > '{w}' AND s IS NOT NULL" for w in words] + [
            f"NOT ({left} IN ('{w}', 'ea'))" for w in words
        ]
        texts += [f"{left} LIKE '{w}%'" for w in words]
    expressions = compiled(texts)
    events = [{"s": word} for word in (*words, "zzz", "E", 5, True, ["ea"], None)]

    assert_access_is_scan(expressions, batch(expressions, events))


def test_attributes_that_no_subscription_knows() -> None:
    """Events of many attributes, most of them unknown to the index, and attributes of the index that none has."""
    expressions = compiled([f"k{k} = {k} AND common > {k}" for k in range(300)] + ["absent IS NULL AND common = 5"])
    events = [{f"u{(i * 31 + j) % 5_000}": j for j in range(400)} | {f"k{i}": i, "common": 5 + i} for i in range(100)]
    given = encode_objects(enumerate(events), Wanted(None))

    assert_access_is_scan(expressions, given)
    assert_access_is_scan(expressions, batch(expressions, events))


def test_an_attribute_that_only_comparisons_name() -> None:
    """The last attribute may have no list of its own: it only stands on the dearer side of comparisons."""
    expressions = compiled(["a = 1 AND a > z", "a > z", "z + a = 4", "NOT (a = z)"])
    events = [{"a": 1, "z": 0}, {"z": 1}, {"a": 1}, {"a": 1, "z": 3}, {"a": "x", "z": "a"}]

    assert_access_is_scan(expressions, batch(expressions, events))


def test_many_programs_that_share_their_predicates() -> None:
    """What is computed once a block is right for every program and in every lane."""
    rng = random.Random(4)
    atoms = ["s LIKE 'a%'", "MATCHES(s, 'b')", "n + 1 > m", "n IS NULL", "S_INTERSECTS(p, BBOX(0, 0, 1, 1))", "n <> 2"]
    texts = [f" {rng.choice(['AND', 'OR'])} ".join(rng.sample(atoms, 3)) for _ in range(500)]
    expressions = compiled(texts)
    parts = {"s": ["ab", "b", "a", 1], "n": [0, 1, 2, "2"], "m": [0, 1, 2], "p": [[0, 0], [5, 5], "x"]}
    events = [{name: rng.choice(v) for name, v in parts.items() if rng.random() < 0.8} for _ in range(300)]

    assert_access_is_scan(expressions, batch(expressions, events))
