"""How deep and how large is an expression, and what is said of one that is too deep?"""

from __future__ import annotations

from typing import Final

from tocsin.model.expression import MAX_DEPTH, Expression

_MANY: Final = 1 << 62


def measure(root: Expression, most_nodes: int = _MANY) -> tuple[int, int]:
    """The depth of a tree, one for a single node, and the number of its nodes.

    Inner expressions count as nested in their node. Counting stops once there are more than `most_nodes`.
    """
    depth = nodes = 0
    level: list[Expression] = [root]
    while level and nodes <= most_nodes:
        depth += 1
        nodes += len(level)
        level = [child for node in level for child in (*node.children(), *node.inner())]
    return depth, nodes


def too_deep(depth: int) -> str:
    """The refusal of an expression that nests too deep."""
    return f"the expression nests {depth} deep; at most {MAX_DEPTH} is allowed"
