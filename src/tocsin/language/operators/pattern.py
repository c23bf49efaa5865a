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
    operator_of,
)
from tocsin.language.operators.scalars import require_plain
from tocsin.language.regexes import regex_matches, regex_problem
from tocsin.language.strings import ends_in_escape, fold_case, like_matches, like_problem, strip_accents
from tocsin.model.elements import Values
from tocsin.model.expression import Call, Constant, Expression, Like, Span, walk

# ---- CASEI, ACCENTI


_FOLDINGS: Final = {"CASEI": fold_case, "ACCENTI": strip_accents}


class Folding(Function):
    names, takes, of_what = STRING_FUNCTIONS, 1, "a string"

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        inner = inside_folding(arguments[0])
        fits = isinstance(inner.value, str) if isinstance(inner, Constant) else is_attribute(inner)
        if not fits:
            raise Misplaced(f"{name} needs a string or an attribute, not {describe(arguments[0])}", arguments[0])

    def is_condition(self, node: Call) -> bool:
        return False

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> str | None:
        text = parts[0]
        if not isinstance(text, str):
            return None
        return _FOLDINGS[node.name](text)

    def of_constant(self, name: str) -> Callable[[str], str]:
        return _FOLDINGS[name]

    def has_recipe(self, node: Call) -> bool:
        """Not for a constant, which `columns.expressions.spelling` replaces by what it becomes."""
        return isinstance(classify(node), Path)


def inside_folding(node: Expression) -> Expression:
    """The node to which CASEI and ACCENTI are applied."""
    while isinstance(node, Call) and node.name in STRING_FUNCTIONS:
        node = node.arguments[0]
    return node


def is_attribute(node: Expression) -> bool:
    """Whether a node is an attribute, or a function whose value is one as any other."""
    return isinstance(classify(node), Path) and not operator_of(node).only_compared


def _fits(fits: Callable[[str, str], bool | None], text: Any, pattern: Any) -> bool | None:
    """Whether a text fits a pattern; UNKNOWN if one of them is not a string."""
    return fits(pattern, text) if isinstance(text, str) and isinstance(pattern, str) else None


def _literal(node: Expression, leaves: Leaves, leaf: Callable[[Path, str], int]) -> int:
    """The literal of a node of a text and a pattern; without attributes it is what the reference evaluator says."""
    operand, pattern = (classify(one) for one in node.children())
    if not isinstance(pattern, Const) or not isinstance(pattern.value, str):
        return leaves.known(None)
    if isinstance(operand, Const) and isinstance(operand.value, str):
        return leaves.known(evaluate(node, {}))
    return leaf(operand, pattern.value) if isinstance(operand, Path) else leaves.known(None)


# ---- LIKE


def like(operand: Expression, pattern: Expression, *, span: Span | None = None) -> Expression:
    """Make the node of LIKE. Raises `Misplaced` if `pattern` is not a pattern."""
    require_plain(operand)
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
        return _fits(like_matches, *parts)

    def needed(self, node: Like, wanted: bool, values: Values) -> str:
        relation = "like" if wanted else "not like"
        return f"{subject(node.operand, 'string', values)} {relation} {to_text(node.pattern)}"

    def advice(self, node: Like, text: str) -> str:
        pattern = cast(Constant, inside_folding(node.pattern)).value
        return "* is not a wildcard in LIKE; write %" if isinstance(pattern, str) and "*" in pattern else ""

    def literal(self, node: Like, leaves: Leaves) -> int:
        return _literal(node, leaves, leaves.like)

    def rule_of_values(self, node: Like) -> tuple[Callable[..., str | None], Sequence[Expression]]:
        *_, pattern = walk(node.pattern)  # nothing but CASEI and ACCENTI may enclose it
        return like_problem, [pattern]


# ---- MATCHES


class Matching(Function):
    names, of_what = ("MATCHES",), "an attribute and a regular expression in single quotes"
    advised_by = "MATCHES"

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        text, pattern = arguments
        if not is_attribute(inside_folding(text)):
            raise Misplaced(f"{name} looks at an attribute, or CASEI or ACCENTI of one, not at {describe(text)}", text)
        if not (isinstance(pattern, Constant) and isinstance(pattern.value, str)):
            raise Misplaced(f"{name} needs a regular expression in single quotes, not {describe(pattern)}", pattern)
        if problem := regex_problem(pattern.value):
            raise Misplaced(f"{pattern.value[:60]!r} is not a regular expression (RE2 syntax): {problem}", pattern)

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> bool | None:
        return _fits(regex_matches, *parts)

    def needed(self, node: Call, wanted: bool, values: Values) -> str:
        text, pattern = node.arguments
        return f"{subject(text, 'string', values)} {'matching' if wanted else 'not matching'} {to_text(pattern)}"

    def advice(self, node: Call, text: str) -> str:
        """MATCHES on folded text with capital letters in the pattern."""
        if not _ignores_case(node.arguments[0]):
            return ""
        letters = never_met(cast(str, cast(Constant, node.arguments[1]).value), fold_case)
        what = f"folded text never has {constant_text(letters)}: write the pattern in folded letters, or with (?i)"
        return what if letters else ""

    def literal(self, node: Call, leaves: Leaves) -> int:
        return _literal(node, leaves, leaves.matches)

    def rule_of_values(self, node: Call) -> tuple[Callable[..., str | None], Sequence[Expression]]:
        return regex_problem, [node.arguments[1]]


def _ignores_case(node: Expression) -> bool:
    return isinstance(node, Call) and (node.name == "CASEI" or _ignores_case(node.arguments[0]))


def never_met(pattern: str, fold: Callable[[str], str]) -> str:
    """The letters that a regular expression looks for and folded text never has; none with `(?i)`.

    Letters behind a backslash, and in the names of groups and classes, do not count.
    """
    if _IGNORING_CASE.search(pattern):
        return ""
    return "".join(dict.fromkeys(one for one in _NO_LETTERS.sub("", pattern) if fold(one) != one))


_IGNORING_CASE: Final = re.compile(r"\(\?[a-zA-Z]*i")
_NO_LETTERS: Final = re.compile(
    r"\\Q.*?(?:\\E|$)|\\[pPx]\{[^}]*\}|\\.[0-9A-Fa-f]?|\(\?P?<[^>]*>|\[:\^?\w+:\]", re.DOTALL
)
"""Parts of a regular expression that are not letters of the text: escapes, names of groups and of classes."""
