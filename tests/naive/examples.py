"""Worked examples: expressions, an event, and the truth of each expression on it."""

from __future__ import annotations

from typing import Final, TypeAlias

from tocsin.model.expression import (
    And,
    Arithmetic,
    Array,
    Attribute,
    Between,
    Call,
    Comparison,
    Constant,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    Or,
)
from tocsin.model.values import UNTYPED, Box, Instant, Point, Value

MAY, JUNE = Instant.parse("2024-05-31"), Instant.parse("2024-06-01")
EVENT: Final[dict[str, Value]] = {
    "one": 1.0,
    "two": 2.0,
    "six": -6.0,
    "big": 1e308,
    "a": "a",
    "upper": "A",
    "accent": "É",
    "slash": "a\\b",
    "percent": "b%",
    "lines": "a\nb",
    "yes": True,
    "no": False,
    "may": MAY,
    "words": ("a", "b", "a"),
    "numbers": (1.0, 2.0),
    "truths": (True,),
    "mixed": (1.0, 1.0, "a"),
    "none": (),
    "quad": (0.0, 0.0, 2.0, 1.0),
    "inverted": (200.0, 0.0, 0.0, 1.0),
    "place": Point(1.0, 1.0),
    "box": Box(0.0, 0.0, 1.0, 1.0),
    "odd": UNTYPED,
}
UNKNOWN: Final = None
Example: TypeAlias = tuple[Expression, bool | None]


def of(operand: object) -> Expression:
    """A node as it is, `@name` as an attribute, a list as an array, anything else as a constant."""
    if isinstance(operand, str) and operand.startswith("@"):
        return Attribute(operand[1:])
    if isinstance(operand, list):
        return Array(tuple(Constant(item) for item in operand))
    return operand if hasattr(operand, "children") else Constant(operand)  # type: ignore[return-value, arg-type]


def compare(left: object, op: str, right: object) -> Expression:
    return Comparison(op, of(left), of(right))  # type: ignore[arg-type]


def compute(left: object, op: str, right: object) -> Expression:
    return Arithmetic(op, of(left), of(right))  # type: ignore[arg-type]


def call(name: str, *arguments: object) -> Expression:
    return Call(name, tuple(map(of, arguments)))


def within(operand: object, *items: object) -> Expression:
    return In(of(operand), tuple(map(of, items)))


def between(operand: object, low: object, high: object) -> Expression:
    return Between(of(operand), of(low), of(high))


def like(operand: object, pattern: object) -> Expression:
    return Like(of(operand), of(pattern))


def null(operand: object) -> Expression:
    return IsNull(of(operand))


YES, NO, UNSURE = compare("@one", "=", 1.0), compare("@one", "=", 2.0), compare("@gone", "=", 1.0)

COMPARISONS: Final[list[Example]] = [
    (compare("@one", "=", 1.0), True),
    (compare(1.0, ">", "@one"), False),
    (compare("@one", "<", "@two"), True),
    (compare("@one", "<>", 1.0), False),
    (compare("@one", "<=", 1.0), True),
    (compare("@one", ">=", 1.5), False),
    (compare("@yes", "=", 1.0), UNKNOWN),
    (compare("@one", "<>", "1"), UNKNOWN),
    (compare("@no", "<", True), True),
    (compare("@upper", "<", "a"), True),
    (compare("｡", "<", "😀"), True),
    (compare("@may", "<", JUNE), True),
    (compare("@may", "=", "2024-05-31"), UNKNOWN),
    (compare("@gone", "=", "@gone"), UNKNOWN),
    (compare("@words", "=", "@words"), UNKNOWN),
    (compare("@place", "=", "@place"), UNKNOWN),
    (compare("@odd", "<>", 1.0), UNKNOWN),
    (compare(YES, "=", True), True),
    (compare(NO, "<", YES), True),
    (compare(UNSURE, "=", UNSURE), UNKNOWN),
    (within("@one", 2.0, 1.0), True),
    (within("@one", "a", 1.0), True),
    (within("@one", 2.0, "a"), UNKNOWN),
    (within("@one", 2.0, 3.0), False),
    (within("@one", "@two", "@gone"), UNKNOWN),
    (between("@one", 1.0, 1.0), True),
    (between("@one", 2.0, "a"), False),
    (between("@one", 0.0, "a"), UNKNOWN),
    (between("@may", MAY, JUNE), True),
]

LOGIC: Final[list[Example]] = [
    (of("@yes"), True),
    (of("@no"), False),
    (of("@one"), UNKNOWN),
    (of("@gone"), UNKNOWN),
    (Constant(True), True),
    (Not(NO), True),
    (Not(UNSURE), UNKNOWN),
    (Not(of("@one")), UNKNOWN),
    (And((YES, of("@yes"))), True),
    (And((YES, UNSURE)), UNKNOWN),
    (And((UNSURE, of("@one"), NO)), False),
    (Or((UNSURE, NO, YES)), True),
    (Or((NO, UNSURE)), UNKNOWN),
    (Or((NO, of("@no"), NO)), False),
    (null("@gone"), True),
    (null("@one"), False),
    (null("@odd"), False),
    (null("@words"), False),
    (null(compute("@a", "+", 1.0)), True),
    (null(compute("@one", "+", 1.0)), False),
    (null(UNSURE), True),
    (null(NO), False),
    (null(null("@gone")), False),
]

ARITHMETIC: Final[list[Example]] = [
    (compare(compute("@one", "+", "@two"), "=", 3.0), True),
    (compare(compute("@one", "-", "@two"), "=", -1.0), True),
    (compare(compute("@two", "*", "@six"), "=", -12.0), True),
    (compare(compute("@one", "/", "@two"), "=", 0.5), True),
    (compare(compute("@six", "DIV", 4.0), "=", -1.0), True),
    (compare(compute("@six", "%", 4.0), "=", -2.0), True),
    (compare(compute(5.5, "%", -2.0), "=", 1.5), True),
    (compare(compute("@two", "^", 3.0), "=", 8.0), True),
    (null(compute("@one", "/", 0.0)), True),
    (null(compute("@one", "DIV", 0.0)), True),
    (null(compute("@one", "%", 0.0)), True),
    (null(compute(0.0, "^", -1.0)), True),
    (null(compute(-1.0, "^", 0.5)), True),
    (null(compute("@big", "^", 2.0)), True),
    (null(compute("@big", "*", 10.0)), True),
    (null(compute("@big", "DIV", 0.1)), True),
    (null(compute(compute("@big", "*", -10.0), "*", 0.0)), True),
    (null(compute("@yes", "+", 1.0)), True),
    (null(compute("@odd", "+", 1.0)), True),
    (compare(compute("@one", "/", 0.0), "=", 1.0), UNKNOWN),
]

PATTERNS: Final[list[Example]] = [
    (like("@a", "a"), True),
    (like("@a", "A"), False),
    (like("@a", ""), False),
    (like("@a", "a%"), True),
    (like("@a", "%a%"), True),
    (like("@a", "a_"), False),
    (like("😀", "_"), True),
    (like("abcb", "a%b"), True),
    (like("abc", "a%b"), False),
    (like("@lines", "a_b"), True),
    (like("@lines", "a%"), True),
    (like("@percent", "b\\%"), True),
    (like("@a", "\\%"), False),
    (like("@a", "\\_"), False),
    (like("@a", "\\a"), True),
    (like("@slash", "a\\\\b"), True),
    (like("a+", "a+"), True),
    (like("aa", "a+"), False),
    (like("a", "a\\"), False),
    (like("@one", "1%"), UNKNOWN),
    (like("@gone", "%"), UNKNOWN),
    (like("@words", "%"), UNKNOWN),
    (like(YES, "%"), UNKNOWN),
]

BEYOND_SQL: Final[list[Example]] = [
    (compare(call("CASEI", "@upper"), "=", "a"), True),
    (compare(call("CASEI", "straße"), "=", call("CASEI", "STRASSE")), True),
    (compare(call("ACCENTI", "@accent"), "=", "E"), True),
    (compare(call("ACCENTI", "e\u0301"), "=", "e"), True),
    (compare(call("ACCENTI", "각"), "=", "각"), True),
    (compare(call("CASEI", call("ACCENTI", "@accent")), "=", "e"), True),
    (null(call("CASEI", "@one")), True),
    (null(call("ACCENTI", "@one")), True),
    (like(call("CASEI", "@upper"), call("CASEI", "A%")), True),
    (like(call("CASEI", "@upper"), "A%"), False),
    (like(call("ACCENTI", "@accent"), call("ACCENTI", "È")), True),
    (like("a\x00b", "a_b"), True),
    *((compare(call("NUMBER", text), "=", 5.0), True) for text in ("5", "+5", "5.", "05", ".5e1", "50E-1")),
    *((null(call("NUMBER", text)), True) for text in ("", " 5", "5 ", "0x5", "5e", ".", "1_0", "inf", "1e999", "٥")),
    (compare(call("NUMBER", YES), "=", 1.0), True),
    (null(call("NUMBER", "@words")), True),
    (null(call("NUMBER", "@gone")), True),
    (call("MATCHES", "xay", "a"), True),
    (call("MATCHES", "xay", "^a"), False),
    (call("MATCHES", "😀", "^.$"), True),
    (call("MATCHES", "@one", "1"), UNKNOWN),
    (call("TEXT", "Sea-food, in PARÍS", "paris sea"), True),
    (call("TEXT", "Seafood", "sea"), False),
    (call("TEXT", "the new York", '"new york"'), True),
    (call("TEXT", "new or York", '"new york"'), False),
    (call("TEXT", "", "a"), False),
    (call("TEXT", "@words", "A b"), True),
    (call("TEXT", "@words", '"a b"'), False),
    (call("TEXT", "@one", "1"), UNKNOWN),
    (call("TEXT", "@gone", "a"), UNKNOWN),
    (call("A_CONTAINS", "@words", ["b"]), True),
    (call("A_CONTAINS", "@words", ["b", "c"]), False),
    (call("A_CONTAINS", "@words", []), True),
    (call("A_CONTAINS", "@words", ["b", "a"]), True),
    (call("A_CONTAINS", ["a", "b", "c"], "@words"), True),
    (call("A_CONTAINEDBY", "@words", ["a", "b", "c"]), True),
    (call("A_CONTAINEDBY", "@words", ["a"]), False),
    (call("A_CONTAINEDBY", "@none", ["a"]), True),
    (call("A_CONTAINEDBY", "@words", ["b", "a"]), True),
    (call("A_EQUALS", "@words", ["b", "a"]), True),
    (call("A_EQUALS", "@words", ["a"]), False),
    (call("A_OVERLAPS", "@words", ["b", "c"]), True),
    (call("A_OVERLAPS", "@words", []), False),
    (call("A_OVERLAPS", "@truths", [1.0]), False),
    (call("A_OVERLAPS", "@truths", [True]), True),
    (call("A_OVERLAPS", "@one", [1.0]), UNKNOWN),
    (call("A_OVERLAPS", "@odd", []), UNKNOWN),
    (call("A_CONTAINS", "@words", "@gone"), UNKNOWN),
    (call("S_INTERSECTS", "@place", Box(1.0, 1.0, 2.0, 2.0)), True),
    (call("S_INTERSECTS", "@place", Box(1.1, 0.0, 2.0, 2.0)), False),
    (call("S_INTERSECTS", Box(0.0, 1.1, 2.0, 2.0), "@place"), False),
    (call("S_INTERSECTS", "@place", Box(0.0, 0.0, 0.9, 2.0)), False),
    (call("S_INTERSECTS", "@place", Box(0.0, 0.0, 2.0, 0.9)), False),
    (call("S_INTERSECTS", "@place", Box(0.0, 0.0, 1.0, 1.0)), True),
    (call("S_INTERSECTS", "@box", Point(1.0, 0.0)), True),
    (call("S_INTERSECTS", "@numbers", Point(1.0, 2.0)), True),
    (call("S_INTERSECTS", "@quad", Point(2.0, 1.0)), True),
    (call("S_INTERSECTS", "@quad", Point(2.0, 1.1)), False),
    (call("S_INTERSECTS", "@inverted", Point(1.0, 0.5)), UNKNOWN),
    (call("S_INTERSECTS", "@words", "@place"), UNKNOWN),
    (call("S_INTERSECTS", "@mixed", "@place"), UNKNOWN),
    (call("S_INTERSECTS", "@truths", "@place"), UNKNOWN),
    (call("S_INTERSECTS", "@none", "@place"), UNKNOWN),
    (call("S_INTERSECTS", "@gone", "@place"), UNKNOWN),
]

IN_SQL: Final = COMPARISONS + LOGIC + ARITHMETIC + PATTERNS
"""What both oracles answer; of BEYOND_SQL, `truth` alone judges."""
