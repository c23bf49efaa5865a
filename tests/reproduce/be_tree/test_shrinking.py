"""A BE-tree that shrinks, too, is at any time like one that only grew."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from reproduce.be_tree.shrinking import ShrinkingTree

from tests.index.asking import assert_alike, batch, compiled
from tests.papers.opindex.be_tree.test_index import assert_sound
from tocsin.papers.opindex.be_tree import BETree
from tocsin.papers.opindex.conjunctions.code_sets import CodedConjunctions

PREDICATES = st.tuples(
    st.sampled_from("ABCD"), st.sampled_from(["=", "<>", "<=", ">=", "<"]), st.sampled_from([1, 2, 3, 4, 5, 2.5])
)
TEXTS = st.lists(PREDICATES, min_size=1, max_size=5).map(lambda ps: " AND ".join(f"{a} {o} {v}" for a, o, v in ps))
CHURN_EVENTS = st.lists(
    st.dictionaries(st.sampled_from("ABCDE"), st.sampled_from([1, 2, 3, 4, 2.5, 9])), min_size=1, max_size=10
)


@given(data=st.data(), max_cap=st.integers(1, 4))
def test_after_any_changes_it_answers_like_one_built_afresh(data, max_cap) -> None:
    """Insertions and deletions in any order leave a sound tree of what is there."""
    held = CodedConjunctions.of(compiled(data.draw(st.lists(TEXTS, min_size=10, max_size=40))))
    growing, there = ShrinkingTree(held, max_cap), set[int]()
    steps = data.draw(st.lists(st.integers(0, max(len(held) - 1, 0)), max_size=120 if len(held) else 0))

    for number in steps:
        if number in there:
            assert growing.delete(number)
        else:
            growing.insert(np.array([number], np.int32))
        there ^= {number}
    layout, fresh = growing.layout(), ShrinkingTree(held, max_cap)
    fresh.insert(np.array(sorted(there), np.int32))

    assert_sound(layout, max_cap)
    events = batch(held.expressions, data.draw(CHURN_EVENTS))
    assert_alike(BETree(layout).match(events), BETree(fresh.layout()).match(events))
    assert not any(growing.delete(number) for number in range(len(held)) if number not in there)


def test_nodes_are_used_again() -> None:
    """A tree emptied is its root alone, and filled again it takes the room that it took."""
    held = CodedConjunctions.of(compiled([f"a{n % 13} = {n} AND b <= {n}" for n in range(300)]))
    growing, numbers = ShrinkingTree(held, 2), np.arange(300, dtype=np.int32)
    rooms = []
    for _ in range(5):
        growing.insert(numbers)
        full = growing.layout()
        rooms.append(growing.room())
        assert_sound(full, 2)
        assert all(growing.delete(number) for number in numbers.tolist())

        assert len(growing.layout().tree.fields) == 1

    assert len(set(rooms)) == 1
