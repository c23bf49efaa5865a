"""Values of terms at events and at instants between them, as DuckDB's window functions give them.

A stream is a table `events` with a row for each event: the object, `t` (a timestamp), `us` (the same in microseconds),
`n` (the order of arrival) and the attributes. An instant between events is a row whose `is_event` is FALSE.

Where SQL differs from the contract, and how it is asked:

* **Peers.** `CURRENT ROW` of a RANGE includes all rows of the same instant, also those that came later. So a stream
  with equal instants is ordered by a number that is unique, `us * 1000 + n`. The frame begins `span * 1000 + n` before
  it. That is the whole microsecond `t - span`, whichever row has it. A stream without equal instants is asked
  literally: `ORDER BY t RANGE BETWEEN INTERVAL ... PRECEDING AND CURRENT ROW`.
* **Earlier.** LAST_VALUE's default frame includes the current row, so SINCE asks `ROWS BETWEEN UNBOUNDED PRECEDING
  AND 1 PRECEDING`. LAG does not look at the current row.
* **UNKNOWN.** FILTER and CASE WHEN take what is TRUE only, as the contract does.
* **Instants between events** are rows that satisfy no condition. In SQL all their attributes are NULL, and so
  `IS NULL` would be TRUE of them; therefore each condition is `is_event AND (...)`. PREVIOUS is not asked there, since
  a row is not an event and the latest event is not an earlier one.
* **Conditions inside conditions** are subqueries: window functions do not nest.
* **Types.** Columns have one type each, so mixed types are beyond this comparison. Arithmetic and comparisons of NULL
  are NULL in both. `SUM` of doubles depends on the order in SQL; use numbers whose sums are exact.
* **PARTITION BY** makes an object of NULL keys. The contract does not.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.naive.over_time import SECOND, Term
from tocsin.model.expression import (
    And,
    Arithmetic,
    Attribute,
    Between,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Not,
    Or,
)

COLUMNS: Final = {"type": "VARCHAR", "ok": "BOOLEAN", "amount": "DOUBLE", "card": "VARCHAR"}
_EPOCH: Final = dt.datetime(1970, 1, 1)
_AGGREGATES: Final = {
    "COUNT": "COUNT(*)",
    "COUNT_DISTINCT": "COUNT(DISTINCT {})",
    "SUM": "SUM({})",
    "AVG": "AVG({})",
    "MIN": "MIN({})",
    "MAX": "MAX({})",
}


class Row(dict[str, object]):
    """The attributes of an event; empty for an instant between events."""

    def __init__(self, of: str, us: int, attributes: dict[str, object] | None) -> None:
        super().__init__(attributes or {})
        self.of, self.us, self.is_event = of, us, attributes is not None


def in_sql(connection: Any, term: Term, rows: Sequence[Row], literally: bool = False) -> list[object]:
    """The term's value at each row, in a database of which the table `events` is replaced.

    `literally` asks as the contract has it. Then no object may have two rows of one instant.
    """
    columns = ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS.items())
    cells = ", ".join("?" for _ in range(5 + len(COLUMNS)))
    relation = _with_term(term, "answer", "FROM events", literally, itertools.count())
    connection.execute(
        f"CREATE OR REPLACE TABLE events (of_ VARCHAR, t TIMESTAMP, us BIGINT, n BIGINT, is_event BOOLEAN, {columns})"
    )
    tuples = [
        (row.of, _EPOCH + dt.timedelta(microseconds=row.us), row.us, number, row.is_event, *map(row.get, COLUMNS))
        for number, row in enumerate(rows)
    ]
    if tuples:
        values = ", ".join(f"({cells})" for _ in tuples)
        connection.execute(f"INSERT INTO events VALUES {values}", list(itertools.chain.from_iterable(tuples)))
    answers = connection.execute(f"SELECT answer {relation} ORDER BY n").fetchall()
    return [value for (value,) in answers]


def _with_term(term: Term, name: str, relation: str, literally: bool, flags: Iterator[int]) -> str:
    """A relation, with a further column for a term's values."""
    flag = f"flag{next(flags)}"
    held = "TRUE"
    if term.condition is not None:
        held = _text(term.condition.expression)
        for inner_name, inner in term.condition.terms:
            relation = _with_term(inner, inner_name, relation, literally, flags)
    return (
        f'FROM (SELECT *, {_window(term, flag, literally)} AS "{name}" '
        f"FROM (SELECT *, is_event AND ({held}) AS {flag} {relation}))"
    )


def _window(term: Term, flag: str, literally: bool) -> str:
    """A term as a window function."""
    attribute = None if term.attribute is None else f'"{term.attribute}"'
    order = "PARTITION BY of_ ORDER BY us, n"
    if term.function == "PREVIOUS":
        return f"LAG(CASE WHEN {flag} THEN {attribute} END IGNORE NULLS) OVER ({order})"
    if term.function == "SINCE":
        earlier = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        latest = f"LAST_VALUE(CASE WHEN {flag} THEN us END IGNORE NULLS) OVER ({order} {earlier})"
        return f"(us - {latest}) / {SECOND}.0::DOUBLE"
    frame = f"PARTITION BY of_ ORDER BY us * 1000 + n RANGE BETWEEN ({term.span} * 1000 + n) PRECEDING AND CURRENT ROW"
    if literally:
        span = f"INTERVAL '{term.span} microseconds'"
        frame = f"PARTITION BY of_ ORDER BY t RANGE BETWEEN {span} PRECEDING AND CURRENT ROW"
    return f"{_AGGREGATES[term.function].format(attribute)} FILTER (WHERE {flag}) OVER ({frame})"


def _text(node: Expression) -> str:
    """An expression on columns as SQL. Text in it is plain, and numbers are doubles."""
    parts = [_text(child) for child in node.children()]
    match node:
        case Attribute(name):
            return f'"{name}"'
        case Constant(bool() as value):
            return str(value).upper()
        case Constant(float() as value):
            return f"{value!r}::DOUBLE"
        case Constant(str() as value):
            return "'{}'".format(value.replace("'", "''"))
        case Comparison(op) | Arithmetic(op):
            return f"({parts[0]} {op} {parts[1]})"
        case Between():
            return "({} BETWEEN {} AND {})".format(*parts)
        case IsNull():
            return f"({parts[0]} IS NULL)"
        case Not():
            return f"(NOT {parts[0]})"
        case And() | Or():
            return f"({(' AND ' if isinstance(node, And) else ' OR ').join(parts)})"
    raise NotImplementedError(f"no SQL for {type(node).__name__}")
