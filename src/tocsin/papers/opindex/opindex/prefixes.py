"""LIKE patterns that are prefixes or suffixes, in tries stored as sorted strings with links to their parents.

Consider the last prefix that does not sort after a string. The string's prefixes are that one or its ancestors. So one
binary search and a walk up the links replace a trie's walk down, letter by letter. The paper's strings "A#prefix" are
groups by field here. A suffix is a prefix of what is read backwards, byte by byte: in UTF-8, bytes that end a string
end it at a letter.

Paper: Zhang, Chan, Tan 2014, section 6.2.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, starts_of
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions
from tocsin.papers.opindex.opindex.kernels.layouts import Prefixes

Affix: TypeAlias = tuple[int, int, int, bytes]
"""Field, transform, direction (1 for prefixes, -1 for suffixes), and bytes in that direction."""


def make_prefixes(leaves: Expressions, present: NDArray[np.int32], fields: int) -> tuple[Prefixes, NDArray[np.int32]]:
    """The prefixes and suffixes of all LIKE leaves, and each leaf's number among them, or -1 if it is neither.

    `present` has the field of each leaf. Cost: O(X log X) comparisons of strings for X LIKE leaves.
    """
    numbers = np.full(len(leaves.leaf_kinds), -1, np.int32)
    found: dict[Affix, list[int]] = {}
    for leaf in np.flatnonzero(leaves.leaf_kinds == codes.LIKE).tolist():
        affix = affix_of(_tokens(leaves, int(leaves.leaf_others[leaf])))
        if affix is not None:
            found.setdefault((int(present[leaf]), int(leaves.leaf_transforms[leaf]), *affix), []).append(leaf)
    ordered = sorted(found)
    for number, key in enumerate(ordered):
        numbers[found[key]] = number
    return prefix_table(ordered, fields), numbers


def _tokens(leaves: Expressions, pattern: int) -> NDArray[Any]:
    return leaves.pattern_tokens[leaves.pattern_starts[pattern] : leaves.pattern_starts[pattern + 1]]


def affix_of(tokens: NDArray[Any]) -> tuple[int, bytes] | None:
    """The direction, and the text before or behind the only `%` of a pattern at its end; None for other patterns."""
    wild = np.flatnonzero(tokens >= codes.ANY_RUN)
    if len(wild) != 1 or tokens[wild[0]] != codes.ANY_RUN:
        return None
    if wild[0] == len(tokens) - 1:
        return 1, tokens[:-1].astype(np.uint8).tobytes()
    return (-1, tokens[:0:-1].astype(np.uint8).tobytes()) if wild[0] == 0 else None


def prefix_table(ordered: Sequence[Affix], fields: int, numbers: Sequence[int] | None = None) -> Prefixes:
    """The tries of some prefixes and suffixes in order; `numbers` are their operands, by default their places."""
    groups = sorted({key[:3] for key in ordered})
    places = {group: place for place, group in enumerate(groups)}
    sizes = np.bincount([places[key[:3]] for key in ordered], minlength=len(groups)) if ordered else np.empty(0, int)
    return Prefixes(
        starts=frozen(starts_of(np.bincount([field for field, *_ in groups], minlength=fields), fields), np.int32)
        if groups
        else frozen(np.zeros(fields + 1), np.int32),
        transforms=frozen([transform for _, transform, _ in groups], np.uint16),
        steps=frozen([step for *_, step in groups], np.int8),
        group_starts=frozen(starts_of(sizes, len(groups)), np.int32),
        text_starts=starts_of([len(text) for *_, text in ordered], len(ordered)),
        text=frozen(np.frombuffer(b"".join(text for *_, text in ordered), np.uint8), np.uint8),
        parents=frozen(parents_of([(key[:3], key[3]) for key in ordered]), np.int32),
        numbers=frozen(np.arange(len(ordered)) if numbers is None else numbers, np.int32),
    )


def parents_of(ordered: Sequence[tuple[Hashable, bytes]]) -> list[int]:
    """The longest other string of the same group that each one begins with, or -1; groups and strings ascend."""
    parents: list[int] = []
    open_ones: list[int] = []  # each a prefix of the next
    for number, (group, text) in enumerate(ordered):
        while open_ones:
            other, above = ordered[open_ones[-1]]
            if other == group and text.startswith(above):
                break
            open_ones.pop()
        parents.append(open_ones[-1] if open_ones else -1)
        open_ones.append(number)
    return parents


def depths(prefixes: Prefixes) -> NDArray[np.int32]:
    """(D,) the largest number of prefixes and suffixes that a string of each field can have. Cost: linear."""
    depth = np.zeros(len(prefixes.parents) + 1, np.int32)  # the last entry stands for "no parent"
    for number, parent in enumerate(prefixes.parents.tolist()):
        depth[number] = depth[parent] + 1
    deepest = [
        depth[first:stop].max(initial=0)
        for first, stop in zip(prefixes.group_starts[:-1].tolist(), prefixes.group_starts[1:].tolist(), strict=True)
    ]
    owners = np.repeat(np.arange(len(prefixes.starts) - 1), np.diff(prefixes.starts))
    return frozen(np.bincount(owners, deepest, len(prefixes.starts) - 1), np.int32)
