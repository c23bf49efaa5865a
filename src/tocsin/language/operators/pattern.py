"""LIKE and MATCHES: a text against a pattern. CASEI and ACCENTI: a text without case, or without accents."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from tocsin.language.canonical import constant_text, to_text
from tocsin.language.evaluate import evaluate
from tocsin.language.misplaced import Misplaced, refuse_since
from tocsin.language.needs import subject
from tocsin.language.operators.leaves import Leaves
from tocsin.language.operators.operands import STRING_FUNCTIONS, Const, Path, classify
from tocsin.language.operators.operator import (
    PREDICATE,
    SUM,
    Function,
    Json,
    Operation,
    Operator,
    Piece,
    describe,
)
from tocsin.language.operators.scalars import require_scalar
from tocsin.language.strings import (
    ends_in_escape,
    fold_case,
    like_matches,
    like_problem,
    regex_matches,
    regex_problem,
    strip_accents,
)
from tocsin.model.elements import Values
from tocsin.model.expression import Attribute, Call, Constant, Expression, Like, Span, walk

# ---- CASEI, ACCENTI


class Folding(Function):
    names, takes, of_what = STRING_FUNCTIONS, 1, "a string"

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        inner = inside_folding(arguments[0])
        fits = isinstance(inner.value, str) if isinstance(inner, Constant) else isinstance(inner, Attribute)
        if not fits:
            raise Misplaced(f"{name} needs a string or an attribute, not {describe(arguments[0])}", arguments[0])

    def is_condition(self, node: Call) -> bool:
        return False

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> str | None:
        text = parts[0]
        if not isinstance(text, str):
            return None
        return fold_case(text) if node.name == "CASEI" else strip_accents(text)

    def has_recipe(self, node: Call) -> bool:
        """Not for a constant, which is folded at compile time."""
        return not isinstance(node.arguments[0], Constant | Call)


def inside_folding(node: Expression) -> Expression:
    """The node to which CASEI and ACCENTI are applied."""
    while isinstance(node, Call) and node.name in STRING_FUNCTIONS:
        node = node.arguments[0]
    return node


def _folded(node: Expression, leaves: Leaves) -> int:
    """A predicate without attributes, evaluated at compile time."""
    return leaves.known(evaluate(node, {}))


# ---- LIKE


def like(operand: Expression, pattern: Expression, *, span: Span | None = None) -> Expression:
    """Make the node of LIKE. Raises `Misplaced` if `pattern` is not a pattern."""
    require_scalar(operand)
    inner = inside_folding(pattern)
    if not (isinstance(inner, Constant) and isinstance(inner.value, str)):
        raise Misplaced(
            f"LIKE needs a pattern in single quotes, as in name LIKE 'ipad%', not {describe(inner)}", pattern
        )
    if ends_in_escape(inner.value):
        raise Misplaced(r"the pattern ends in a \ that escapes nothing; a backslash itself is written \\", pattern)
    if problem := like_problem(inner.value):
        refuse_since(problem, pattern)
    return Like(operand, pattern, span=span)


class Likeness(Operator):
    nodes, described = Like, "a condition with LIKE"
    advised_by = "LIKE"

    def operations(self) -> Mapping[str, Operation]:
        return {"LIKE": Operation(lambda parts: like(*parts), 2)}

    def text(self, node: Like, parts: Sequence[Piece]) -> Piece:
        operand, pattern = (part.at_least(SUM) for part in parts)
        return Piece(f"{operand} LIKE {pattern}", PREDICATE, f"{operand} NOT LIKE {pattern}")

    def json(self, node: Like, parts: Sequence[Json]) -> Json:
        return {"op": "like", "args": list(parts)}

    def value(self, node: Like, parts: Sequence[Any], values: Values) -> bool | None:
        text, pattern = parts
        if not isinstance(text, str) or not isinstance(pattern, str):
            return None
        return like_matches(pattern, text)

    def needed(self, node: Like, wanted: bool, values: Values) -> str:
        relation = "like" if wanted else "not like"
        return f"{subject(node.operand, 'string', values)} {relation} {to_text(node.pattern)}"

    def advice(self, node: Like, text: str) -> str:
        pattern = cast(Constant, inside_folding(node.pattern)).value
        return "* is not a wildcard in LIKE; write %" if isinstance(pattern, str) and "*" in pattern else ""

    def literal(self, node: Like, leaves: Leaves) -> int:
        operand, pattern = classify(node.operand), classify(node.pattern)
        if not isinstance(pattern, Const) or not isinstance(pattern.value, str):
            return leaves.known(None)
        if isinstance(operand, Const) and isinstance(operand.value, str):
            return _folded(node, leaves)
        return leaves.like(operand, pattern.value) if isinstance(operand, Path) else leaves.known(None)

    def rule_of_values(self, node: Like) -> tuple[Callable[..., str | None], Sequence[Expression]]:
        *_, pattern = walk(node.pattern)  # nothing but CASEI and ACCENTI may enclose it
        return like_problem, [pattern]


# ---- MATCHES


class Matching(Function):
    names, of_what = ("MATCHES",), "an attribute and a regular expression in single quotes"
    advised_by = "MATCHES"

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        text, pattern = arguments
        if not isinstance(inside_folding(text), Attribute):
            raise Misplaced(f"{name} looks at an attribute, or CASEI or ACCENTI of one, not at {describe(text)}", text)
        if not (isinstance(pattern, Constant) and isinstance(pattern.value, str)):
            raise Misplaced(f"{name} needs a regular expression in single quotes, not {describe(pattern)}", pattern)
        if problem := regex_problem(pattern.value):
            raise Misplaced(f"{pattern.value[:60]!r} is no regular expression (RE2 syntax): {problem}", pattern)

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> bool | None:
        text, pattern = parts
        if not isinstance(text, str) or not isinstance(pattern, str):
            return None
        return regex_matches(pattern, text)

    def needed(self, node: Call, wanted: bool, values: Values) -> str:
        text, pattern = node.arguments
        return f"{subject(text, 'string', values)} {'matching' if wanted else 'not matching'} {to_text(pattern)}"

    def advice(self, node: Call, text: str) -> str:
        """MATCHES on folded text with capital letters in the pattern."""
        if not _ignores_case(node.arguments[0]):
            return ""
        pattern = cast(str, cast(Constant, node.arguments[1]).value)
        if _IGNORING_CASE.search(pattern):
            return ""
        letters = [one for one in NO_LETTERS.sub("", pattern) if fold_case(one) != one]
        shown = constant_text("".join(dict.fromkeys(letters)))
        return f"folded text never has {shown}: write the pattern in folded letters, or with (?i)" if letters else ""

    def literal(self, node: Call, leaves: Leaves) -> int:
        operand, pattern = (classify(one) for one in node.arguments)
        if isinstance(operand, Const) and isinstance(operand.value, str):
            return _folded(node, leaves)
        if not isinstance(operand, Path) or not isinstance(pattern, Const) or not isinstance(pattern.value, str):
            return leaves.known(None)
        return leaves.matches(operand, pattern.value)

    def rule_of_values(self, node: Call) -> tuple[Callable[..., str | None], Sequence[Expression]]:
        return regex_problem, [node.arguments[1]]


def _ignores_case(node: Expression) -> bool:
    return isinstance(node, Call) and (node.name == "CASEI" or _ignores_case(node.arguments[0]))


_IGNORING_CASE: Final = re.compile(r"\(\?[a-zA-Z]*i")
NO_LETTERS: Final = re.compile(
    r"\\Q.*?(?:\\E|$)|\\[pPx]\{[^}]*\}|\\.[0-9A-Fa-f]?|\(\?P?<[^>]*>|\[:\^?\w+:\]", re.DOTALL
)
"""Parts of a regular expression that are not letters of the text: escapes, names of groups and of classes."""
