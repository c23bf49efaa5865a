"""What cannot come into an IR-tree, go or change is refused: what came, what is allowed; and nothing is changed."""

from __future__ import annotations

import pytest

import tocsin
from reproduce.ir_tree import ChangingIRTree
from tests.contract.test_rankers import ask
from tests.index.scored.building import scored
from tests.naive.intervals import Interval
from tests.reproduce.ir_tree.reading import check_structure, insert_all

REFUSED = [
    ((0, 3, 2, 1.0, 7), r"interval is \[3, 2\].*swap"),
    ((0, -1, 2, 1.0, 7), r"\[-1, 2\] reaches beyond the codes of group 0, which are 0 to 9"),
    ((0, 3, 10, 1.0, 7), r"\[3, 10\] reaches beyond"),
    ((1, 0, 1, 1.0, 7), r"\[0, 1\] reaches beyond the codes of group 1, which are 0 to 0"),
    ((2, 0, 0, 1.0, 7), r"no group 2; there are 2, numbered from 0"),
    ((-1, 0, 0, 1.0, 7), r"no group -1"),
    ((0, 0, 0, float("nan"), 7), "score of an interval is nan; it must be finite"),
    ((0, 0, 0, float("inf"), 7), "score of an interval is inf"),
    ((0, 0, 0, 1.0, 2**31), "owner is 2147483648"),
    ((0, 0, 9, 1.0, 1), "owner 1 has an interval in group 0 already; delete"),
]


@pytest.mark.parametrize("row, reason", REFUSED)
def test_what_cannot_come_is_refused(row, reason):
    """One by one and among others, of which then none is taken."""
    held = [Interval(0, 2, 3, 1.0, 1), Interval(1, 0, 0, 2.0, 1)]
    tree = ChangingIRTree([9, 0])
    insert_all(tree, held)

    with pytest.raises(tocsin.InvalidInput, match=reason):
        tree.insert(*row)
    with pytest.raises(tocsin.InvalidInput, match=reason):
        insert_all(tree, [Interval(0, 0, 0, 1.0, 5), Interval(*row), Interval(0, 0, 0, 1.0, 6)])
    check_structure(tree, held, 32)


def test_what_cannot_go_or_change_is_refused():
    """Unknown owners and groups, scores that are none, and a row twice; nothing is changed by the others in a call."""
    held = [Interval(0, 2, 3, 1.0, 1), Interval(0, 0, 9, 2.0, 2)]
    tree = ChangingIRTree([9, 0])
    insert_all(tree, held)

    for group, owner, reason in (
        (0, 3, "owner 3 has no interval in group 0"),
        (1, 1, "no interval"),
        (2, 1, "no group 2"),
    ):
        with pytest.raises(tocsin.InvalidInput, match=reason):
            tree.delete(group, owner)
        with pytest.raises(tocsin.InvalidInput, match=reason):
            tree.rescore(group, owner, 1.0)
        with pytest.raises(tocsin.InvalidInput, match=reason):
            tree.delete_many([0, group], [1, owner])
        with pytest.raises(tocsin.InvalidInput, match=reason):
            tree.rescore_many([0, group], [1, owner], [5.0, 6.0])
    with pytest.raises(tocsin.InvalidInput, match="comes twice in group 0"):
        tree.delete_many([0, 0], [1, 1])
    with pytest.raises(tocsin.InvalidInput, match="comes twice in group 0"):
        tree.insert_many([0, 0], [1, 1], [2, 2], [1.0, 1.0], [7, 7])
    with pytest.raises(tocsin.InvalidInput, match="finite"):
        tree.rescore(0, 1, float("nan"))
    with pytest.raises(tocsin.InvalidInput, match="finite"):
        tree.rescore_many([0], [1], [float("nan")])
    with pytest.raises(tocsin.InvalidInput, match="as many"):
        tree.insert_many([0, 0], [1], [2], [1.0], [7])
    with pytest.raises(tocsin.InvalidInput, match="whole numbers"):
        tree.insert_many([0.5], [1], [2], [1.0], [7])
    check_structure(tree, held, 32)


@pytest.mark.parametrize("branching", [-2, 0, 3, 4097])
def test_a_branching_factor_that_cannot_be_is_refused(branching):
    with pytest.raises(tocsin.InvalidInput, match=f"branching is {branching}.*4 to 4096"):
        ChangingIRTree([5], branching)


@pytest.mark.parametrize("last", [[-1], [3, 2**31 - 1]])
def test_codes_that_cannot_be_are_refused(last):
    with pytest.raises(tocsin.InvalidInput, match="highest code of group"):
        ChangingIRTree(last)


def test_an_owner_with_two_intervals_in_a_group_is_refused():
    with pytest.raises(tocsin.InvalidInput, match="owner 4 comes twice in group 0"):
        ChangingIRTree.of(scored([Interval(0, 0, 1, 1.0, 4), Interval(0, 3, 4, 1.0, 4)], [9]))


def test_a_query_that_cannot_be_is_refused():
    tree = ChangingIRTree([5, 3])
    for group, code in ((2, 0), (-1, 0), (1, 4)):
        with pytest.raises(tocsin.InvalidInput, match="there are 2 groups"):
            ask(tree, [(group, code)], 1)
