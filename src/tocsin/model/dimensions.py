"""What are the dimensions of an expression? The parts of which relaxed matching asks how many hold."""

from __future__ import annotations

from typing import NamedTuple

from tocsin.model.expression import And, Expression, attributes, conjunction


class Dimension(NamedTuple):
    """The conjuncts on one attribute, or a conjunct on several or none."""

    attributes: tuple[str, ...]  # sorted
    where: Expression


def dimensions(tree: Expression) -> list[Dimension]:
    """The conjuncts of the top-level AND, those on one and the same attribute together, in order of their attributes.

    >>> from tocsin.language import parse, to_text
    >>> for one in dimensions(parse("b = 1 AND a > 1 AND NOT (b = 2 OR c = 3) AND a < 5")):
    ...     print(one.attributes, to_text(one.where))
    ('a',) a > 1 AND a < 5
    ('b',) b = 1
    ('b', 'c') NOT (b = 2 OR c = 3)
    """
    held: list[tuple[tuple[str, ...], list[Expression]]] = []
    singles: dict[str, list[Expression]] = {}
    for part in tree.operands if isinstance(tree, And) else (tree,):
        names = tuple(sorted(set(attributes(part))))
        if len(names) == 1 and names[0] in singles:
            singles[names[0]].append(part)
            continue
        held.append((names, [part]))
        if len(names) == 1:
            singles[names[0]] = held[-1][1]
    held.sort(key=lambda one: one[0])  # stable: equal names stay in order of their first conjuncts
    return [Dimension(names, conjunction(parts)) for names, parts in held]
