"""Aho-Corasick automaton: finds which of many literals a text contains, in one pass over its bytes.

Source: Aho and Corasick, "Efficient string matching", 1975. Children are found in one hash table over (node, byte), and
the root's in a table of 256. A literal may be anchored: the automaton reads BEGIN before and END after every text.
These are not bytes of UTF-8, so a prefix, a suffix or a whole text is a literal like any other.

Cost: building is linear in the literals' bytes; searching, in the text's bytes and the literals found.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.numbers import scattered
from tocsin.kernels.sorting import stable_order

BEGIN: Final = 0xFF
END: Final = 0xFE

NONE: Final = -1
_EMPTY = np.int64(-1)


class Automaton(NamedTuple):
    """N nodes, the root first; L literals; H places of the table, a power of two, at most half of them occupied."""

    roots: NDArray[np.int32]  # (256,) the root's children; the root itself for a missing child
    keys: NDArray[np.int64]  # (H,) node << 8 | byte, -1 for an empty place
    children: NDArray[np.int32]  # (H,)
    failures: NDArray[np.int32]  # (N,) the node of the longest proper suffix that is a node
    reports: NDArray[np.int32]  # (N,) the nearest node, itself or along failures, where a literal ends, or -1
    literals: NDArray[np.int32]  # (N,) the first literal that ends at a node, or -1
    following: NDArray[np.int32]  # (L,) the next literal that ends at the same node, or -1


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
    while node != 0:
        at = _place(automaton.keys, node, byte)
        if automaton.keys[at] != _EMPTY:
            return automaton.children[at]
        node = automaton.failures[node]
    return automaton.roots[byte]


@kernel
def build_automaton(starts: NDArray[np.int64], data: NDArray[np.uint8]) -> Automaton:
    """Build the automaton of literals, none of them empty."""
    room = np.int64(16)
    while room < 2 * (len(data) + 1):
        room *= 2
    roots = np.zeros(256, np.int32)
    keys = np.full(room, _EMPTY, np.int64)
    children = np.zeros(room, np.int32)
    parents = np.zeros(len(data) + 1, np.int32)
    edges = np.zeros(len(data) + 1, np.uint8)
    depths = np.zeros(len(data) + 1, np.int32)
    literals = np.full(len(data) + 1, NONE, np.int32)
    following = np.full(len(starts) - 1, NONE, np.int32)
    count = 1
    for literal in range(len(starts) - 1):
        node = np.int32(0)
        for i in range(starts[literal], starts[literal + 1]):
            at = _place(keys, node, data[i])
            if keys[at] == _EMPTY:
                keys[at] = np.int64(node) << 8 | np.int64(data[i])
                children[at] = count
                parents[count] = node
                edges[count] = data[i]
                depths[count] = depths[node] + 1
                if node == 0:
                    roots[data[i]] = count
                count += 1
            node = children[at]
        following[literal] = literals[node]
        literals[node] = literal
    failures = np.zeros(count, np.int32)
    reports = np.full(count, NONE, np.int32)
    automaton = Automaton(roots, keys, children, failures, reports, literals[:count].copy(), following)
    _link(automaton, parents, edges, stable_order(depths[:count]))
    return automaton


@kernel
def _link(
    automaton: Automaton, parents: NDArray[np.int32], edges: NDArray[np.uint8], by_depth: NDArray[np.int64]
) -> None:
    """Write the failures and reports of all nodes, in the order of `by_depth`."""
    for node in by_depth:
        if node == 0:
            continue
        parent = parents[node]
        failure = np.int32(0) if parent == 0 else _step(automaton, automaton.failures[parent], edges[node])
        automaton.failures[node] = failure
        automaton.reports[node] = node if automaton.literals[node] != NONE else automaton.reports[failure]


@kernel
def find_literals(
    automaton: Automaton, text: NDArray[np.uint8], stamps: NDArray[np.int64], stamp: int, out: NDArray[np.int32]
) -> int:
    """Write the literals that a text contains, each once, in any order; returns how many. `out` has room for all.

    `stamps`, by literal, must be below `stamp` before.
    """
    found = 0
    node = np.int32(0)
    for i in range(-1, len(text) + 1):
        byte = BEGIN if i < 0 else END if i == len(text) else np.int64(text[i])
        node = _step(automaton, node, byte)
        report = automaton.reports[node]
        while report != NONE:
            literal = automaton.literals[report]
            while literal != NONE:
                if stamps[literal] < stamp:
                    stamps[literal] = stamp
                    out[found] = literal
                    found += 1
                literal = automaton.following[literal]
            report = automaton.reports[automaton.failures[report]]
    return found
