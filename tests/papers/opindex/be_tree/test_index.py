"""The BE-tree: the shape of the paper's figure, its invariants under any change, answers like the oracle's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.index.asking import Event, assert_alike, batch, compiled, pairs
from tests.papers.opindex.k_index.test_index import TABLE_1
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import Found, choose
from tocsin.index.boolean.scan import Scan
from tocsin.papers.opindex.be_tree import BETreeBuilder
from tocsin.papers.opindex.be_tree.growing import BETreeLayout


def asked(texts: Sequence[str], events: Sequence[Event], max_cap: int = 2) -> Found:
    """What a BE-tree finds, once it is seen to find what `scan` finds, and to be a BE-tree."""
    expressions = compiled(texts)
    given = batch(expressions, events)
    tree = BETreeBuilder(max_cap).build(expressions)
    assert_sound(tree.layout, max_cap)
    found = tree.match(given)
    assert_alike(found, Scan.build(expressions).match(given))
    return found


def members(layout: BETreeLayout, node: int) -> range:
    return range(*layout.tree.member_starts[node : node + 2])


def used_fields(layout: BETreeLayout) -> dict[int, dict[int, tuple[int, int]]]:
    """For each c-node, the fields of the p-nodes on its way with the range of codes that it is left with."""
    tree = layout.tree
    used: dict[int, dict[int, tuple[int, int]]] = {0: {}}
    for node in range(len(tree.fields)):
        for half in (int(tree.lefts[node]), int(tree.rights[node])):
            if half >= 0:
                used[half] = used[node] | {int(tree.fields[half]): (int(tree.lows[half]), int(tree.highs[half]))}
        for p in range(*tree.directory_starts[node : node + 2]):
            top, field = int(tree.p_tops[p]), int(tree.p_fields[p])
            assert field not in used[node], "an attribute is used twice"
            used[top] = used[node] | {field: (int(tree.lows[top]), int(tree.highs[top]))}
    return used


def hulls(layout: BETreeLayout, conjunction: int) -> dict[int, tuple[int, int]]:
    """The lowest and highest code that a conjunction allows of each of its fields."""
    sets = layout.conjunctions.sets
    return {
        int(sets.fields[p]): (int(sets.lows[sets.range_starts[p]]), int(sets.highs[sets.range_starts[p + 1] - 1]))
        for p in range(*sets.starts[conjunction : conjunction + 2])
    }


def assert_sound(layout: BETreeLayout, max_cap: int) -> None:
    """Every conjunction is where the paper has it, and no l-node has more than it must."""
    tree = layout.tree
    for node, used in used_fields(layout).items():
        directory = set(tree.p_fields[slice(*tree.directory_starts[node : node + 2])].tolist())
        low, high = int(tree.lows[node]), int(tree.highs[node])
        middle = (low + high) // 2
        for conjunction in members(layout, node):
            hull = hulls(layout, conjunction)
            for field, (first, last) in used.items():
                assert first <= hull[field][0] <= hull[field][1] <= last
            assert not directory & hull.keys(), "a conjunction has an attribute of the directory beside it"
            straddles = (
                node == 0 or low == high or hull[int(tree.fields[node])][0] <= middle < hull[int(tree.fields[node])][1]
            )
            if tree.lefts[node] >= 0 or tree.rights[node] >= 0:
                assert straddles, "a half covers a conjunction"
            if len(members(layout, node)) > max_cap:
                assert straddles, "an l-node could be clustered"
                assert hull.keys() <= used.keys(), "an l-node could be partitioned"
        if node:
            assert len(members(layout, node)) or directory or tree.lefts[node] >= 0 or tree.rights[node] >= 0


def test_the_shape_of_figure_3() -> None:
    """Zhang et al. 2014, Figure 3: p-nodes A and B at the root, S5 beside them, S3 in the lower half of B's values."""
    tree = BETreeBuilder(max_cap=2).build(compiled(TABLE_1))

    layout = tree.layout
    places = {int(owner) + 1: c for c, owner in enumerate(layout.conjunctions.owners.tolist())}
    homes = {s: int(np.searchsorted(layout.tree.member_starts, c, side="right")) - 1 for s, c in places.items()}
    at_root = layout.tree.p_fields[slice(*layout.tree.directory_starts[:2])]
    names = {tree.attributes[np.searchsorted(layout.conjunctions.fields.starts, f, side="right") - 1] for f in at_root}
    assert names == {"A", "B"}
    assert homes[5] == 0
    assert [tree.place(n) for n in range(6)] == ["below B", "below A", "below B", "below A", "at the root", "below B"]
    values = layout.tree.highs[layout.tree.p_tops].max()
    assert (layout.tree.lows[homes[3]], layout.tree.highs[homes[3]]) == (0, values // 2)


def test_the_event_of_example_5() -> None:
    """Without A, what lies below A is not reached (Example 5)."""
    found = asked(TABLE_1, [{"B": 6, "C": 3, "E": 9}])

    assert pairs(found) == []
    assert found.candidates_examined == 3  # S5 at the root, S1 and S6 below B; S3 is in a half without 6


def test_an_event_reaches_few_conjunctions() -> None:
    """Of a thousand points on a grid, an event reaches no more than two l-nodes' worth."""
    texts = [f"x = {n % 40} AND y = {n // 40}" for n in range(1000)]

    found = asked(texts, [{"x": 7, "y": 12}, {"x": 7}, {"y": 3}], max_cap=5)

    assert pairs(found) == [(0, 487)]
    assert found.candidates_examined <= 3 * 2 * 5
    assert found.verified == found.candidates_examined


def test_equal_conjunctions_stay_together_and_others_leave() -> None:
    """What nothing can split overflows its l-node; what comes later is split from it."""
    texts = ["x = 1"] * 20 + ["x = 1 AND y = 2"] * 3 + ["TRUE"] * 7 + ["z <> 3"]

    found = asked(texts, [{"x": 1}, {"x": 1, "y": 2, "z": 4}, {}], max_cap=3)

    assert len(found.subscriptions) == 27 + 31 + 7


def test_a_tree_has_room_for_many_nodes() -> None:
    """More nodes than there was room for at first change nothing."""
    dice = np.random.default_rng(1)
    rows = dice.integers(0, 60, (4000, 6))
    texts = [f"a{r[0]} = {r[1]} AND a{60 + r[2]} >= {r[3]} AND b{r[4] % 7} <= {r[5]}" for r in rows.tolist()]
    events = [{f"a{n}": int(dice.integers(60)) for n in range(0, 120, 2)} | {"b1": 3, "b2": 50} for _ in range(70)]

    found = asked(texts, events, max_cap=1)

    assert len(BETreeBuilder(1).build(compiled(texts)).layout.tree.fields) > 4096
    assert len(found.subscriptions) > 50


@given(
    expressions=st.lists(own.comparisons_with_constants(), min_size=1, max_size=20),
    max_cap=st.integers(1, 4),
)
def test_any_tree_is_sound(expressions, max_cap) -> None:
    """Every comparison with constants is held where it belongs."""
    assert_sound(BETreeBuilder(max_cap).build(compile_expressions(expressions)).layout, max_cap)


def test_the_capacity_is_an_option() -> None:
    """Written behind the name, it reaches the index; none is refused."""
    assert dict(choose("be_tree(max_cap=20)").options) == {"max_cap": 20}
    texts = [f"A = {n}" for n in range(20)]
    assert len(BETreeBuilder(20).build(compiled(texts)).layout.tree.fields) == 1
    assert len(BETreeBuilder(19).build(compiled(texts)).layout.tree.fields) > 1
    with pytest.raises(tocsin.InvalidInput, match="max_cap of be_tree is 0"):
        BETreeBuilder(0)
