"""Aho-Corasick automaton: finds which of many literals a text contains, in one pass over its bytes.

Source: Aho and Corasick, "Efficient string matching", 1975. A literal may be anchored: the automaton reads BEGIN before
and END after every text. These are not bytes of UTF-8, so a prefix, a suffix or a whole text is a literal like any
other.

Nodes are numbered level by level, the children of a node one after another by their bytes. Nearly all steps are between
nodes close to the root, which a text without long literals never leaves: these have a table with the next node for each
byte. So the steps of a search stay in a part of memory that fits a processor's cache, and a node takes 17 bytes.

Cost: building is linear in the literals' bytes; searching, in the text's bytes and the literals found.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, kernel
from tocsin.kernels.numbers import scattered
from tocsin.kernels.sorting import stable_order

BEGIN: Final = 0xFF
END: Final = 0xFE

NONE: Final = -1
_EMPTY = np.int64(-1)

CHILD, FAILURE, REPORT = 0, 1, 2
"""The columns of `Automaton.nodes`."""

_TABLED = 1024
"""At most so many nodes have a table of moves: 1 kB each."""


class Automaton(NamedTuple):
    """N nodes, the root first; L literals; K nodes with a table."""

    moves: Annotated[NDArray[np.int32], 2]  # (K, 256) for the first nodes, the node after each byte
    nodes: Annotated[
        NDArray[np.int32], 2
    ]  # (N + 1, 3) the first child (the last is the next node's first); the node of the longest proper suffix that is
    # a node; and the nearest node, itself or along such suffixes, where a literal ends, or -1
    edges: NDArray[np.uint8]  # (N,) the byte that leads to a node
    literals: NDArray[np.int32]  # (N,) the first literal that ends at a node, or -1
    following: NDArray[np.int32]  # (L,) the next literal that ends at the same node, or -1


class _Trie(NamedTuple):
    """The nodes in the order in which literals made them, and a hash table of their children. M is room for nodes."""

    keys: NDArray[np.int64]  # (H,) node << 8 | byte, -1 for an empty place; H is a power of two, half of it empty
    children: NDArray[np.int32]  # (H,)
    parents: NDArray[np.int32]  # (M,)
    edges: NDArray[np.uint8]  # (M,)
    literals: NDArray[np.int32]  # (M,)
    following: NDArray[np.int32]  # (L,)


@inlined
def _place(keys: NDArray[np.int64], node: int, byte: int) -> int:
    """The place of a node's child in the table, or the free place where it would be."""
    key = np.int64(node) << 8 | np.int64(byte)
    mask = np.uint64(len(keys) - 1)
    hashed = scattered(key)
    at = (hashed ^ (hashed >> np.uint64(32))) & mask
    while keys[at] != key and keys[at] != _EMPTY:
        at = (at + np.uint64(1)) & mask
    return at


@inlined
def _step(automaton: Automaton, node: int, byte: int) -> int:
    """The next node after reading a byte."""
    tabled = len(automaton.moves)
    while node >= tabled:
        for child in range(automaton.nodes[node, CHILD], automaton.nodes[node + 1, CHILD]):
            if automaton.edges[child] == byte:
                return np.int64(child)
        node = np.int64(automaton.nodes[node, FAILURE])
    return np.int64(automaton.moves[node, byte])


@kernel
def build_automaton(starts: NDArray[np.int64], data: NDArray[np.uint8]) -> Automaton:
    """Build the automaton of literals, none of them empty."""
    room = np.int64(16)
    while room < 2 * (len(data) + 1):
        room *= 2
    trie = _Trie(
        np.full(room, _EMPTY, np.int64),
        np.zeros(room, np.int32),
        np.zeros(len(data) + 1, np.int32),
        np.zeros(len(data) + 1, np.uint8),
        np.full(len(data) + 1, NONE, np.int32),
        np.full(len(starts) - 1, NONE, np.int32),
    )
    count = _plant(trie, starts, data)
    return _by_levels(trie, count)


@inlined
def _plant(trie: _Trie, starts: NDArray[np.int64], data: NDArray[np.uint8]) -> int:
    """Write the literals' nodes; returns their number, with the root."""
    count = np.int64(1)
    for literal in range(len(starts) - 1):
        node = np.int64(0)
        for i in range(starts[literal], starts[literal + 1]):
            at = _place(trie.keys, node, data[i])
            if trie.keys[at] == _EMPTY:
                trie.keys[at] = node << 8 | np.int64(data[i])
                trie.children[at] = count
                trie.parents[count] = node
                trie.edges[count] = data[i]
                count += 1
            node = np.int64(trie.children[at])
        trie.following[literal] = trie.literals[node]
        trie.literals[node] = literal
    return count


@inlined
def _by_levels(trie: _Trie, count: int) -> Automaton:
    """The automaton of a trie: its nodes numbered level by level, with moves, failures and reports."""
    heads, nexts = np.full(count, NONE, np.int32), np.full(count, NONE, np.int32)
    by_edge = stable_order(trie.edges[:count])
    for i in range(count - 1, -1, -1):  # the last is put in front, so that children are in the order of their bytes
        node = by_edge[i]
        if node != 0:
            nexts[node] = heads[trie.parents[node]]
            heads[trie.parents[node]] = node
    tabled = min(np.int64(count), np.int64(_TABLED))
    moves = np.zeros((tabled, 256), np.int32)
    nodes = np.zeros((count + 1, 3), np.int32)
    edges = np.zeros(count, np.uint8)
    literals = np.full(count, NONE, np.int32)
    automaton = Automaton(moves, nodes, edges, literals, trie.following)
    planted, parents = np.zeros(count, np.int64), np.zeros(count, np.int64)  # of each node: in the trie, by number
    ready = np.int64(1)
    for node in range(count):
        nodes[node, CHILD] = ready
        literals[node] = trie.literals[planted[node]]
        _link(automaton, node, parents[node])
        child = heads[planted[node]]
        while child != NONE:
            planted[ready], parents[ready], edges[ready] = child, node, trie.edges[child]
            if node < tabled:
                moves[node, trie.edges[child]] = ready
            ready += 1
            child = nexts[child]
    nodes[count, CHILD] = ready
    return automaton


@inlined
def _link(automaton: Automaton, node: int, parent: int) -> None:
    """Write a node's failure and report, and its moves as if it had no children. Those before it are complete."""
    failure = np.int64(0)
    if parent != 0:
        failure = _step(automaton, np.int64(automaton.nodes[parent, FAILURE]), automaton.edges[node])
    automaton.nodes[node, FAILURE] = failure
    is_end = automaton.literals[node] != NONE
    automaton.nodes[node, REPORT] = node if is_end else automaton.nodes[failure, REPORT] if node != 0 else NONE
    if 0 < node < len(automaton.moves):
        for byte in range(256):
            automaton.moves[node, byte] = automaton.moves[failure, byte]


@kernel
def find_literals(
    automaton: Automaton, text: NDArray[np.uint8], stamps: NDArray[np.int64], stamp: int, out: NDArray[np.int32]
) -> int:
    """Write the literals that a text contains, each once, in any order; returns how many. `out` has room for all.

    `stamps`, by literal, must be below `stamp` before.
    """
    found = 0
    node = np.int64(0)
    for i in range(-1, len(text) + 1):
        byte = np.int64(BEGIN) if i < 0 else np.int64(END) if i == len(text) else np.int64(text[i])
        node = _step(automaton, node, byte)
        report = automaton.nodes[node, REPORT]
        while report != NONE:
            literal = automaton.literals[report]
            while literal != NONE:
                if stamps[literal] < stamp:
                    stamps[literal] = stamp
                    out[found] = literal
                    found += 1
                literal = automaton.following[literal]
            report = automaton.nodes[automaton.nodes[report, FAILURE], REPORT]
    return found
