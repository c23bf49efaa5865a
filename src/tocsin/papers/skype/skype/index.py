"""Skype's index: a quadtree with an inverted file in each leaf, whose lists are grouped by similar alpha.

A message visits every leaf that Lemma 6 does not exclude, and there the lists of its words. Theorems 5.3 and 5.4
exclude groups, or the ends of groups. Of the remaining subscriptions, those with the word in their location-aware
prefix are tested. Each rule has a switch. Subscriptions added after the last build are scored as by an inverted file.
The index is rebuilt when these are many, and while a window fills; leaves split and merge then.

Cost: O(leaves times words of the message + postings that no group's bound excludes); about 110 bytes for each word of a
subscription. `candidates_examined` counts the subscriptions scored.

Paper: Wang et al. 2016, sections 5.1 to 5.5. Departs: statistics use the threshold of the buffer, not the k-th best
score, which changes with every result; subscriptions enter the tree together.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.errors import UnknownIndex
from tocsin.index.tables import bytes_of_table, grown, new_table
from tocsin.index.window.growing import no_lists
from tocsin.index.window.kernels.disseminating import register
from tocsin.index.window.kernels.layouts import Interests, Words, X, Y
from tocsin.index.window.pace import FIRST, LATE, BuiltAnew
from tocsin.papers.skype.skype.kernels.building import bound_groups, weigh_postings
from tocsin.papers.skype.skype.kernels.layouts import Leaves, Postings, Scratch, Skype, Switches
from tocsin.papers.skype.skype.kernels.searching import retune_tree, search_tree

LEAST_LEAF: Final = 1024
LEAF_SHARE: Final = 8
"""By default, a leaf has at most an eighth of all subscriptions, or 1,024 if that is more."""
GROUPS: Final = 4
OPTIONS: Final = {
    "leaf": 0,
    "groups": GROUPS,
    "prefix": 2,
    "bounds": 1,
    "unseen": 1,
    "group": 1,
    "early": 1,
    "cell": 1,
    "late": LATE,
    "first": FIRST,
}
"""Largest numbers of subscriptions in a leaf and groups in a list; then the switches, and when to rebuild."""


class SkypeIndex(BuiltAnew):
    """The Disseminator over this tree; its options are `OPTIONS`."""

    table: Skype

    def __init__(self, diagonal: float, leaf: int, groups: int, late: int, first: int, **switches: int) -> None:
        most = {"prefix": 2}
        if leaf < 0 or groups < 1 or any(not 0 <= given <= most.get(name, 1) for name, given in switches.items()):
            raise UnknownIndex(
                "leaf is a number from 0 on, groups from 1 on, prefix is 0 to 2, the other switches are 0 or 1"
            )
        super().__init__(diagonal, late, first)
        self._leaf, self._groups = leaf, groups
        none, scratch = no_lists(1), new_table(Scratch, words=0)
        self.table = Skype(Switches(**switches), _no_leaves(1, 0), new_table(Postings, postings=0), none, scratch)

    def know_words(self, count: int) -> None:
        leaves, late = grown(self.table.leaves, words=count), grown(self.table.late, words=count)
        self.table = self.table._replace(leaves=leaves, late=late)

    def know_length(self, words: int) -> None:
        self.table = self.table._replace(scratch=new_table(Scratch, words=words))

    def build(
        self,
        slots: NDArray[np.int32],
        starts: NDArray[np.int64],
        words: NDArray[np.int32],
        interests: Interests,
        table: Words,
        taken: int,
    ) -> None:
        most = self._leaf or max(LEAST_LEAF, len(slots) // LEAF_SHARE)
        leaf_of, boxes = quadtree(interests.records[slots][:, [X, Y]], most)
        leaves = _no_leaves(len(table.squares), len(interests.ks))
        frequencies = np.bincount(words, minlength=len(table.squares))
        used = np.flatnonzero(frequencies)
        leaves.ranks[used[np.argsort(frequencies[used], kind="stable")]] = np.arange(len(used))
        leaves.leaf_of[slots] = leaf_of
        leaves.place_starts[slots] = starts[:-1]
        leaves = leaves._replace(boxes=boxes, nearness=np.full(len(boxes), np.inf))
        postings, words = new_table(Postings, postings=len(words)), words.copy()
        weigh_postings(leaves, interests, table.squares, slots, starts, words, self._diagonal, postings)
        of_leaf = np.repeat(leaf_of, np.diff(starts)).astype(np.int64)
        postings, leaves = self._grouped(postings, leaves, of_leaf * len(used) + leaves.ranks[words], len(used))
        bound_groups(leaves, postings)
        self.table = self.table._replace(leaves=leaves, postings=postings, late=no_lists(len(table.squares)))
        self._pace.begin_anew(taken)

    def _grouped(
        self, postings: Postings, leaves: Leaves, keys: NDArray[np.int64], ranks: int
    ) -> tuple[Postings, Leaves]:
        """Sort postings by list, quantile of a, and b; locate lists and groups. A key is a leaf and a rank."""
        order = np.lexsort((postings.shares, keys))
        lists, firsts, counts = np.unique(keys[order], return_index=True, return_counts=True)
        within = np.arange(len(keys)) - np.repeat(firsts, counts)
        quantile = np.empty(len(keys), np.int64)
        quantile[order] = within * self._groups // np.repeat(counts, counts)
        keys = keys * self._groups + quantile
        order = np.lexsort((postings.needs, keys))
        groups, starts = np.unique(keys[order], return_index=True)
        leaf_of_list = lists // max(ranks, 1)
        leaves = leaves._replace(
            list_starts=np.searchsorted(leaf_of_list, np.arange(len(leaves.nearness) + 1)),
            list_ranks=(lists % max(ranks, 1)).astype(np.int32),
            group_starts=np.append(np.searchsorted(groups // self._groups, lists), len(groups)),
            starts=np.append(starts, len(keys)),
            places=np.empty(len(keys), np.int32),
            groups=np.empty(len(keys), np.int32),
        )
        return Postings._make(np.ascontiguousarray(array[order]) for array in postings), leaves

    def bytes(self) -> int:
        return bytes_of_table(self.table[1:])


_DEEPEST: Final = 24
"""Equal places can never be separated; at this depth, places count as equal."""


def quadtree(places: NDArray[np.float64], most: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The leaf of each place, and the box of each leaf: xmin, ymin, xmax, ymax. Leaves have at most `most` places.

    The exception is a leaf at the greatest depth. Source: Finkel and Bentley 1974; the paper only names the quadtree.
    Cells are halved in the middle.
    """
    leaf_of = np.zeros(len(places), np.int32)
    boxes: list[tuple[float, ...]] = []
    whole = (*places.min(0, initial=np.inf), *places.max(0, initial=-np.inf))
    waiting = [(np.arange(len(places)), whole, 0)] if len(places) else []
    while waiting:
        own, box, depth = waiting.pop()
        if len(own) <= most or depth == _DEEPEST:
            leaf_of[own] = len(boxes)
            boxes.append(box)
            continue
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        is_right, is_upper = places[own, 0] > x, places[own, 1] > y
        for right in (False, True):
            for upper in (False, True):
                part = own[(is_right == right) & (is_upper == upper)]
                sides = (x if right else box[0], y if upper else box[1], box[2] if right else x, box[3] if upper else y)
                if len(part):
                    waiting.append((part, sides, depth + 1))
    return leaf_of, np.array(boxes, np.float64).reshape(-1, 4)


def _no_leaves(words: int, slots: int) -> Leaves:
    return new_table(Leaves, words=words, slots=slots, leaves=0, lists=0, groups=0, postings=0)


register(Skype, search_tree, retune_tree)
