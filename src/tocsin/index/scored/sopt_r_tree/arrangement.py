"""The arrangement of intervals in a SOPT-R-tree, which leaves fewest holes. Cost: O(n log n).

Of two intervals that overlap the better comes first. Others may come in either order; of all that may come next, the
one that begins furthest left does. Paper: Machanavajjhala et al. 2008, section 3.2, Algorithms 1 and 2.

The 2 n ends are ranked on one line, left ends before right ones of the same code, because intervals that touch overlap.
Groups lie side by side on it, so that all are arranged at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.scored.sopt_r_tree.bitmaps import first_from, insert, last_until, new_bitmap, remove
from tocsin.jit.decorators import inner, kernel


class Graph(NamedTuple):
    """The constraint graph: an edge from the better of two overlapping intervals, unless one in between hides it.

    N intervals, E edges, at most 3 n (Lemma 3.4).
    """

    heads: NDArray[np.int32]  # (N,) the last edge out of each interval, -1 for none
    nexts: NDArray[np.int32]  # (E,) the edge before it
    targets: NDArray[np.int32]  # (E,) the interval that an edge leads to
    before: NDArray[np.int32]  # (N,) number of edges that lead to each interval


@kernel
def constraint_graph(lefts: NDArray[np.int32], rights: NDArray[np.int32]) -> Graph:
    """Algorithm 2, for intervals best first, by the ranks of their ends. Cost: O(n log n).

    The interval visible from below (the worst so far at each point) changes only at visible ends. `lowest` gives the
    interval visible from each of them on.
    """
    count = len(lefts)
    visible = new_bitmap(2 * count)
    lowest = np.full(2 * count, -1, np.int32)
    graph = Graph(
        np.full(count, -1, np.int32),
        np.empty(3 * count, np.int32),
        np.empty(3 * count, np.int32),
        np.zeros(count, np.int32),
    )
    edges = np.int64(0)
    for i in range(count):
        left, right = np.int64(lefts[i]), np.int64(rights[i])
        end = last_until(visible, left)
        seen = np.int32(-1) if end < 0 else lowest[end]
        edges = _add_edge(graph, edges, seen, i)
        end = first_from(visible, left)
        while end >= 0 and end < right:
            seen = lowest[end]
            edges = _add_edge(graph, edges, seen, i)
            remove(visible, end)
            end = first_from(visible, end)
        lowest[right] = seen
        insert(visible, right)
        lowest[left] = i
        insert(visible, left)
    return Graph(graph.heads, graph.nexts[:edges].copy(), graph.targets[:edges].copy(), graph.before)


@inner
def _add_edge(graph: Graph, edges: int, source: int, target: int) -> int:
    if source < 0:
        return edges
    graph.targets[edges] = target
    graph.nexts[edges] = graph.heads[source]
    graph.heads[source] = edges
    graph.before[target] += 1
    return edges + 1


@kernel
def arrange(graph: Graph, lefts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Algorithm 1: intervals in the order given by the graph and their left ends. Cost: O(n log n)."""
    count = len(lefts)
    waiting = new_bitmap(2 * count)
    owner = np.empty(2 * count, np.int32)
    before = graph.before.copy()
    for i in range(count):
        owner[lefts[i]] = i
        if before[i] == 0:
            insert(waiting, np.int64(lefts[i]))
    order = np.empty(count, np.int32)
    for place in range(count):
        left = first_from(waiting, np.int64(0))
        remove(waiting, left)
        order[place] = owner[left]
        edge = graph.heads[owner[left]]
        while edge >= 0:
            target = graph.targets[edge]
            before[target] -= 1
            if before[target] == 0:
                insert(waiting, np.int64(lefts[target]))
            edge = graph.nexts[edge]
    return order
