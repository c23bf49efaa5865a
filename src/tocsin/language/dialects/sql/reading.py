"""WHERE clauses of SQL, as DuckDB and Spark read them; sqlglot parses them.

SQL's truth is that of CQL2, so a condition of SQL becomes the same condition of CQL2. What DuckDB and Spark read
differently is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from tocsin.errors import ExpressionError, needing
from tocsin.language.dialects.dialect import (
    Dialect,
    Json,
    Reader,
    Wild,
    all_of,
    any_of,
    call,
    like,
    one_of,
)
from tocsin.language.dialects.sql.texts import equal_lower, like_lower, like_text, matches, pattern_parts
from tocsin.language.dialects.sql.values import COMPARED, CONDITIONS, TEXT_FUNCTIONS, Node, Values
from tocsin.language.tokens import too_many_nodes
from tocsin.model.expression import (
    MAX_NODES,
    And,
    Array,
    Between,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    IsNull,
    Not,
    Or,
)
from tocsin.model.subscription import shown

_TOKEN: Final = re.compile(r"""'[^']*+'|"[^"]*+"|\w++|[^\w\s]""")
_MOST_TOKENS: Final = 3 * MAX_NODES
"""Values and operators, and the parentheses and commas between."""
_NAMED: Final = {"suffix": "EndsWith", "prefix": "StartsWith"}
_UNKNOWN: Final = Comparison("=", Constant(1.0), Constant(""))


class Sql(Dialect):
    name, title = "sql", "SQL"
    taken: ClassVar[Mapping[str, str]] = {
        "a = 5 AND b <> 'x'": "the same; also <, <=, >, >=, OR, NOT",
        "a BETWEEN 1 AND 2": "the same",
        "a IN (1, 2, NULL)": "IN; NULL is UNKNOWN",
        "a IS NULL": "the same",
        "a IS TRUE": "HOLDS(a); also IS FALSE and their NOT",
        "a IS DISTINCT FROM b": "NOT (HOLDS(a = b) OR a IS NULL AND b IS NULL)",
        "a LIKE '5!%%' ESCAPE '!'": "LIKE",
        "a ILIKE 'x%'": "MATCHES, for patterns in ASCII",
        "lower(a) = 'x'": "MATCHES; also with IN and LIKE",
        "starts_with(a, 'x')": "LIKE 'x%'; also ends_with, contains, prefix and suffix",
        "regexp_matches(a, 'x+')": "MATCHES, where RE2 and Java agree; also RLIKE and regexp_like",
        "list_contains(a, 5)": "A_CONTAINS; also array_contains",
        "a + 2 * b - 1 < 5": "arithmetic; / and % by a number that is not 0",
        "a.b": "the attribute a.b",
        "l[1] = 5": "AT(l, 0): positions count from 1, as in DuckDB, or from the end: l[-1]; also l[1].a",
        "TIMESTAMP '2024-05-31 08:00:00'": "an instant in UTC; also DATE, and TIMESTAMPTZ with an offset",
        "DATE '2024-05-31' - INTERVAL 3 DAY": "an instant; weeks, days, hours, minutes and seconds",
        "ts > now() - INTERVAL 1 DAY": "NOW(); also current_timestamp",
    }
    refused: ClassVar[Mapping[str, str]] = {
        "a subquery": "a subscription looks at one event",
        "an aggregate": "a subscription looks at one event; aggregate first",
        "a cast": "values are not converted; give the column the type, or write a constant of its type",
        "a date in a string": "it depends on the type of the column; write DATE '...' or TIMESTAMP '...'",
        "a backslash": "Spark reads it as an escape, and DuckDB does not; in LIKE write ESCAPE '!'",
        "an operator ~": "DuckDB's versions differ; write regexp_matches",
        "this regular expression": "RE2 and Java read it differently, as they do . and $ at ends of lines",
        "a letter beyond ASCII": "DuckDB and Spark differ in its lower case",
        "BETWEEN SYMMETRIC": "DuckDB and Spark do not have it",
        "a division by a column": "for 0, DuckDB gives a result and Spark raises an error",
        "a fraction in arithmetic": "its type depends on that of the column; write it with an exponent, as in 15e-1",
        "arithmetic on dates": "move the interval to a constant: ts > TIMESTAMP '2024-05-31 00:00:00' - INTERVAL 3 DAY",
        "INTERVAL": "months and years have no fixed length; write weeks, days, hours, minutes or seconds",
        "upper": "DuckDB and Spark differ for letters such as ß; write lower",
        "IntDiv": "DuckDB and Spark differ in integer division",
        "Coalesce": "write a = 5 OR a IS NULL",
        "Case": "write AND and OR",
        "ANY of a list": "Spark does not have it; write list_contains(l, 5)",
        "options of a regular expression": "Spark does not have them; to ignore case, write ILIKE or lower(s)",
        "Bracket": "a position in a list is a whole number, and its element is compared",
        "Length": "lengths are not computed",
        "a parameter": "write the value",
        "a condition as a value": "compare with TRUE by IS TRUE",
        "this function": "tocsin has no such function",
    }

    def decode(self, rule: Json) -> Node:
        """The tree of a clause. Raises `MissingExtra` without sqlglot."""
        if not isinstance(rule, str):
            raise ExpressionError(f"a WHERE clause of SQL is text, not {shown(rule)}")
        return rule

    def read(self, rule: Json, reader: Reader) -> Expression:
        return _Reading(reader).condition(_parsed(rule, reader))


def _parsed(text: str, reader: Reader) -> Node:
    with needing("sql"):
        from sqlglot import exp, tokenize
        from sqlglot.errors import SqlglotError
    _require_parseable(text)
    try:
        tree = exp.condition(text, dialect="duckdb")
        tokens = tokenize(text, read="duckdb")
    except SqlglotError as error:
        details = getattr(error, "errors", None) or [{}]
        at = details[0].get("line"), details[0].get("col"), details[0].get("description")
        place = f"line {at[0]}, column {at[1]}: {at[2]}" if at[0] else str(error).splitlines()[0]
        raise ExpressionError(f"this is not a condition of SQL: {place}") from None
    if any(token.text == "~" for token in tokens):
        reader.refuse("an operator ~")
    return tree


def _require_parseable(text: str) -> None:
    """Raise `ExpressionError` for a text with more values and operators than an expression may have.

    sqlglot would first read all of them, in seconds.
    """
    if len(text) > _MOST_TOKENS and sum(1 for _ in _TOKEN.finditer(text)) > _MOST_TOKENS:
        raise too_many_nodes(text)


class _Reading(Values):
    """The reading of one clause."""

    # ---- conditions

    def condition(self, node: Node) -> Expression:
        name = type(node).__name__
        if name == "Paren":
            return self.condition(node.this)
        if name in ("And", "Or"):
            parts = [self.condition(one) for one in node.flatten()]
            return all_of(parts) if name == "And" else any_of(parts)
        if name == "Not":
            return Not(self.condition(node.this))
        with self._at(node):
            made = self._predicate(name, node)
        if node.args.get("negate"):
            made = Not(made)
        return self._reader.note(made, node.sql("duckdb")) if not isinstance(made, And | Or) else made

    def _predicate(self, name: str, node: Node) -> Expression:
        if name == "Null":
            return _UNKNOWN
        if name == "Boolean":
            return Constant(bool(node.this))
        if name in ("Column", "Dot"):
            return self._attribute(node)
        if name in COMPARED:
            return self._comparison(COMPARED[name], node.this, node.expression)
        named = _NAMED.get(str(node.this).lower()) if name == "Anonymous" else None
        if named is not None and len(node.expressions) == 2:
            return self._part_of_text(named, *node.expressions)
        read = _PREDICATES.get(name)
        return read(self, node) if read is not None else self._refuse(node)

    def _comparison(self, op: ComparisonOperator, left: Node, right: Node) -> Expression:
        for one, other in ((left, right), (right, left)):
            if type(one).__name__ == "Lower" and op in ("=", "<>"):
                text = equal_lower(self._attribute(one.this), [self._string(other)], self._reader)
                return text if op == "=" else Not(text)
        values = self._value(left), self._value(right)
        if None in values:
            return _UNKNOWN
        return Comparison(op, *values)  # type: ignore[arg-type]

    def _between(self, node: Node) -> Expression:
        if node.args.get("symmetric"):
            self._reader.refuse("BETWEEN SYMMETRIC")
        ends = self._value(node.args["low"]), self._value(node.args["high"])
        value = self._value(node.this)
        if value is not None and None not in ends:
            return Between(value, *ends)  # type: ignore[arg-type]
        low, high = ends
        return all_of(
            [
                _UNKNOWN if value is None or low is None else Comparison(">=", value, low),
                _UNKNOWN if value is None or high is None else Comparison("<=", value, high),
            ]
        )

    def _in(self, node: Node) -> Expression:
        if node.args.get("query") is not None or node.args.get("unnest") is not None:
            self._reader.refuse("a subquery")
        if not node.expressions:
            self._reader.fail("IN needs a list that is not empty")
        if type(node.this).__name__ == "Lower":
            return equal_lower(
                self._attribute(node.this.this), [self._string(one) for one in node.expressions], self._reader
            )
        value = self._value(node.this)
        given = [self._value(one) for one in node.expressions]
        constants = [one for one in given if isinstance(one, Constant)]
        if value is None:
            return _UNKNOWN
        parts = [one_of(value, constants)] if constants else []
        parts += [Comparison("=", value, one) for one in given if one is not None and not isinstance(one, Constant)]
        return any_of([*parts, *([_UNKNOWN] if None in given else [])])

    def _is(self, node: Node) -> Expression:
        """IS NULL, IS TRUE and IS FALSE."""
        what = node.expression
        if type(what).__name__ == "Null":
            value = self._any(node.this)
            return Constant(True) if value is None else IsNull(value)
        if type(what).__name__ != "Boolean":
            self._refuse(node)
        held = self.condition(node.this)
        return call("HOLDS", held if what.this else Not(held))

    def _same(self, node: Node) -> Expression:
        """IS NOT DISTINCT FROM."""
        left, right = self._any(node.this), self._any(node.expression)
        if left is None or right is None:
            one = right if left is None else left
            return Constant(True) if one is None else IsNull(one)
        same = call("HOLDS", Comparison("=", left, right))
        if isinstance(left, Constant) or isinstance(right, Constant):
            return same
        return any_of([same, all_of([IsNull(left), IsNull(right)])])

    def _different(self, node: Node) -> Expression:
        return Not(self._same(node))

    # ---- texts and lists

    def _like(self, node: Node, escape: str | None = None) -> Expression:
        name = type(node).__name__
        pattern = node.expression
        if type(pattern).__name__ == "Null":
            return _UNKNOWN
        parts = pattern_parts(self._string(pattern), escape, self._reader)
        if type(node.this).__name__ == "Lower" and name == "Like":
            return like_lower(self._attribute(node.this.this), parts, self._reader)
        return like_text(self._attribute(node.this), parts, name == "ILike", self._reader)

    def _escaped(self, node: Node) -> Expression:
        escape = self._string(node.expression)
        if len(escape) != 1 or escape in "%_\\":
            self._reader.fail("ESCAPE needs one character other than %, _ and \\")
        if type(node.this).__name__ not in ("Like", "ILike"):
            self._refuse(node)
        made = self._like(node.this, escape)
        return Not(made) if node.this.args.get("negate") else made

    def _text_function(self, node: Node) -> Expression:
        return self._part_of_text(type(node).__name__, node.this, node.expression)

    def _part_of_text(self, name: str, text: Node, part: Node) -> Expression:
        if type(part).__name__ == "Null":
            return _UNKNOWN
        value = self._string(part)
        before = [] if name == "StartsWith" else [Wild.RUN]
        after = [] if name == "EndsWith" else [Wild.RUN]
        return like(self._attribute(text), *before, value, *after)

    def _matches(self, node: Node) -> Expression:
        if node.args.get("flag") is not None:
            self._reader.refuse("options of a regular expression")
        return matches(self._attribute(node.this), self._string(node.expression), self._reader)

    def _list_contains(self, node: Node) -> Expression:
        value = self._value(node.expression)
        if value is None:
            return _UNKNOWN
        if not isinstance(value, Constant):
            self._refuse(node)
        return call("A_CONTAINS", self._attribute(node.this), Array((value,)))

    def _any(self, node: Node) -> Any:
        """A value, or a condition as one."""
        inner = node.this if type(node).__name__ == "Paren" else node
        if type(inner).__name__ in CONDITIONS:
            return self.condition(inner)
        return self._value(node)


_PREDICATES: Final[dict[str, Callable[[_Reading, Node], Expression]]] = {
    "Between": _Reading._between,
    "In": _Reading._in,
    "Is": _Reading._is,
    "NullSafeEQ": _Reading._same,
    "NullSafeNEQ": _Reading._different,
    "Like": _Reading._like,
    "ILike": _Reading._like,
    "Escape": _Reading._escaped,
    **dict.fromkeys(TEXT_FUNCTIONS, _Reading._text_function),
    "RegexpLike": _Reading._matches,
    "ArrayContains": _Reading._list_contains,
}
