"""A dialect: how the rules of another system are read into the tree of a condition.

A dialect keeps the other system's meaning. What tocsin cannot say it refuses by name, with the place in the rule.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from types import ModuleType
from typing import Any, ClassVar, Final, NoReturn, TypeAlias

from tocsin.errors import ExpressionError, UnsupportedError, needing
from tocsin.language import geometry_rules, rules
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.operator import FUNCTIONS
from tocsin.model.elements import ELEMENT
from tocsin.model.expression import (
    MAX_DEPTH,
    And,
    Arithmetic,
    Attribute,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    Or,
    SomeValue,
    conjunction,
    disjunction,
)
from tocsin.model.subscription import shown

Json: TypeAlias = Any
_LONGEST_SHOWN: Final = 100
_INNER_LISTS: Final = 1  # levels of lists within a list that have values, in systems that index all values of a field


class Dialect:
    """The rules of one system."""

    name: ClassVar[str]
    """As users write it: `language="eventbridge"`."""
    title: ClassVar[str]
    """What it is called in sentences."""
    taken: ClassVar[Mapping[str, str]] = {}
    """What is read, by its name in the rules, and what it means in tocsin's language."""
    refused: ClassVar[Mapping[str, str]] = {}
    """What is refused, by its name in the rules, and why."""

    def decode(self, rule: Json) -> Json:
        """A rule that came as text, decoded. Raises `ExpressionError`."""
        from tocsin.language.json_form import decode

        return decode(rule) if isinstance(rule, str) else rule

    def documents(self, text: str) -> Iterable[Json]:
        """The documents of a file, each with a rule or several. Raises `ExpressionError`."""
        return [self.decode(text)]

    def linked(self, documents: Sequence[Json]) -> Sequence[Json | None]:
        """Documents with the others that they name in them; None for those that are only part of others."""
        return documents

    def read(self, rule: Json, reader: Reader) -> Expression:
        """The condition of a decoded rule."""
        raise NotImplementedError


@dataclass
class Reader:
    """Where in a rule the reading has come to, and which part of the rule each condition was made from."""

    dialect: Dialect
    steps: list[str] = field(default_factory=list)
    written: dict[int, tuple[Expression, str]] = field(default_factory=dict)
    """The part of the rule that says a condition, by the condition's `id`, which stays its own while it is kept."""

    score: float | None = None
    """The score that the rule gives to the subscription."""

    @property
    def place(self) -> str:
        return "".join(self.steps).removeprefix(".")

    @contextmanager
    def at(self, step: str | int) -> Iterator[None]:
        """Go into a member of an object, or an element of a list."""
        self.steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
        if len(self.steps) > MAX_DEPTH:
            raise ExpressionError(rules.too_deep(len(self.steps)))
        try:
            yield
        finally:
            self.steps.pop()

    def note(self, node: Expression, written: str) -> Expression:
        """Note how a condition is written in the rule, for `explain`."""
        self.written[id(node)] = node, written
        return node

    def note_member(self, node: Expression, value: Json) -> Expression:
        """Note that the value at this place of the rule says a condition."""
        return self.note(node, f"{self.place}: {as_json(value)}")

    def fail(self, reason: str) -> NoReturn:
        """Reject the rule for what is wrong at this place."""
        raise ExpressionError(self._at_place(reason))

    def refuse(self, name: str, reason: str = "") -> NoReturn:
        """Refuse what tocsin cannot say, by its name in the rules."""
        reason = reason or self.dialect.refused[name]
        raise UnsupportedError(self._at_place(f"{name} of {self.dialect.title} is not supported: {reason}"))

    def unknown(self, what: str, name: str, known: Iterable[str]) -> NoReturn:
        """Reject a name that is none of the known ones, or refuse one that the dialect has and tocsin cannot say."""
        if name in self.dialect.refused:
            self.refuse(name)
        self.fail(f"{self.dialect.title} has no {what} {shown(name)}; tocsin reads {', '.join(sorted(known))}")

    def _at_place(self, reason: str) -> str:
        return f"at {self.place}: {reason}" if self.steps else reason

    # ---- values of the rule

    def string(self, value: Json, what: str) -> str:
        if not isinstance(value, str):
            self.fail(f"{what} needs a string, not {shown(value)}")
        return self._sound(value)

    def number(self, value: Json, what: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(f"{what} needs a number, not {shown(value)}")
        return self.constant(value).value  # type: ignore[return-value]

    def items(self, value: Json, what: str) -> Sequence[Json]:
        if not isinstance(value, list | tuple) or not value:
            self.fail(f"{what} needs a list that is not empty, not {shown(value)}")
        return value

    def members(self, value: Json, what: str) -> Mapping[str, Json]:
        if not isinstance(value, Mapping) or not value:
            self.fail(f"{what} needs an object that is not empty, not {shown(value)}")
        return value

    def constant(self, value: Json) -> Constant:
        """A string, a number or a boolean of the rule."""
        if isinstance(value, bool):
            return Constant(value)
        if isinstance(value, str):
            return Constant(self._sound(value))
        if not isinstance(value, int | float):
            self.fail(f"a string, a number or a boolean is needed, not {shown(value)}")
        try:
            return rules.number(float(value), repr(value), is_integer=isinstance(value, int))
        except Misplaced as error:
            self.fail(error.reason)
        except (OverflowError, ValueError):
            self.fail("the integer cannot be represented exactly; write it as a string")

    def _sound(self, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail("a string with half of a surrogate pair is not valid Unicode")
        return text

    def some(self, path: Sequence[str], condition: Expression) -> Expression:
        """Whether a value under a path, through lists at any level, satisfies a condition on `element`."""
        for name in reversed(path):
            condition = self.made(lambda name=name, inner=condition: call("SOME", Attribute(name), inner))  # type: ignore[misc]
        return condition

    def has_value(self, path: Sequence[str], value: Expression | None = None) -> Expression:
        """Whether a value under a path is not null. In a list, a value of an object counts, at any depth.

        `value` says this of `element`.
        """
        name, is_there = Attribute(path[-1]), Not(IsNull(VALUE))
        within = self.made(lambda: call("HOLDS", call("ANY", name, call("ANY_ATTRIBUTE", is_there))))
        return self.some(path[:-1], any_of([self.some(path[-1:], value or is_there), within]))

    def made(self, make: Callable[[], Expression]) -> Expression:
        """A node of the language, whose rules may reject what the rule gives it."""
        try:
            return make()
        except Misplaced as error:
            self.fail(error.reason)


# ---- conditions on `element`

VALUE: Final = Attribute(ELEMENT)
PRESENT: Final = Call("NOW", ())
IS_STRING: Final = Comparison(">=", VALUE, Constant(""))
IS_NUMBER: Final = disjunction((Comparison("<", VALUE, Constant(0.0)), Comparison(">=", VALUE, Constant(0.0))))
IS_BOOLEAN: Final = In(VALUE, (Constant(False), Constant(True)))


def is_given_null(value: Attribute = VALUE) -> Expression:
    """Whether there is a null, which is not the same as no value."""
    return conjunction((call("GIVEN", value), IsNull(value)))


# ---- parts of conditions


def call(name: str, *arguments: Expression) -> Expression:
    """A call of a function of the language."""
    return FUNCTIONS[name].call(name, arguments)


def in_inner_lists(condition: Expression) -> Expression:
    """A condition on `element` that is also about the elements of lists within a list."""
    for _ in range(_INNER_LISTS):
        condition = call("SOME", VALUE, condition)
    return condition


def compared(operand: Expression, op: ComparisonOperator, value: Expression) -> Expression:
    return Comparison(op, operand, value)


def later(moment: Expression, seconds: float) -> Expression:
    """An instant, some seconds later."""
    return Arithmetic("+" if seconds > 0 else "-", moment, Constant(abs(float(seconds)))) if seconds else moment


def one_of(operand: Expression, values: Sequence[Constant]) -> Expression:
    """Whether a value is one of some constants."""
    return Comparison("=", operand, values[0]) if len(values) == 1 else In(operand, tuple(values))


def all_of(parts: Sequence[Expression]) -> Expression:
    return conjunction(parts) if parts else Constant(True)


def any_of(parts: Sequence[Expression]) -> Expression:
    return disjunction(parts) if parts else Constant(False)


def alternatives(parts: Iterable[Expression]) -> Expression:
    """The OR of conditions on one value, with one set of all constants that the same operand may be equal to.

    >>> from tocsin.language import to_text
    >>> to_text(alternatives([equal([Constant("a")]), like(VALUE, Wild.RUN, "b"), equal([Constant("c")])]))
    "element IN ('a', 'c') OR element LIKE '%b'"
    """
    whole: list[Expression] = []
    sets: dict[tuple[Expression, type | None], list[Expression]] = {}
    for part in (operand for one in parts for operand in (one.operands if isinstance(one, Or) else (one,))):
        operand, items = _set_of(part)
        if items:
            sets.setdefault((operand, _type_of(items[0])), []).extend(items)
        else:
            whole.append(part)
    equated: list[Expression] = [
        Comparison("=", operand, items[0]) if len(items) == 1 else In(operand, tuple(items))
        for (operand, _), items in sets.items()
    ]
    return any_of(equated + whole)


def _set_of(node: Expression) -> tuple[Expression, Sequence[Expression]]:
    """An operand and the constants of which it must be equal to one; none for other conditions."""
    operand, items = node, tuple[Expression, ...]()
    if isinstance(node, In):
        operand, items = node.operand, node.items
    elif isinstance(node, Comparison) and node.op == "=":
        operand, items = node.left, (node.right,)
    is_plain = isinstance(operand, Attribute) or (isinstance(operand, Call) and operand.arguments == (VALUE,))
    return operand, items if is_plain and all(map(_type_of, items)) else ()


def _type_of(item: Expression) -> type | None:
    """The type of a constant, also of one without case; None for anything else."""
    constant = item.arguments[0] if isinstance(item, Call) and item.arguments else item
    return type(constant.value) if isinstance(constant, Constant) else None


TRUTHS: Final = (Constant(False), Constant(True))


def is_list(value: Attribute) -> Expression:
    """Whether a value is a list. That of its elements one is TRUE is UNKNOWN of all other values."""
    return Not(IsNull(call("ANY", value, Constant(True))))


def is_string(value: Attribute) -> Expression:
    return compared(value, ">=", Constant(""))


def is_number(value: Attribute) -> Expression:
    return any_of([compared(value, "<", Constant(0.0)), compared(value, ">=", Constant(0.0))])


def not_true(node: Expression) -> Expression:
    """TRUE where a condition is FALSE or UNKNOWN: the NOT of systems with two truths."""
    return Not(node if is_two_valued(node) else call("HOLDS", node))


def is_two_valued(node: Expression) -> bool:
    """Whether a condition is never UNKNOWN, by what it is made of."""
    if isinstance(node, IsNull | Constant):
        return True
    if isinstance(node, And | Or | Not):
        return all(is_two_valued(child) for child in node.children())
    return isinstance(node, SomeValue) or (isinstance(node, Call) and node.name in ("HOLDS", "GIVEN"))


def equal(values: Sequence[Constant]) -> Expression:
    """Whether `element` is one of some values, which may be of several types."""
    groups: dict[type, list[Constant]] = {}
    for one in values:
        groups.setdefault(type(one.value), []).append(one)
    return any_of([one_of(VALUE, alike) for alike in groups.values()])


def in_polygon(place: Attribute, ring: Sequence[tuple[float, float]], reader: Reader) -> Expression:
    """Whether a place lies in a polygon on the plane, or on its edge. The ring is closed if it is not."""
    closed = ring if ring[0] == ring[-1] else [*ring, ring[0]]
    document = {"type": "Polygon", "coordinates": [[list(point) for point in closed]]}
    area = reader.made(lambda: geometry_rules.geojson_shape(document))
    return call("HOLDS", call("S_INTERSECTS", place, area))


class Wild(Enum):
    """A wildcard of a pattern, as LIKE writes it."""

    RUN = "%"
    ONE = "_"


def like(operand: Expression, *parts: str | Wild) -> Expression:
    """A LIKE condition; strings in `parts` stand for themselves."""
    return Like(operand, Constant("".join([one.value if isinstance(one, Wild) else escaped(one) for one in parts])))


def like_ignoring_case(operand: Expression, *parts: str | Wild) -> Expression:
    plain = like(operand, *parts)
    assert isinstance(plain, Like)
    return Like(call("CASEI", operand), call("CASEI", plain.pattern))


def equal_ignoring_case(operand: Expression, texts: Sequence[str]) -> Expression:
    """Whether a value is one of some texts, by Unicode's case folding."""
    folded = [call("CASEI", Constant(text)) for text in texts]
    operand = call("CASEI", operand)
    return Comparison("=", operand, folded[0]) if len(folded) == 1 else In(operand, tuple(folded))


def wild_parts(text: str, wildcards: Mapping[str, Wild]) -> list[str | Wild] | None:
    """The parts of a pattern in which a backslash makes a wildcard, or a backslash, a plain letter.

    Any other backslash stands for itself. None if the pattern ends with one.
    """
    parts: list[str | Wild] = []
    letters = iter(text)
    for letter in letters:
        if letter == "\\":
            after = next(letters, None)
            if after is None:
                return None
            parts.append(after if after == "\\" or after in wildcards else letter + after)
        else:
            parts.append(wildcards.get(letter, letter))
    return parts


def escaped(text: str) -> str:
    r"""A text as a LIKE pattern that fits only this text.

    >>> escaped("50%_\\")
    '50\\%\\_\\\\'
    """
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def library(module: str, extra: str) -> ModuleType:
    """A module of an optional dependency. Raises `MissingExtra` if it is not installed."""
    with needing(extra):
        return importlib.import_module(module)


def as_json(value: Json) -> str:
    """A part of a rule, as `explain` shows it."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."
