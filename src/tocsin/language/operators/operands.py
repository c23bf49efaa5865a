"""The kinds of operand that predicates compare.

Const   a constant (CASEI and ACCENTI of one are applied)
Path    an attribute, perhaps through CASEI and ACCENTI
Null    a constant that is null for every event (CASEI(5))
Number  arithmetic
Truth   a condition, used as a value
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tocsin.language.strings import fold_case, strip_accents
from tocsin.model.expression import Arithmetic, Attribute, Call, Constant, Expression
from tocsin.model.values import Geometry, Instant

FOLD_CASE = "c"
STRIP_ACCENTS = "a"

LETTERS: Final = {"CASEI": FOLD_CASE, "ACCENTI": STRIP_ACCENTS}
"""How a transform names the functions of strings."""

STRING_FUNCTIONS: Final = tuple(LETTERS)


@dataclass(frozen=True, slots=True)
class Const:
    value: float | str | bool | Instant | Geometry


@dataclass(frozen=True, slots=True)
class Path:
    attribute: str
    transform: str = ""  # the functions applied, innermost first: "ca" is ACCENTI(CASEI(x))


@dataclass(frozen=True, slots=True)
class Null:
    pass


@dataclass(frozen=True, slots=True)
class Number:
    node: Arithmetic


@dataclass(frozen=True, slots=True)
class Truth:
    node: Expression


Operand: TypeAlias = Const | Path | Null | Number | Truth


OPERANDS: Final[dict[str | type, Callable[[Any], Operand]]] = {}
"""What functions are as operands, by the name of a call, or by the class of other nodes."""


def classify(node: Expression) -> Operand:
    """Classify a node as an operand; no recursion on nested CASEI and ACCENTI."""
    functions: list[str] = []
    while isinstance(node, Call) and node.name in STRING_FUNCTIONS:
        functions.append(LETTERS[node.name])
        node = node.arguments[0]
    transform = _shortened("".join(reversed(functions)))
    if isinstance(node, Attribute):
        return Path(node.name, transform)
    if isinstance(node, Constant):
        if not transform:
            return Const(node.value)
        return Const(transformed(node.value, transform)) if isinstance(node.value, str) else Null()
    made = OPERANDS.get(node.name if isinstance(node, Call) else type(node))
    if made is not None:
        operand = made(node)
        if not transform:
            return operand
        if isinstance(operand, Path) and not operand.transform:
            return Path(operand.attribute, transform)
    if transform:
        return Null()  # arithmetic and conditions are not strings
    return Number(node) if isinstance(node, Arithmetic) else Truth(node)


def _shortened(transform: str) -> str:
    """Drop repeated functions: applying one twice in a row equals applying it once."""
    kept = transform[:1]
    for letter in transform[1:]:
        if letter != kept[-1]:
            kept += letter
    return kept


def transformed(text: str, transform: str) -> str:
    """Apply the functions of a transform to a string."""
    for letter in transform:
        text = fold_case(text) if letter == FOLD_CASE else strip_accents(text)
    return text
