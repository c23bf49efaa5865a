"""How is a tree worked bottom-up without recursion?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from tocsin.model.expression import MAX_DEPTH, AnyElement, Expression, walk

Result = TypeVar("Result")

_MANY: Final = 1 << 62


def fold(root: Expression, combine: Callable[[Expression, Sequence[Result]], Result]) -> Result:
    """`combine(node, results of its children)` for every node, children first; the root's result.

    Parents come before children in `walk`, so that backwards every node finds its children's results on top
    of a stack, the first child uppermost.
    """
    results: list[Result] = []
    for node in reversed(list(walk(root))):
        count = len(node.children())
        if count:
            mine = results[-count:]
            mine.reverse()
            del results[-count:]
            results.append(combine(node, mine))
        else:
            results.append(combine(node, ()))
    return results[0]


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
