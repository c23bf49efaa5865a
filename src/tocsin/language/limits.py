"""How deep and how large is an expression, and what is said of one that is too deep?"""

from __future__ import annotations

from typing import Final

from tocsin.model.expression import MAX_DEPTH, AnyElement, Expression

_MANY: Final = 1 << 62


def measure(root: Expression, most_nodes: int = _MANY) -> tuple[int, int]:
    """The depth of a tree, one for a single node, and the number of its nodes.

    What `ANY` asks of elements counts as nested in it. Counting stops once there are more than `most_nodes`.
    """
    depth = nodes = 0
    level: list[Expression] = [root]
    while level and nodes <= most_nodes:
        depth += 1
        nodes += len(level)
        level = [child for node in level for child in _nested(node)]
    return depth, nodes


def _nested(node: Expression) -> tuple[Expression, ...]:
    return (node.items, node.condition) if isinstance(node, AnyElement) else node.children()


def too_deep(depth: int) -> str:
    """The refusal of an expression that nests too deep."""
    return f"the expression nests {depth} deep; at most {MAX_DEPTH} is allowed"
