"""The k-index: the lists of the paper, answers like the oracle's, what it refuses."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.index.asking import Event, assert_alike, batch, compiled, pairs
from tocsin.columns.payloads import numbers_of
from tocsin.index import Found, choose
from tocsin.index.boolean.scan import Scan
from tocsin.papers.opindex.k_index import MOST_VALUES, KIndex, KIndexBuilder
from tocsin.papers.opindex.k_index.kernels.values import ODD, PAIRS_BESIDE, PRESENT

TABLE_1 = [  # Zhang et al. 2014: S1 to S6
    "A = 2 AND B IN (3, 6, 9)",
    "A <= 8 AND C >= 2",
    "C = 6 AND B <= 4 AND E BETWEEN 3 AND 12",
    "A = 2",
    "D >= 12 AND E <= 9",
    "B IN (3, 6) AND C <= 4 AND D >= 10 AND E <= 7",
]
TO_15 = KIndexBuilder(1, 15)


def posting_lists(index: KIndex) -> dict[tuple[int, str, float | str], list[str]]:
    """The lists by (size, attribute, value) of an index over numbers, NOT IN marked by a minus."""
    return {key: [entry.split(".")[0] for entry in one] for key, (one,) in clause_lists(index).items()}


def clause_lists(index: KIndex) -> dict[tuple[int, str, float | str], list[list[str]]]:
    """The lists by (size, attribute, value) of an index over numbers; an entry as in S1.0, with its clause."""
    lists, fields, owners = index.layout.lists, index.layout.fields, index.layout.members.owners
    found: dict[tuple[int, str, float | str], list[list[str]]] = {}
    for attribute, name in enumerate(index.attributes):
        for field in range(*fields.starts[attribute : attribute + 2]):
            first, stop = lists.value_starts[field : field + 2]
            base = int(first) + PAIRS_BESIDE * field
            values: dict[int, float | str] = {base + PRESENT: "present", base + ODD: "odd"}
            values |= {base + PAIRS_BESIDE + i: v for i, v in enumerate(numbers_of(lists.values[first:stop]).tolist())}
            for pair, value in values.items():
                for at in range(*lists.list_starts[pair : pair + 2]):
                    span = slice(*lists.entry_starts[at : at + 2])
                    own_entries = zip(lists.entries[span].tolist(), lists.numbers[span].tolist(), strict=True)
                    shown = [("S" if e & 1 else "-S") + f"{owners[e >> 1] + 1}.{clause}" for e, clause in own_entries]
                    found.setdefault((int(lists.list_sizes[at]), name, value), []).append(shown)
    return found


def asked(texts: Sequence[str], events: Sequence[Event], builder: KIndexBuilder = TO_15) -> Found:
    """What a k-index finds, once it is seen to find what `scan` finds."""
    expressions = compiled(texts)
    given = batch(expressions, events)
    found = builder.build(expressions).match(given)
    assert_alike(found, Scan.build(expressions).match(given))
    return found


def test_lists_of_figure_2() -> None:
    """The lists are those of Figure 2 of Zhang et al. 2014 (whose second S2 of size 4 is a misprint)."""
    expected = {(1, "A", 2): ["S4"], (2, "A", 2): ["S1", "S2"], (3, "C", 6): ["S3"]}
    rows: list[tuple[int, str, Sequence[int], str]] = [
        (2, "A", [1, 3, 4, 5, 6, 7, 8], "S2"),
        (2, "B", [3, 6, 9], "S1"),
        (2, "C", range(2, 16), "S2"),
        (2, "D", range(12, 16), "S5"),
        (2, "E", range(1, 10), "S5"),
        (3, "B", range(1, 5), "S3"),
        (3, "E", range(3, 13), "S3"),
        (4, "B", [3, 6], "S6"),
        (4, "C", range(1, 5), "S6"),
        (4, "D", range(10, 16), "S6"),
        (4, "E", range(1, 8), "S6"),
    ]
    expected |= {(size, name, value): [owner] for size, name, values, owner in rows for value in values}

    found = posting_lists(TO_15.build(compiled(TABLE_1)))

    assert {key: owners for key, owners in found.items() if key[2] != "odd"} == expected


def test_the_event_of_example_5() -> None:
    """Partial matches are in the lists that it opens, and none of them is a candidate (Example 5)."""
    found = asked(TABLE_1, [{"B": 6, "C": 3, "E": 9}, {"A": 2, "B": 6, "C": 3, "E": 9}])

    assert pairs(found) == [(1, 0), (1, 1), (1, 3)]
    assert (found.candidates_examined, found.verified) == (3, 0)


def test_not_in_is_a_negative_posting_beside_a_present_attribute() -> None:
    """`x NOT IN (...)` has an entry for each value that forbids it, and one for x being there."""
    texts = ["A NOT IN (3, 4) AND B = 1", "A <> 3"]

    found = posting_lists(TO_15.build(compiled(texts)))

    assert found == {
        (2, "A", "present"): ["S1"],
        (2, "A", 3): ["-S1"],
        (2, "A", 4): ["-S1"],
        (2, "B", 1): ["S1"],
        (1, "A", "present"): ["S2"],
        (1, "A", 3): ["-S2"],
    }
    assert pairs(asked(texts, [{"A": 5, "B": 1}, {"B": 1}, {"A": "x", "B": 1}, {"A": 4, "B": 1}, {"A": 3}])) == [
        (0, 0),
        (0, 1),
        (3, 1),
    ]


def test_one_attribute_twice_is_one_predicate() -> None:
    """Predicates on one attribute are intersected; what allows nothing is never found."""
    texts = ["A >= 2 AND A <= 5 AND A <> 3", "A = 1 AND A = 2", "A > 4 AND A < 4.5"]

    index = TO_15.build(compiled(texts))

    assert {key: owners for key, owners in posting_lists(index).items() if key[2] != "odd"} == {
        (1, "A", 2): ["S1"],
        (1, "A", 4): ["S1"],
        (1, "A", 5): ["S1"],
    }
    assert index.places() == {
        "one conjunction": 2,
        "several conjunctions": 0,
        "conjunctions of clauses": 0,
        "never satisfied": 1,
    }
    assert pairs(asked(texts, [{"A": 2.5}, {"A": 4.25}, {"A": 5}, {"A": 3}])) == [(0, 0), (1, 0), (1, 2), (2, 0)]


@pytest.mark.parametrize("value", [7.5, 0, -3, 16, 1e300, 15.000001, -0.0, True, "7"])
def test_values_that_are_not_enumerated_are_answered_exactly(value: object) -> None:
    """Fractions and numbers beyond the domain are verified where a range could hold them."""
    texts = ["A > 7", "A < 7.5", "A = 7.5", "A NOT BETWEEN 7 AND 8", "A <> 16", "A IN (-3, 16, 3)", "A >= 0 AND A < 1"]
    texts += [f"({text}) AND B = 1" for text in texts]

    asked(texts, [{"A": value}, {"A": value, "B": 1}, {"A": value, "B": 1.5}])


def test_only_odd_values_are_verified() -> None:
    """An event of enumerated values is answered by the lists alone; one with a fraction is looked at again."""
    texts = ["A > 7", "A > 8", "A <= 3", "TRUE"]

    enumerated, odd = asked(texts, [{"A": 8}]), asked(texts, [{"A": 7.5}])

    assert (enumerated.candidates_examined, enumerated.verified) == (2, 0)
    assert (odd.candidates_examined, odd.verified) == (4, 3)


def test_conjunctions_larger_than_the_event_are_never_candidates() -> None:
    """An event of two values opens no list of conjunctions of three."""
    texts = [f"A = 1 AND B = 1 AND C = {c}" for c in range(1, 15)] + ["A = 1 AND B = 1"]

    found = asked(texts, [{"A": 1, "B": 1, "X": 1}])

    assert found.candidates_examined == 1


@given(data=st.data())
def test_many_small_conjunctions_answer_like_scan(data) -> None:
    """Long lists of many sizes, with negative postings among them, are intersected without a miss."""
    predicate = st.tuples(
        st.sampled_from("ABCD"), st.sampled_from(["=", "<>", "<=", ">=", "<"]), st.sampled_from([1, 2, 3, 2.5])
    )
    conjunction = st.lists(predicate, min_size=1, max_size=5).map(
        lambda ps: " AND ".join(f"{a} {o} {v}" for a, o, v in ps)
    )
    texts = data.draw(st.lists(conjunction, min_size=20, max_size=60))
    value = st.sampled_from([1, 2, 3, 3, 2.5, 9])
    events = data.draw(st.lists(st.dictionaries(st.sampled_from("ABCDE"), value), min_size=1, max_size=20))

    asked(texts, events, KIndexBuilder(1, 3))


def test_without_a_domain_ranges_with_both_ends_are_enumerated() -> None:
    """All integers between the ends, with booleans and few instants as they are."""
    texts = ["A BETWEEN 3 AND 5.5", "A >= 1e300 AND A <= 1e301", "flag <> TRUE", f"A BETWEEN 1 AND {MOST_VALUES}"]
    events: list[Event] = [{"A": a} for a in (2, 3, 3.5, 5, 5.5, 6, 1e300, 2e301)]

    asked(texts, [*events, {"flag": False}, {"flag": True}], KIndexBuilder())


@pytest.mark.parametrize(("lowest", "highest"), [(2, 1), (0, MOST_VALUES), (2**53, 2**53 + 1), (1, -1)])
def test_a_domain_that_is_empty_or_too_large_is_refused(lowest: int, highest: int) -> None:
    """The message shows both ends."""
    with pytest.raises(tocsin.InvalidInput, match=f"lowest={lowest}, highest={highest}"):
        KIndexBuilder(lowest, highest)


def test_the_domain_is_an_option() -> None:
    """Written behind the name, it reaches the index."""
    plan = choose("k_index(lowest=-2, highest=7)")

    assert dict(plan.options) == {"lowest": -2, "highest": 7}
    index = KIndexBuilder(**plan.options).build(compiled(["A > 5"]))
    assert index.layout.lists.domain.tolist() == [-2, 7]
