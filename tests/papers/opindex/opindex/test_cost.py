"""The paper's cost model says what is counted on a uniform workload, within a stated tolerance (Lemmas 3 to 8)."""

from __future__ import annotations

import math
import random
from functools import cache

import numpy as np
import pytest

from tests.index.asking import batch, compiled
from tocsin.papers.opindex.opindex import OpIndex, OpIndexBuilder
from tocsin.papers.opindex.opindex.cost import Uniform
from tocsin.papers.opindex.opindex.kernels.layouts import AT_LEAST, AT_MOST, EQUAL, WIDTH, signature_bit

MODEL = Uniform(subscriptions=6000, attributes=40, average_size=4.5, values=50, event_size=12, segments=4)
OPERATORS = {"=": EQUAL, "<=": AT_MOST, ">=": AT_LEAST}
EVENTS = 60


@cache
def _load() -> tuple[OpIndex, list[list[tuple[int, str, int]]], list[dict[int, int]]]:
    """The index, the predicates of each subscription, and events."""
    rng = random.Random(4)
    subscriptions = [
        [
            (attribute, rng.choice(list(OPERATORS)), rng.randint(1, MODEL.values))
            for attribute in rng.sample(range(MODEL.attributes), rng.randint(1, 8))
        ]
        for _ in range(MODEL.subscriptions)
    ]
    texts = [" AND ".join(f"a{a:02} {operator} {operand}" for a, operator, operand in one) for one in subscriptions]
    events = [
        {a: rng.randint(1, MODEL.values) for a in rng.sample(range(MODEL.attributes), MODEL.event_size)}
        for _ in range(EVENTS)
    ]
    return OpIndexBuilder(MODEL.segments).build(compiled(texts)), subscriptions, events


def _lengths() -> np.ndarray:
    """(L, b) how many entries each segment of each list has."""
    directory = _load()[0].lists.directory
    return np.diff(directory.starts).reshape(-1, MODEL.segments)


def _holds(operator: str, operand: int, value: int) -> bool:
    return {"=": value == operand, "<=": value <= operand, ">=": value >= operand}[operator]


def test_lemma_3_the_predicates_in_a_segment():
    """eta is the mean over the segments of all pivots and operators, within 3 %."""
    lengths = _lengths()

    assert len(lengths) == 3 * MODEL.attributes
    assert lengths.mean() == pytest.approx(MODEL.segment_size(), rel=0.03)


def test_lemma_4_space_is_linear_in_predicates():
    """The bytes of entries, counters and directories, within 3 %; twice the subscriptions, less than twice."""
    _, _, directory, entries, counters, _ = _load()[0].lists
    used = sum(array.nbytes for array in (*entries, counters.needed, counters.owners))
    used += directory.starts.nbytes + directory.signatures.nbytes
    twice = Uniform(12_000, 40, 4.5, 50, 12, 4)

    assert used == pytest.approx(MODEL.space(), rel=0.03)
    assert 1.9 * MODEL.space() < twice.space() < 2 * MODEL.space()


def test_lemma_5_the_comparisons_of_an_insertion():
    """A binary search of a segment for each predicate, within 25 %: long segments, which the mean hides, get more."""
    lengths = _lengths().reshape(-1)
    compared = (lengths * np.log2(lengths + 1)).sum() / lengths.sum()

    assert MODEL.insertion() == pytest.approx(MODEL.average_size * compared, rel=0.25)
    assert Uniform(12_000, 40, 4.5, 50, 12, 4).insertion() - MODEL.insertion() == pytest.approx(4.5, rel=0.02)


@pytest.mark.parametrize("values", [2, 10, 50])
def test_lemma_6_how_likely_a_predicate_matches(values):
    """kappa, by matching every predicate with every value: exact."""
    texts = [f"a {operator} {operand}" for operator in OPERATORS for operand in range(1, values + 1)]
    index = OpIndexBuilder().build(compiled(texts))
    found = index.match(batch(index, [{"a": value} for value in range(1, values + 1)]))
    model = Uniform(100, 10, 2, values, 5)

    assert len(found.subscriptions) / (len(texts) * values) == pytest.approx(model.matching_probability())


def test_lemma_7_the_predicates_that_match_an_event():
    """psi, by counting them under each event's pivots, within 10 %; the index touches no counter for another reason."""
    index, subscriptions, events = _load()
    pivots = [int(index.place(number)[-2:]) for number in range(0, MODEL.subscriptions, 10)]
    matching = 0
    touched = set()
    for number, pivot in zip(range(0, MODEL.subscriptions, 10), pivots, strict=True):
        for row, event in enumerate(events):
            if pivot in event:
                held = sum(a in event and _holds(op, operand, event[a]) for a, op, operand in subscriptions[number])
                matching += held
                touched |= {(row, number)} if held else set()

    assert 10 * matching / EVENTS == pytest.approx(MODEL.matching_predicates(), rel=0.10)
    verified = index.match(batch(index, [{f"a{a:02}": v for a, v in event.items()} for event in events])).verified
    assert 10 * len(touched) == pytest.approx(verified, rel=0.10)


def test_lemma_8_how_often_a_segment_is_searched():
    """The share of signatures with the bit of a value, of equalities within 10 %; ranges share bits, and have fewer."""
    directory = _load()[0].lists.directory
    entries = _load()[0].lists.entries
    set_bits = {operator: [] for operator in OPERATORS.values()}
    modelled = {operator: [] for operator in OPERATORS.values()}
    for pivot in range(MODEL.attributes):
        for operator in OPERATORS.values():
            number = int(directory.rows[WIDTH * pivot + operator])
            for segment in range(number * MODEL.segments, (number + 1) * MODEL.segments):
                keys = set(entries.keys[slice(*directory.starts[segment : segment + 2])].tolist())
                bits = {int(signature_bit(operator, key, 64)) for key in keys}
                assert sum(1 << bit for bit in bits) == int(directory.signatures[segment])
                set_bits[operator].append(len(bits) / 64)
                modelled[operator].append(1 - (1 - 1 / 64) ** len(keys))

    assert np.mean(set_bits[EQUAL]) == pytest.approx(np.mean(modelled[EQUAL]), rel=0.10)
    assert np.mean(set_bits[EQUAL]) <= 1.1 * MODEL.searched_share()
    assert np.mean(set_bits[AT_MOST]) < np.mean(set_bits[EQUAL])


def test_lemma_8_the_whole_query():
    """The sum of its parts; without signatures every list is searched, and with one segment for longer."""
    plain = Uniform(6000, 40, 4.5, 50, 12, 1, 0)
    searching = 3 * 12**2 * math.log2(plain.segment_size() + 1)

    assert plain.query() == pytest.approx(searching + plain.matching_predicates())
    assert MODEL.query() < plain.query()
    assert Uniform(6000, 40, 4.5, 50, 12, 4, 8).query() > MODEL.query()
