"""The k-index over conjunctions of clauses: its lists, its counters and what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.index.asking import Event, compiled, pairs
from tests.papers.opindex.k_index.test_index import TO_15, asked, clause_lists
from tocsin.papers.opindex.be_tree import BETreeBuilder
from tocsin.papers.opindex.k_index import KIndexBuilder

Predicate: TypeAlias = tuple[str, str, tuple[Any, ...]]
"""An attribute, an operator and its operands."""
Clauses: TypeAlias = Sequence[Sequence[Predicate]]


def text_of(clauses: Clauses) -> str:
    return " AND ".join("(" + " OR ".join(map(predicate_text, clause)) + ")" for clause in clauses)


def predicate_text(predicate: Predicate) -> str:
    name, operator, operands = predicate
    if "IN" in operator:
        return f"{name} {operator} ({', '.join(map(repr, operands))})"
    return f"{name} {operator} {operands[0]!r}"


def holds(predicate: Predicate, event: Event) -> bool:
    """TRUE of the event, not FALSE or UNKNOWN: an absent value, or one of another type, satisfies nothing."""
    name, operator, operands = predicate
    value = event.get(name)
    if isinstance(operands[0], str) != isinstance(value, str) or value is None:
        return False
    if "IN" in operator:
        return (value in operands) == (operator == "IN")
    one = operands[0]
    return {"=": value == one, "<>": value != one, "<=": value <= one, ">=": value >= one}[operator]


def counted(clauses: Clauses, event: Event) -> bool:
    """Whether no clause is left without a predicate that holds."""
    return all(sum(holds(predicate, event) for predicate in clause) > 0 for clause in clauses)


numbers = st.sampled_from([1, 2, 3, 2.5])
predicates: st.SearchStrategy[Predicate] = st.one_of(
    st.tuples(st.sampled_from("ABCD"), st.sampled_from(["=", "<>", "<=", ">="]), st.tuples(numbers)),
    st.tuples(
        st.sampled_from("ABCD"),
        st.sampled_from(["IN", "NOT IN"]),
        st.one_of(st.lists(numbers, min_size=1, max_size=3), st.lists(st.sampled_from("xyz"), min_size=1)).map(tuple),
    ),
)
many_clauses = st.lists(st.lists(predicates, min_size=1, max_size=4), min_size=2, max_size=5)
events_of_few = st.dictionaries(st.sampled_from("ABCDE"), st.sampled_from([1, 2, 3, 3, 2.5, 9, "x", "w"]))


@given(several=st.lists(many_clauses, min_size=1, max_size=40), events=st.lists(events_of_few, min_size=1, max_size=12))
def test_every_clause_counts(several: list[Clauses], events: list[Event]) -> None:
    """What is found are the expressions none of whose clauses is left without a predicate that holds."""
    texts = [text_of(clauses) for clauses in several]

    found = asked(texts, events, KIndexBuilder(1, 3))

    expected = [(i, s) for i, event in enumerate(events) for s, one in enumerate(several) if counted(one, event)]
    assert pairs(found) == expected


def test_lists_of_clauses() -> None:
    """An entry names its expression, whether it says NOT IN, and its clause; the size is the number of clauses."""
    texts = ["(A IN (1, 2) OR B = 3) AND (C = 1 OR B NOT IN (3, 4))", "A = 1 AND D = 1 AND (B = 3 OR C = 1)"]

    found = clause_lists(TO_15.build(compiled(texts)))

    assert found == {
        (2, "A", 1): [["S1.0"]],
        (2, "A", 2): [["S1.0"]],
        (2, "B", 3): [["S1.0"], ["-S1.1"]],
        (2, "B", 4): [["-S1.1"]],
        (2, "B", "present"): [["S1.1"]],
        (2, "C", 1): [["S1.1"]],
        (3, "A", 1): [["S2.0"]],
        (3, "B", 3): [["S2.2"]],
        (3, "C", 1): [["S2.2"]],
        (3, "D", 1): [["S2.1"]],
    }


def test_an_expression_is_in_a_list_once() -> None:
    """What one value does for several clauses is in as many lists, so that clauses and lists still count alike."""
    texts = [
        "(A = 1 OR B = 1) AND (A IN (1, 2) OR C = 1) AND (A <> 3 OR C = 2)",
        "(A = 1 OR B = 2) AND (B = 3 OR C = 9)",
    ]

    index = TO_15.build(compiled(texts))

    assert clause_lists(index)[(3, "A", 1)] == [["S1.0"], ["S1.1"]]
    assert clause_lists(index)[(2, "A", 1)] == [["S2.0"]]
    found = asked(texts, [{"A": 1}, {"A": 2}, {"A": 2, "B": 1}, {"A": 3, "B": 1, "C": 1}, {"A": 3, "B": 1}])
    assert pairs(found) == [(0, 0), (2, 0)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("A = 1 AND B = 1", "one conjunction"),
        ("A = 1 OR B = 1", "several conjunctions"),
        ("A = 1 AND B = 1 OR C = 1 AND D = 1", "several conjunctions"),
        ("A = 1 AND (B = 1 OR C = 1 AND D = 1)", "several conjunctions"),
        ("A = 1 AND (B = 1 OR C = 1)", "conjunctions of clauses"),
        ("NOT (A = 1 AND B = 1) AND (C = 1 OR D = 1)", "conjunctions of clauses"),
        ("NOT (A = 1 AND B = 1 OR C = 1 AND D = 1)", "conjunctions of clauses"),
        ("TRUE AND (A = 1 OR B = 1) AND (FALSE OR C = 1)", "conjunctions of clauses"),
        ("TRUE AND (A = 1 OR B = 1)", "several conjunctions"),
        ("(A = 1 OR TRUE) AND B = 1 AND C = 1", "one conjunction"),
        ("(A = 1 OR B = 1) AND C = 1 AND FALSE", "never satisfied"),
        ("(A = 1 OR B = 1) AND C = 1 AND C = 2", "never satisfied"),
        ("(A = 1 OR B = 1) AND (C > 1 OR D >= 1) AND A = 2", "conjunctions of clauses"),
    ],
)
def test_what_is_written_in_clauses_stays_in_clauses(text: str, kind: str) -> None:
    """An AND of clauses is not multiplied out; whatever an AND stands in below an OR is."""
    index = TO_15.build(compiled([text]))

    assert [name for name, count in index.places().items() if count] == [kind]
    values = [{}, *({name: 1} for name in "ABCD"), {"A": 1, "C": 1}, {"A": 2, "B": 1, "C": 2}, {"B": 1, "C": 1, "D": 1}]
    asked([text], values)


TWELVE = " AND ".join(f"(a{i} = 1 OR b{i} IN (2, 3) OR c{i} NOT IN (4, 5) OR d{i} >= 6)" for i in range(12))


def test_twelve_clauses_of_four_are_held() -> None:
    """They would be four to the power of twelve conjunctions, which a BE-tree refuses."""
    with pytest.raises(tocsin.UnsuitableIndex, match="disjunctive"):
        BETreeBuilder().build(compiled([TWELVE]))
    every = {f"{'abcd'[i % 4]}{i}": (1, 3, 9, 7)[i % 4] for i in range(12)}
    contradicted = {f"c{i}": 4 for i in range(12)}

    found = asked(
        [TWELVE],
        [every, {**every, "a0": 2}, {**every, "c2": 5}, contradicted, {**contradicted, **every, "c2": 6.5}, {}],
    )

    assert pairs(found) == [(0, 0), (4, 0)]
    assert TO_15.build(compiled([TWELVE])).place(0) == "in posting lists of 12 clauses"


def test_an_event_with_fewer_lists_than_clauses_examines_nothing() -> None:
    """K clauses need K lists: an event that opens K - 1 of them has no candidates, one that opens K counts."""
    texts = [f"(A = 1 OR B = {i}) AND (C = 1 OR D = {i}) AND (E = 1 OR F = {i})" for i in range(1, 15)]

    few, enough = asked(texts, [{"A": 1, "C": 1}]), asked(texts, [{"A": 1, "C": 1, "F": 3}])

    assert (few.candidates_examined, len(few.subscriptions)) == (0, 0)
    assert (enough.candidates_examined, pairs(enough), enough.verified) == (1, [(0, 2)], 0)


def test_a_clause_of_not_in_fails_when_all_of_it_is_contradicted() -> None:
    """One NOT IN that holds is enough; one of an absent attribute, or of another type, is UNKNOWN."""
    texts = ["(A NOT IN (1, 2) OR B <> 3) AND (C = 1 OR A NOT IN (5))"]
    events: list[Event] = [{"A": 1, "B": 4}, {"A": 1, "B": 3}, {"A": 1}, {"C": 1}, {"A": "x", "C": 1}, {"B": 4, "C": 1}]

    assert pairs(asked(texts, events)) == [(0, 0), (5, 0)]


def test_clauses_of_one_predicate_are_merged_by_attribute() -> None:
    """They must hold together, as in a conjunction; so ranges with an end each are enumerated without a domain."""
    text = "A > 2 AND A < 5.5 AND A <> 4 AND (B = 1 OR A = 3)"

    index = KIndexBuilder().build(compiled([text]))

    assert clause_lists(index) == {
        (2, "A", "odd"): [["S1.0"]],
        (2, "A", 3): [["S1.0"], ["S1.1"]],
        (2, "A", 5): [["S1.0"]],
        (2, "B", 1): [["S1.1"]],
    }
    asked([text], [{"A": a, "B": b} for a in (2, 3, 4, 4.5, 5, 6) for b in (0, 1)], KIndexBuilder())


def test_ranges_that_only_conjunctions_close_are_multiplied_out() -> None:
    """What cannot be enumerated clause by clause is held if its conjunctions can; else it says why."""
    text = "(A > 3 OR A = 0) AND (A < 9 OR A = 100)"

    index = KIndexBuilder().build(compiled([text]))

    assert index.places()["several conjunctions"] == 1
    asked([text], [{"A": a} for a in (0, 3, 4, 8.5, 9, 100)], KIndexBuilder())
    with pytest.raises(tocsin.UnsuitableIndex, match="without an end") as caught:
        KIndexBuilder().build(compiled(["A = 1", TWELVE]))
    assert caught.value.number == 1


@pytest.mark.parametrize("value", [7.5, 0, -3, 16, 1e300, -0.0, True, "7"])
def test_values_that_are_not_enumerated_are_verified(value: object) -> None:
    """Fractions and numbers beyond the domain are answered exactly in clauses, too."""
    parts = ["A > 7", "A < 7.5", "A = 7.5", "A NOT BETWEEN 7 AND 8", "A <> 16", "A IN (-3, 16, 3)", "A >= 0 AND A < 1"]
    texts = [f"({one} OR B = 1) AND ({other} OR C = 1)" for one in parts[:-1] for other in parts[:-1]]
    texts += [f"({one} OR B = 1) AND {parts[-1]}" for one in parts]

    asked(texts, [{"A": value}, {"A": value, "B": 1}, {"A": value, "C": 1}, {"A": value, "B": 1, "C": 1.5}])


def test_only_odd_values_are_verified() -> None:
    """Enumerated values are answered by the counters; an event with a fraction is looked at again."""
    texts = ["(A > 7 OR B = 1) AND (A > 8 OR C = 1)"]

    enumerated, odd = asked(texts, [{"A": 9}]), asked(texts, [{"A": 7.5}])

    assert (enumerated.candidates_examined, enumerated.verified, pairs(enumerated)) == (1, 0, [(0, 0)])
    assert (odd.candidates_examined, odd.verified, pairs(odd)) == (1, 1, [])


def test_long_lists_of_many_sizes() -> None:
    """Thousands of expressions of 2 to 8 clauses on common attributes, beside conjunctions, answer like scan."""
    dice = np.random.default_rng(5)

    def predicate() -> str:
        name, one, two = f"A{dice.integers(12)}", int(dice.integers(1, 8)), int(dice.integers(1, 8))
        forms = (f"{name} = {one}", f"{name} <> {one}", f"{name} >= {one}", f"{name} NOT IN ({one}, {two})")
        return forms[int(dice.choice(4, p=[0.5, 0.1, 0.3, 0.1]))]

    def clause() -> str:
        return "(" + " OR ".join(predicate() for _ in range(dice.integers(1, 4))) + ")"

    texts = [" AND ".join(clause() for _ in range(dice.integers(1, 9))) for _ in range(3000)]
    events = [
        {f"A{a}": float(dice.choice([1, 2, 3, 4, 5, 6, 7, 7, 2.5])) for a in dice.choice(12, 8, replace=False)}
        for _ in range(100)
    ]

    found = asked(texts, events, KIndexBuilder(1, 7))

    assert len(found.subscriptions) > 1000
