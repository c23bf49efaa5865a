r"""What does SQL say of an expression? SQLite's answer to the expression written as *SQL after typing*.

An event is one row of columns without affinity, two an attribute: `t0` its type's name and `v0` its value,
both NULL where the attribute is absent. SQLite would compare a number with a string; so each comparison is
guarded by the types, `CASE WHEN t0 = 'number' AND ... THEN v0 < 5 END`, and gives NULL for any other.
Booleans are 0 and 1, instants their microseconds, kept apart by their types; lists, geometries and values of
no type have a type and no value.

`NotInSql` is raised for what SQL lacks, and for what SQLite cannot do: LIKE on text with code points that it
does not read, and trees beyond its limits.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final, NamedTuple

from tests.naive.instants import moment_of
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
    attributes,
    walk,
)
from tocsin.model.values import Box, Instant, Point, Value

_SCALARS: Final = "('number', 'string', 'boolean', 'instant')"
_LIMITS: Final = ("stack overflow", "too large", "too big", "too many", "too complex", "variable number")
_LONGEST: Final = 1_000_000
_UNREADABLE: Final = "\x00\ufffe\uffff"  # SQLite's LIKE stops at the first, and takes the others for U+FFFD


class NotInSql(Exception):
    """SQL, or SQLite, has no such thing; `truth` judges alone."""


class _Sql(NamedTuple):
    """A piece of SQL: an expression for the type's name, another for the value."""

    type: str
    value: str


def sql_truth(expression: Expression, values: Mapping[str, Value]) -> bool | None:
    """TRUE, FALSE or UNKNOWN (None) of an expression on an event's flattened values, as SQLite sees it."""
    statement, parameters = sql_of(expression, values)
    try:
        (result,) = _connection().execute(statement, parameters).fetchone()
    except sqlite3.Error as error:
        if any(limit in str(error) for limit in _LIMITS):
            raise NotInSql(str(error)) from error
        raise
    return None if result is None else bool(result)


def sql_of(expression: Expression, values: Mapping[str, Value]) -> tuple[str, list[object]]:
    """The statement that selects an expression's truth from a table of one event, and its parameters."""
    names = attributes(expression)
    parameters = [part for name in names for part in _cells(values.get(name))]
    writer = _Writer({name: number for number, name in enumerate(names)}, values, parameters)
    pieces: dict[int, _Sql] = {}
    for node in reversed(list(walk(expression))):
        piece = writer.write(node, [pieces[id(child)] for child in node.children()])
        if len(piece.value) > _LONGEST:
            raise NotInSql(f"the SQL grows beyond {_LONGEST} characters")
        pieces[id(node)] = piece
    columns = ", ".join(f"t{n}, v{n}" for n in range(len(names))) or "no_attribute"
    cells = ", ".join(f"?{n + 1}" for n in range(2 * len(names))) or "NULL"
    condition = _condition(pieces[id(expression)])
    return f"WITH event({columns}) AS (VALUES ({cells})) SELECT {condition} FROM event", writer.parameters


def _cells(value: Value | None) -> tuple[str | None, object]:
    """A value as SQLite stores it: the name of its type, and the value of a scalar."""
    if value is None:
        return None, None
    if isinstance(value, bool):
        return "boolean", int(value)
    if isinstance(value, Instant):
        return "instant", value.microseconds
    if isinstance(value, float | str):
        return ("number" if isinstance(value, float) else "string"), value
    return ("geometry" if isinstance(value, Point | Box) else "list or untyped"), None


class _Writer:
    """Writes one node at a time from the SQL of its children; collects the parameters."""

    def __init__(self, columns: dict[str, int], values: Mapping[str, Value], parameters: list[object]) -> None:
        self.columns = columns
        self.values = values
        self.parameters = parameters

    def write(self, node: Expression, operands: list[_Sql]) -> _Sql:
        self._refuse_readings(node)
        match node:
            case Constant(value):
                return self._constant(value)
            case Attribute(name):
                return _Sql(f"t{self.columns[name]}", f"v{self.columns[name]}")
            case Arithmetic(op):
                return _arithmetic(op, *operands)
            case Array() | Call():
                raise NotInSql(f"SQL has no {node.name if isinstance(node, Call) else 'arrays'}")
            case Like(operand, pattern):
                self._refuse_unreadable(operand, pattern)
                return _boolean(_like(*operands))
        return _boolean(_logic(node, operands))

    def _constant(self, value: Value) -> _Sql:
        kind, stored = _cells(value)
        self.parameters.append(stored)
        return _Sql(f"'{kind}'", f"?{len(self.parameters)}")

    def _refuse_readings(self, node: Expression) -> None:
        """A text that is compared with an instant may be read as one here; in SQL it is a text."""
        if isinstance(node, Comparison | In | Between):
            operands = node.children()
            named = [self.values.get(one.name) for one in operands if isinstance(one, Attribute)]
            if any(isinstance(value, str) for value in named) and any(
                isinstance(one, Constant) and isinstance(one.value, Instant) for one in operands
            ):
                raise NotInSql("SQL reads no text as an instant")
        if isinstance(node, Arithmetic) and node.op in ("+", "-"):
            named = [self.values.get(one.name) for one in node.children() if isinstance(one, Attribute)]
            if any(isinstance(moment_of(one) if isinstance(one, str) else one, Instant) for one in named):
                raise NotInSql("SQLite does not compute with instants")

    def _refuse_unreadable(self, *nodes: Expression) -> None:
        for node in nodes:
            text = self.values.get(node.name) if isinstance(node, Attribute) else getattr(node, "value", None)
            if isinstance(text, str) and any(character in _UNREADABLE for character in text):
                raise NotInSql(f"SQLite's LIKE cannot read {text!r}")


def _boolean(value: str) -> _Sql:
    return _Sql("'boolean'", value)


def _condition(piece: _Sql) -> str:
    """A piece in a condition's place: a boolean is itself, anything else NULL."""
    if piece.type == "'boolean'":
        return piece.value
    return f"(CASE WHEN {piece.type} = 'boolean' THEN {piece.value} END)"


def _logic(node: Expression, operands: list[_Sql]) -> str:
    match node:
        case Comparison(op):
            return _compare(op, *operands)
        case In():
            return _joined("OR", (_compare("=", operands[0], item) for item in operands[1:]))
        case Between():
            operand, low, high = operands
            return _joined("AND", (_compare(">=", operand, low), _compare("<=", operand, high)))
        case IsNull():
            kind, value = operands[0]
            return f"(CASE WHEN {kind} IN {_SCALARS} THEN {value} IS NULL ELSE {kind} IS NULL END)"
        case Not():
            return f"(NOT {_condition(operands[0])})"
        case And():
            return _joined("AND", map(_condition, operands))
        case Or():
            return _joined("OR", map(_condition, operands))
    raise TypeError(f"no expression: {node!r}")


def _compare(op: str, left: _Sql, right: _Sql) -> str:
    typed = f"{left.type} = {right.type} AND {left.type} IN {_SCALARS}"
    return f"(CASE WHEN {typed} THEN {left.value} {op} {right.value} END)"


def _arithmetic(op: str, left: _Sql, right: _Sql) -> _Sql:
    """Arithmetic on two numbers, infinity made NULL; SQLite itself makes division by zero NULL."""
    if op in _FUNCTIONS:
        result = f"{_FUNCTIONS[op][0]}({left.value}, {right.value})"
    else:
        result = f"{left.value} {op} {right.value}"
    finite = f"NULLIF(NULLIF({result}, 9e999), -9e999)"
    return _Sql("'number'", f"(CASE WHEN {left.type} = 'number' AND {right.type} = 'number' THEN {finite} END)")


def _like(text: _Sql, pattern: _Sql) -> str:
    typed = f"{text.type} = 'string' AND {pattern.type} = 'string'"
    return f"(CASE WHEN {typed} THEN {text.value} LIKE {pattern.value} ESCAPE '\\' END)"


def _joined(op: str, conditions: Iterable[str]) -> str:
    """The conditions joined in pairs, and the pairs in pairs, so that a thousand of them are ten deep."""
    row = list(conditions)
    while len(row) > 1:
        odd = row[-1:] if len(row) % 2 else []
        row = [f"({row[n]} {op} {row[n + 1]})" for n in range(0, len(row) - 1, 2)] + odd
    return row[0]


def _or_null(
    function: Callable[[float, float], float],
) -> Callable[[float | None, float | None], float | None]:
    """A function for SQLite: NULL for NULL, and where Python raises."""

    def guarded(x: float | None, y: float | None) -> float | None:
        if x is None or y is None:
            return None
        try:
            return function(x, y)
        except (ArithmeticError, ValueError):
            return None

    return guarded


_FUNCTIONS: Final[dict[str, tuple[str, Callable[[float, float], float]]]] = {
    "%": ("c_remainder", math.fmod),
    "DIV": ("quotient", lambda x, y: math.copysign(math.floor(abs(x / y)), x / y)),
    "^": ("power", math.pow),
}


@cache
def _connection() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("PRAGMA case_sensitive_like = ON")
    for name, function in _FUNCTIONS.values():
        connection.create_function(name, 2, _or_null(function), deterministic=True)
    return connection
