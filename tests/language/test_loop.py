"""The loop over lark's tables makes what lark's own loop makes, and finds the same errors."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import lark
from hypothesis import given
from hypothesis import strategies as st

from tests.language.strategies import trees
from tocsin.errors import ExpressionError
from tocsin.language import text as module
from tocsin.language import to_text
from tocsin.language.misplaced import Misplaced

GRAMMAR = files("tocsin.language").joinpath("cql2.lark").read_text("utf-8")
OWN = lark.Lark(GRAMMAR, parser="lalr", lexer=module._Words, start="expression", transformer=module._Nodes())


def outcome(parser: lark.Lark, text: str) -> Any:
    try:
        tree: Any = parser.parse(text)
    except lark.UnexpectedToken as error:
        return error.token.type, error.token.start_pos, error.accepts
    except (Misplaced, ExpressionError) as error:
        return type(error), error.reason
    return tree, tree.span


@given(trees, st.data())
def test_both_loops_agree(tree: Any, data: st.DataObject) -> None:
    text = to_text(tree)
    assert outcome(module._parser(), text) == outcome(OWN, text)
    words = text.split(" ")
    at = data.draw(st.integers(0, len(words) - 1))
    kept = data.draw(st.sampled_from([[], ["("], [")"], ["NOT"], ["AND", "a"], [words[at]] * 2]))
    spoiled = " ".join([*words[:at], *kept, *words[at + 1 :]])
    assert outcome(module._parser(), spoiled) == outcome(OWN, spoiled)
