"""Values in clauses of SQL: columns, constants, arithmetic and instants; and what is refused, by its name."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from tocsin.errors import ExpressionError
from tocsin.language.dialects.dialect import PRESENT, Reader, call, later
from tocsin.model.expression import Arithmetic, ArithmeticOperator, Attribute, ComparisonOperator, Constant, Expression
from tocsin.model.instants import read_instant
from tocsin.model.subscription import shown
from tocsin.model.values import Instant

Node = Any
"""A node of sqlglot's tree, which is imported when a rule is read."""

COMPARED: Final[dict[str, ComparisonOperator]] = {
    "EQ": "=",
    "NEQ": "<>",
    "LT": "<",
    "LTE": "<=",
    "GT": ">",
    "GTE": ">=",
}
_SIGNS: Final[dict[str, ArithmeticOperator]] = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%"}
_SECONDS: Final = {"WEEK": 604800, "DAY": 86400, "HOUR": 3600, "MINUTE": 60, "SECOND": 1}
_PRESENT: Final = ("now", "current_timestamp", "get_current_timestamp")
_MOMENTS: Final = ("DATE", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ")
_COMPUTED: Final = (*_SIGNS, "Neg")
TEXT_FUNCTIONS: Final = ("StartsWith", "EndsWith", "Contains")
CONDITIONS: Final = frozenset(
    (
        *(*COMPARED, *TEXT_FUNCTIONS, "And", "Or", "Not", "Between", "In", "Is", "NullSafeEQ", "NullSafeNEQ"),
        *("Like", "ILike", "Escape", "RegexpLike", "ArrayContains"),
    )
)
_FARTHEST: Final = 1_000_000
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Values:
    """Reads values. A part of a clause that is refused is named as sqlglot writes it."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    @contextmanager
    def _at(self, node: Node) -> Iterator[None]:
        before, self._reader.steps = self._reader.steps, [_shortened(node.sql("duckdb"))]
        try:
            yield
        finally:
            self._reader.steps = before

    # ---- values

    def _value(self, node: Node) -> Expression | None:
        """A value; None for NULL."""
        name = type(node).__name__
        if name == "Paren":
            return self._value(node.this)
        if name == "Null":
            return None
        if type(_bracket_in(node)).__name__ == "Bracket":
            return self._element(node)
        if name in ("Column", "Dot"):
            return self._attribute(node)
        if name == "Boolean":
            return Constant(bool(node.this))
        if (present := self._present(node)) is not None:
            return present
        moment = self._moment(node)
        if moment is not None:
            return Constant(Instant.of(moment))
        if name == "Literal" and node.is_string:
            return Constant(self._string(node))
        return self._number(node, is_alone=True)

    def _attribute(self, node: Node) -> Attribute:
        name = type(node).__name__
        if name == "Paren":
            return self._attribute(node.this)
        if name not in ("Column", "Dot"):
            self._refuse(node)
        if type(_bracket_in(node)).__name__ == "Bracket":
            self._refuse(_bracket_in(node))
        identifiers = [one.name for one in node.parts]
        if not all(identifiers) or any(type(one).__name__ == "Star" for one in node.parts):
            self._reader.fail("a column is needed")
        return Attribute(".".join(identifiers))

    def _element(self, node: Node) -> Expression:
        """An element of a list, or a member of one: `l[1]`, `l[-1].a`. Positions count from 1, as in DuckDB."""
        bracket, members = _bracket_in(node), list[str]()
        while node is not bracket:
            members.insert(0, node.expression.name)
            node = node.this
        position = self._position(bracket)
        of = [Attribute(".".join(members))] if members else []
        items = self._attribute(bracket.this)
        return self._reader.made(lambda: call("AT", items, Constant(float(position)), *of))

    def _position(self, bracket: Node) -> int:
        """The position of an element, from 0; sqlglot has taken 1 from what the clause says."""
        index: Node = bracket.expressions[0] if len(bracket.expressions) == 1 else None
        is_negative = type(index).__name__ == "Neg"
        digits: Node = index.this if is_negative else index
        if type(digits).__name__ != "Literal" or digits.is_string or not digits.this.isdigit():
            self._refuse(bracket)
        position = -int(digits.this) if is_negative else int(digits.this)
        if position == -1:
            self._reader.fail("positions count from 1, or from -1 at the end; there is no position 0")
        if abs(position) > _FARTHEST:
            self._reader.fail(f"the position is beyond {_FARTHEST}")
        return position if position >= 0 else position + 1

    def _string(self, node: Node) -> str:
        if type(node).__name__ != "Literal" or not node.is_string:
            if type(node).__name__ in ("Column", "Literal"):
                self._reader.fail(f"a text in single quotes is needed, not {node.sql('duckdb')}")
            self._refuse(node)
        text = self._reader.string(node.this, "a condition")
        if "\\" in text and type(node.parent).__name__ not in ("Like", "ILike"):
            self._reader.refuse("a backslash")
        if read_instant(text) is not None and type(node.parent).__name__ in (*COMPARED, "Between", "In"):
            self._reader.refuse("a date in a string")
        return text

    def _number(self, node: Node, is_alone: bool = False) -> Expression:
        """A number or arithmetic. A fraction may stand alone only: inside arithmetic its type depends on the column."""
        name = type(node).__name__
        if name == "Paren":
            return self._number(node.this, is_alone)
        if type(_bracket_in(node)).__name__ == "Bracket":
            return self._element(node)
        if name in ("Column", "Dot"):
            return self._attribute(node)
        if name == "Literal" and not node.is_string:
            if "." in node.this and "e" not in node.this.lower() and not is_alone:
                self._reader.refuse("a fraction in arithmetic")
            return self._constant(node.this)
        if name not in _COMPUTED:
            self._refuse(node)
        if name == "Neg":
            inner = self._number(node.this, is_alone)
            if isinstance(inner, Constant):
                return Constant(-inner.value)  # type: ignore[operator]
            return Arithmetic("*", Constant(-1.0), inner)
        left, right = self._number(node.this), self._number(node.expression)
        if name in ("Div", "Mod"):
            if not isinstance(right, Constant):
                self._reader.refuse("a division by a column")
            if right == Constant(0.0):
                self._reader.fail("a division by 0")
        return Arithmetic(_SIGNS[name], left, right)

    def _constant(self, text: str) -> Constant:
        """A number. sqlglot takes more for a number than there are: `1e` is none."""
        try:
            return self._reader.constant(int(text) if text.isdigit() else float(text))
        except ValueError as error:
            if isinstance(error, ExpressionError):
                raise
            self._reader.fail(f"{shown(text)} is not a number")

    def _present(self, node: Node) -> Expression | None:
        """The present, or it and intervals; None if it is something else."""
        name = type(node).__name__
        if name == "Paren":
            return self._present(node.this)
        if name == "CurrentTimestamp" or (name == "Anonymous" and str(node.this).lower() in _PRESENT):
            return PRESENT
        if name not in ("Add", "Sub") or type(node.expression).__name__ != "Interval":
            return None
        moment = self._present(node.this)
        if moment is None:
            return None
        seconds = self._interval(node.expression).total_seconds()
        return later(moment, seconds if name == "Add" else -seconds)

    def _moment(self, node: Node) -> dt.datetime | None:
        """The instant of a DATE, a TIMESTAMP, or one and intervals; None if it is something else."""
        name = type(node).__name__
        if name == "Paren":
            return self._moment(node.this)
        if name == "Cast" and node.to.this.name in _MOMENTS and type(node.this).__name__ == "Literal":
            return self._instant(node)
        if name not in ("Add", "Sub") or type(node.expression).__name__ != "Interval":
            return None
        moment = self._moment(node.this)
        if moment is None:
            self._reader.refuse("arithmetic on dates")
        try:
            return moment + self._interval(node.expression) * (1 if name == "Add" else -1)
        except OverflowError:
            self._reader.fail("the instant is out of range")

    def _instant(self, node: Node) -> dt.datetime:
        text, kind = node.this.name, node.to.this.name
        instant = read_instant(text)
        has_zone = text[10:].rstrip().lower().endswith("z") or "+" in text[10:] or "-" in text[10:]
        if instant is None or (kind == "DATE") != (len(text) == 10) or has_zone != (kind == "TIMESTAMPTZ"):
            self._reader.fail(
                f"{shown(text)} is not a {kind}; write DATE '2024-05-31' or TIMESTAMP '2024-05-31 08:00:00'"
            )
        return _EPOCH + dt.timedelta(microseconds=instant.microseconds)

    def _interval(self, node: Node) -> dt.timedelta:
        unit = str(node.args.get("unit") or "").upper().removesuffix("S")
        amount = node.this.name if type(node.this).__name__ == "Literal" else ""
        if unit not in _SECONDS or not amount.lstrip("-").isdigit():
            self._reader.refuse("INTERVAL")
        try:
            return dt.timedelta(seconds=int(amount) * _SECONDS[unit])
        except (OverflowError, ValueError):
            self._reader.fail("the interval is out of range")

    # ---- refusals

    def _refuse(self, node: Node) -> NoReturn:
        """Refuse what is not read, by its name."""
        from sqlglot import exp

        name = type(node).__name__
        if name == "Literal":
            self._reader.fail(f"a condition is needed, not {node.sql('duckdb')}")
        if isinstance(node, exp.Any) and node.find(exp.Select) is None:
            self._reader.refuse("ANY of a list")
        kinds = (
            ("a subquery", (exp.Subquery, exp.Select, exp.Exists, exp.SubqueryPredicate)),
            ("an aggregate", (exp.AggFunc, exp.Window)),
            ("a cast", (exp.Cast, exp.TryCast)),
            ("a parameter", (exp.Placeholder, exp.Parameter)),
            ("upper", (exp.Upper,)),
            ("arithmetic on dates", (exp.Interval,)),
        )
        for what, classes in kinds:
            if isinstance(node, classes):
                self._reader.refuse(what)
        if name in self._reader.dialect.refused:
            self._reader.refuse(name)
        if name in CONDITIONS or name == "Boolean":
            self._reader.refuse("a condition as a value")
        self._reader.refuse("this function")


def _bracket_in(node: Node) -> Node:
    """The list with a position, of which a node is a member at some depth; something else if there is none."""
    while type(node).__name__ == "Dot":
        node = node.this
    return node


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
