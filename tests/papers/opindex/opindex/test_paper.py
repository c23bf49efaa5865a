"""`opindex` is the paper's: Table 1 with its figures and examples, and Lemmas 1 and 2.

Zhang, Chan, Tan: An Efficient Publish/Subscribe Index for E-Commerce Databases, PVLDB 7(8), 2014.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import tocsin
from tests.index.asking import batch, compiled, pairs
from tocsin.columns.payloads import numbers_of
from tocsin.index.boolean.scan import Scan
from tocsin.index.statistics import Statistics
from tocsin.papers.opindex.opindex import OpIndex, OpIndexBuilder
from tocsin.papers.opindex.opindex.kernels.layouts import (
    AT_LEAST,
    AT_MOST,
    EQUAL,
    OPERATORS,
    WIDTH,
    segment_of,
    signature_bit,
)

TABLE_1 = [
    "A = 2 AND B IN (3, 6, 9)",
    "A <= 8 AND C >= 2",
    "C = 6 AND B <= 4 AND E BETWEEN 3 AND 12",
    "A = 2",
    "D >= 12 AND E <= 9",
    "B IN (3, 6) AND C <= 4 AND D >= 10 AND E <= 7",
]
SIGNS = {EQUAL: "=", AT_MOST: "<=", AT_LEAST: ">="}


def shown(index: OpIndex, segments: int) -> dict[tuple[str, str], list[list[str]]]:
    """The lists by pivot and operator, segment by segment, each predicate with its subscription, from 1 on."""
    directory, entries, counters = index.lists.directory, index.lists.entries, index.lists.counted
    found = {}
    for field in np.flatnonzero(directory.pivots >= 0).tolist():
        row = directory.pivots[field] * WIDTH
        base = int(counters.starts[directory.pivots[field]])
        for operator in range(OPERATORS):
            number = int(directory.rows[row + operator])
            runs = range(number * segments, (number + 1) * segments) if number >= 0 else ()
            parts = [range(*directory.starts[run : run + 2]) for run in runs]
            found[name(index, field), SIGNS.get(operator, "?")] = [
                [
                    f"{predicate(index, int(entries.keys[e]), SIGNS[operator])} "
                    f"S{counters.owners[base + int(entries.pointers[e])] + 1}"
                    for e in part
                ]
                for part in parts
            ]
    return {key: parts for key, parts in found.items() if parts}


def name(index: OpIndex, field: int) -> str:
    return index.attributes[int(np.searchsorted(index.lists.fields.starts, field, side="right")) - 1]


def predicate(index: OpIndex, key: int, sign: str) -> str:
    fields, field = index.lists.fields, key >> 32
    operand = fields.operands[fields.operand_starts[field] + ((key & 0xFFFFFFFF) >> 1)]
    return f"{name(index, field)}{sign}{numbers_of(np.array([operand]))[0]:.0f}"


def table_1(segments: int = 1, signature_bits: int = 0) -> OpIndex:
    return OpIndexBuilder(segments, signature_bits).build(compiled(TABLE_1))


def test_figure_4_the_pivots_are_a_c_and_d():
    """By the frequencies of the attributes in the subscriptions."""
    index = table_1()

    assert [index.place(number)[-1] for number in range(6)] == ["A", "A", "C", "A", "D", "D"]


def test_figure_5_the_predicate_lists():
    """IN is an equality for each element, BETWEEN is >= and <=; each list is sorted by attribute, then operand."""
    assert shown(table_1(), 1) == {
        ("A", "="): [["A=2 S1", "A=2 S4", "B=3 S1", "B=6 S1", "B=9 S1"]],
        ("A", "<="): [["A<=8 S2"]],
        ("A", ">="): [["C>=2 S2"]],
        ("C", "="): [["C=6 S3"]],
        ("C", "<="): [["B<=4 S3", "E<=12 S3"]],
        ("C", ">="): [["E>=3 S3"]],
        ("D", "="): [["B=3 S6", "B=6 S6"]],
        ("D", "<="): [["C<=4 S6", "E<=7 S6", "E<=9 S5"]],
        ("D", ">="): [["D>=10 S6", "D>=12 S5"]],
    }


def test_figure_5_the_counter_arrays():
    """A counter waits for as many predicates as its subscription has, an IN being one and a BETWEEN two."""
    counters = table_1().lists.counted
    arrays = [counters.needed[slice(*counters.starts[p : p + 2])].tolist() for p in range(3)]

    assert arrays == [[2, 2, 1], [4], [2, 4]]


@pytest.mark.parametrize("segments", [2, 3, 32])
def test_example_4_segments_partition_the_attributes(segments):
    """All predicates of an attribute are in one segment, the same in every list; lists are cut, not changed."""
    whole, cut = shown(table_1(), 1), shown(table_1(segments, 4), segments)
    places: dict[str, set[int]] = {}

    for key, parts in cut.items():
        assert len(parts) == segments
        assert sorted(itertools.chain(*parts)) == sorted(whole[key][0])
        assert all(part == [one for one in whole[key][0] if one in part] for part in parts)
        for place, part in enumerate(parts):
            for one in part:
                places.setdefault(one[0], set()).add(place)
    assert all(len(found) == 1 for found in places.values())


def test_example_2_the_lists_of_absent_pivots_are_not_accessed():
    """A = 2 and B = 6: only the three subscriptions under A are candidates; S1 and S4 match."""
    index = table_1(2, 4)

    found = index.match(batch(index, [{"A": 2, "B": 6}]))

    assert pairs(found) == [(0, 0), (0, 3)]
    assert found.candidates_examined == 3


def test_example_3_a_bit_that_is_off_rules_a_search_out():
    """Of a list of equalities, a value whose bit is not set has no predicate there; that of every predicate is set."""
    texts = [f"p = 1 AND a{k % 9} = {k}" for k in range(60)]
    shares = Statistics({"p": 0.01} | {f"a{k}": 0.5 for k in range(9)}, "given")
    index = OpIndexBuilder(4, 64).build(compiled(texts), shares)
    directory, entries = index.lists.directory, index.lists.entries
    (pivot,) = directory.pivots[directory.pivots >= 0].tolist()
    number = int(directory.rows[pivot * WIDTH + EQUAL])
    stored = set(entries.keys.tolist())
    clear = 0
    for key in {(key >> 32 << 32) + code for key in stored for code in range(200)}:
        segment = number * 4 + int(segment_of(key >> 32, 4))
        is_set = int(directory.signatures[segment]) >> int(signature_bit(EQUAL, key, 64)) & 1
        assert is_set or key not in stored
        clear += not is_set

    assert clear > 100


def test_example_5_only_the_lists_of_c_are_searched():
    """B = 6, C = 3, E = 9: S2 and S5 hold in part, and are not accessed; S3 is, and does not match."""
    index = table_1(2, 4)

    found = index.match(batch(index, [{"B": 6, "C": 3, "E": 9}]))

    assert pairs(found) == []
    assert found.candidates_examined == found.verified == 1


def _random_load(rng: random.Random) -> tuple[list[str], list[dict[str, int]]]:
    skewed = [f"a{min(int(rng.expovariate(0.4)), 11)}" for _ in range(500)]
    texts = [
        " AND ".join(f"{one} {rng.choice(['=', '<=', '>='])} {rng.randrange(6)}" for one in set(rng.sample(skewed, 3)))
        for _ in range(80)
    ]
    events = [{one: rng.randrange(6) for one in rng.sample(skewed, 5)} for _ in range(60)]
    return texts, events


def _shares(events: list[dict[str, int]]) -> Statistics:
    counts = {f"a{k}": sum(f"a{k}" in event for event in events) / len(events) for k in range(12)}
    return Statistics(counts, "counted", len(events))


@pytest.mark.parametrize("seed", range(5))
def test_lemma_1_what_matches_is_under_a_pivot_of_the_event(seed):
    """Every match's pivot is an attribute of its event."""
    texts, events = _random_load(random.Random(seed))
    index = OpIndexBuilder().build(compiled(texts), _shares(events))
    pivots = [index.place(number).rsplit(" ", 1)[1] for number in range(len(texts))]

    found = Scan.build(compiled(texts)).match(batch(compiled(texts), events))

    assert len(found.subscriptions) > 20
    assert all(pivots[number] in events[event] for event, number in pairs(found))


@pytest.mark.parametrize("seed", range(5))
def test_lemma_2_no_other_pivots_examine_fewer_candidates(seed):
    """With the frequencies of the stream, each subscription is examined as rarely as one attribute of its allows."""
    rng = random.Random(seed)
    texts, events = _random_load(rng)
    expressions = compiled(texts)
    index = OpIndexBuilder().build(expressions, _shares(events))
    often = {f"a{k}": sum(f"a{k}" in event for event in events) for k in range(12)}
    named = [sorted({part.split()[0] for part in text.split(" AND ")}) for text in texts]

    found = index.match(batch(index, events))

    assert found.candidates_examined == sum(min(often[one] for one in names) for names in named)
    for _ in range(20):
        other = Statistics({f"a{k}": rng.random() for k in range(12)}, "made up")
        others = OpIndexBuilder().build(expressions, other).match(batch(index, events))
        assert others.candidates_examined >= found.candidates_examined


def test_section_6_1_a_clause_with_one_predicate_needs_one_pivot():
    """Of clauses with 3, 1 and 2 predicates the second gives the only pivot."""
    text = "(a = 1 OR b = 1 OR c = 1) AND d = 1 AND (a = 2 OR e = 1) AND (b = 3 OR c = 4)"
    index = OpIndexBuilder().build(compiled([text]))

    assert index.place(0) == "its clauses noted in the lists of pivot d"
    assert index.lists.clauses.needed.tolist() == [0b1111]


def test_section_6_1_ties_go_to_the_rarest_attributes():
    """Of clauses of equal size, the one whose attributes have the least sum of frequencies."""
    text = "(a = 1 OR b = 1) AND (c = 1 OR d = 1) AND (a = 2 OR d = 2)"
    shares = {"a": 0.5, "b": 0.4, "c": 0.3, "d": 0.1}
    index = OpIndexBuilder().build(compiled([text]), Statistics(shares, "given"))

    assert index.place(0) == "its clauses noted in the lists of pivot c and of d"


def test_a_disjunction_of_one_attribute_needs_no_clause():
    """NOT BETWEEN and IN count once, however many entries they have."""
    index = OpIndexBuilder().build(compiled(["a NOT BETWEEN 3 AND 5 AND b IN (1, 2, 3) AND c <> 4"]))

    assert index.lists.counted.needed.tolist() == [3]
    assert len(index.lists.entries.keys) == 2 + 3 + 1
    with pytest.raises(tocsin.UnsuitableIndex):
        OpIndexBuilder().build(compiled(["a IS NULL"]))
