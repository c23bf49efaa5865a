"""How are words made, where TEXT itself does not say? As it is said of the attribute; the expression then says so.

So a subscription means the same wherever it is taken to: into a folder, to Spark, to another engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tocsin.language.templates import rebuilt
from tocsin.model.expression import TEXT, AnyElement, Attribute, Call, Constant, Expression, fold
from tocsin.model.texts import Text


def settled(tree: Expression, texts: Mapping[str, Text], prefix: str = "") -> Expression:
    """A tree in which each TEXT of an attribute of which something is said says how words are made.

    `prefix` is what attributes are in, where they are those of a list's elements.

    >>> from tocsin.language import parse, to_text
    >>> to_text(settled(parse("a = 1 OR TEXT(title, 'cafés')"), {"title": Text(keep_accents=True)}))
    "a = 1 OR TEXT(title, 'cafés', 'keep_accents')"
    """

    def combine(node: Expression, parts: Sequence[Expression]) -> Expression:
        if isinstance(node, AnyElement):
            within = settled(node.condition, texts, f"{prefix}{node.items.name}.")
            return AnyElement(node.items, within, span=node.span)
        if isinstance(node, Call) and node.name == TEXT and len(parts) == 2:
            how = texts.get(prefix + cast(Attribute, parts[0]).name)
            return node if how is None else Call(TEXT, (*parts, Constant(str(how))))
        return rebuilt(node, parts) if parts else node

    return fold(tree, combine)
