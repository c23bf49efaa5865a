"""SQL: the rows that a WHERE finds are those of DuckDB, or the clause is refused by name."""

from __future__ import annotations

import datetime as dt
import random
import sys
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin import Engine, ExpressionError, MissingExtra, UnsupportedError, convert

NUMBERS = (None, -7.5, -1.0, 0.0, 0.5, 1.0, 2.0, 5.0, 1e300)
INTEGERS = (None, -7, -1, 0, 1, 2, 3, 5)
TEXTS = (
    None,
    "",
    "a",
    "A",
    "ab",
    "aB",
    "50%",
    "a_b",
    "x!y",
    "é",
    "É",
    "z",
    "a\nb",
    "kit",
    "\u212aIT",
    "İt",
    "😀",
    "12",
)
MOMENTS = (None, *(dt.datetime(2024, 5, day, hour) for day in (1, 2, 31) for hour in (0, 8)))
LISTS = (None, [], [1], [1, 2], [5, None])
SCHEMA = pa.schema(
    {
        "n": pa.float64(),
        "i": pa.int64(),
        "s": pa.string(),
        "b": pa.bool_(),
        "t": pa.timestamp("us"),
        "d": pa.date32(),
        "l": pa.list_(pa.int64()),
        "o": pa.struct({"n": pa.float64(), "s": pa.string()}),
    }
)


@cache
def rows() -> pa.Table:
    choose = random.Random(7).choice
    made = []
    for number in range(240):
        moment = choose(MOMENTS)
        made.append(
            {
                "n": choose(NUMBERS),
                "i": choose(INTEGERS),
                "s": TEXTS[number % len(TEXTS)],
                "b": choose((None, True, False)),
                "t": choose(MOMENTS),
                "d": moment and moment.date(),
                "l": choose(LISTS),
                "o": {"n": choose(NUMBERS), "s": choose(TEXTS)},
            }
        )
    return pa.Table.from_pylist(made, SCHEMA)


@cache
def database() -> Any:
    connection = duckdb.connect()
    events = rows().append_column("row", pa.array(range(rows().num_rows)))
    connection.register("events", events)
    return connection


def found_by_duckdb(where: str) -> list[int]:
    query = f'SELECT "row" FROM events WHERE {where} ORDER BY "row"'
    return [number for (number,) in database().execute(query).fetchall()]


def found(where: str) -> list[int]:
    engine = Engine()
    engine.subscribe("s", where, language="sql")
    return sorted(engine.match_batch(rows()).table["event"].to_pylist())


TAKEN = [
    line.strip()
    for line in """
    n = 5
    n <> 5
    5 < n
    n >= 0.5
    i <= -1
    n < i
    n > 1e0
    n = 5e-1
    s = 'a'
    s < 'b'
    'a' <= s
    s <> o.s
    o.n > 1
    b
    NOT b
    b = TRUE
    b <> FALSE
    TRUE
    FALSE
    NULL
    n BETWEEN 0 AND 2
    n NOT BETWEEN 0 AND 2
    s BETWEEN 'a' AND 'b'
    n BETWEEN 2 AND 0
    n BETWEEN NULL AND 1
    n IN (1, 2)
    s IN ('a', 'ab')
    n NOT IN (1, NULL)
    n IN (1, NULL)
    n IN (i, o.n)
    i IN (-1)
    s LIKE 'a%'
    s NOT LIKE 'a%'
    s LIKE '50!%' ESCAPE '!'
    s LIKE '%!_%' ESCAPE '!'
    s LIKE '_'
    s LIKE NULL
    s LIKE 'x!!y' ESCAPE '!'
    s NOT LIKE '%!%' ESCAPE '!'
    s ILIKE 'a%'
    s NOT ILIKE 'AB'
    s ILIKE 'K_T'
    lower(s) = 'ab'
    lower(s) <> 'ab'
    lower(s) = 'kit'
    lower(s) IN ('it', 'a')
    lower(s) LIKE '%t'
    'a' = lower(s)
    n IS NULL
    n IS NOT NULL
    (n > 1) IS NULL
    b IS TRUE
    b IS NOT TRUE
    (n > 1) IS FALSE
    (n > 1) IS NOT FALSE
    n IS DISTINCT FROM i
    n IS NOT DISTINCT FROM i
    n IS NOT DISTINCT FROM NULL
    NULL IS NOT DISTINCT FROM NULL
    n IS DISTINCT FROM 5
    NULL IS NULL
    n = NULL
    NOT n = NULL
    b IS UNKNOWN
    starts_with(s, 'a')
    ends_with(s, 'b')
    contains(s, '_')
    suffix(s, 't')
    prefix(s, '')
    s ^@ 'a'
    regexp_matches(s, '^a[_b]')
    regexp_matches(s, '[0-9]+')
    NOT regexp_matches(s, 'b|z')
    list_contains(l, 1)
    NOT list_contains(l, 2)
    array_contains(l, 5)
    list_contains(l, NULL)
    n + i > 3
    n * 2 - 1 < i
    -n > 0
    n / 2 > 1
    i % 2 = 1
    i % 2 = -1
    n % 2e0 = 1
    i * 15e-1 = 3e0
    -(n + 1) < 0
    t = TIMESTAMP '2024-05-01 08:00:00'
    t > DATE '2024-05-02'
    d <= DATE '2024-05-02'
    d = TIMESTAMP '2024-05-02 00:00:00'
    t >= DATE '2024-05-31' - INTERVAL 30 DAY
    t < TIMESTAMP '2024-05-01 00:00:00' + INTERVAL '8' HOUR
    d < t
    t > DATE '2024-05-01' + INTERVAL 1 WEEK - INTERVAL 5 DAYS + INTERVAL 60 MINUTE
    t BETWEEN DATE '2024-05-01' AND DATE '2024-05-02'
    n > 1 AND s LIKE 'a%' OR NOT (b OR i IS NULL)
    (n = 1 OR n = 2) AND NOT s = 'a'
    NOT (n > 1 AND i > 1)
    s = 'it''s'
""".strip().splitlines()
]


@pytest.mark.parametrize("where", TAKEN)
def test_rows(where: str) -> None:
    """A clause, and its NOT, find the rows that DuckDB finds."""
    assert found(where) == found_by_duckdb(where)
    assert found(f"NOT ({where})") == found_by_duckdb(f"NOT ({where})")


@st.composite
def clauses(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(st.one_of(st.sampled_from(TAKEN), comparisons()))
    kind = draw(st.sampled_from(["AND", "OR", "NOT", "IS"]))
    inner = f"({draw(clauses(depth - 1))})"
    if kind == "NOT":
        return f"NOT {inner}"
    if kind == "IS":
        return f"{inner} IS {draw(st.sampled_from(['NULL', 'NOT NULL', 'TRUE', 'NOT TRUE', 'FALSE', 'NOT FALSE']))}"
    return f"{inner} {kind} ({draw(clauses(depth - 1))})"


def comparisons() -> st.SearchStrategy[str]:
    numbers = st.sampled_from(["n", "i", "o.n", "5", "-1", "0", "NULL", "n + i", "i * 2", "n - 1", "2e0"])
    texts = st.sampled_from(["s", "o.s", "'a'", "''", "'ab'", "'é'", "NULL"])
    moments = st.sampled_from(["t", "d", "DATE '2024-05-02'", "TIMESTAMP '2024-05-31 08:00:00'", "NULL"])
    signs = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"])
    pairs = st.one_of(*(st.tuples(one, signs, one) for one in (numbers, texts, moments)))
    return pairs.map(" ".join)


@settings(max_examples=80)
@given(clauses())
def test_generated_clauses(where: str) -> None:
    """Generated clauses find the rows that DuckDB finds."""
    assert found(where) == found_by_duckdb(where)


ONLY_DUCKDB = ("^@", "suffix", "prefix", "starts_with", "ends_with", "list_contains", "regexp_matches")
SPARK = [where for where in TAKEN if not any(name in where for name in ONLY_DUCKDB)]
SPARK += ["startswith(s, 'a')", "endswith(s, 'b')", "s RLIKE '^a[_b]'", "regexp_like(s, '[0-9]+')"]


@pytest.mark.spark
def test_spark(spark: Any) -> None:
    """Spark finds the same rows. It makes two letters of the lower case of a capital I with a dot."""
    from pyspark.sql import functions as f

    kept = pa.compute.fill_null(pa.compute.not_equal(rows()["s"], "İt"), True)
    events = rows().append_column("row", pa.array(range(rows().num_rows))).filter(kept)
    frame = spark.createDataFrame(events).select("row", *(f.expr(where) for where in SPARK)).collect()
    numbers = set(events["row"].to_pylist())

    for place, where in enumerate(SPARK, 1):
        by_spark = sorted(row[0] for row in frame if row[place])
        assert [number for number in found(where) if number in numbers] == by_spark, where


REFUSED = [
    ("n > (SELECT 1)", "at n > (SELECT 1): a subquery"),
    ("n IN (SELECT 1)", "a subquery"),
    ("EXISTS (SELECT 1)", "a subquery"),
    ("b AND sum(n) > 1", "at SUM(n) > 1: an aggregate"),
    ("n::int = 3", "a cast"),
    ("try_cast(s AS int) = 3", "a cast"),
    ("t > '2024-05-01'", "at t > '2024-05-01': a date in a string"),
    (r"s = 'a\b'", "a backslash"),
    (r"s LIKE 'a\%'", "a backslash"),
    ("s ~ 'a'", "an operator ~"),
    ("regexp_matches(s, 'a.*b')", "this regular expression"),
    ("regexp_matches(s, 'a$')", "this regular expression"),
    (r"regexp_matches(s, '\s')", "a backslash"),
    ("regexp_matches(s, '(?i)a')", "this regular expression"),
    ("s ILIKE 'é'", "a letter beyond ASCII"),
    ("n BETWEEN SYMMETRIC 2 AND 1", "BETWEEN SYMMETRIC"),
    ("n / i > 1", "a division by a column"),
    ("n * 1.5 > 2", "a fraction in arithmetic"),
    ("t - INTERVAL 1 DAY > d", "arithmetic on dates"),
    ("t > DATE '2024-05-01' - INTERVAL 1 MONTH", "INTERVAL of SQL"),
    ("upper(s) = 'A'", "upper of SQL"),
    ("i // 2 = 1", "IntDiv"),
    ("coalesce(n, 1) = 1", "Coalesce"),
    ("CASE WHEN b THEN TRUE END", "Case"),
    ("l[i] = 1", "Bracket"),
    ("l[1:2] = 1", "Bracket"),
    ("l['a'] = 1", "Bracket"),
    ("l[1] LIKE 'a'", "Bracket"),
    ("l[1].s LIKE 'a'", "Bracket"),
    ("l[1].b", "Bracket"),
    ("1 = ANY(l)", "at 1 = ANY(l): ANY of a list"),
    ("1 = ANY (SELECT 1)", "a subquery"),
    ("regexp_matches(s, 'A', 'i')", "options of a regular expression"),
    ("length(s) > 3", "Length"),
    ("n = ?", "a parameter"),
    ("(n = 1) = b", "a condition as a value"),
    ("f(n) = 1", "this function"),
    ("s || 'a' = 'b'", "this function"),
]
INVALID = [
    ("n =", "not a condition of SQL: line 1, column 3"),
    ("n = 1 ORDER BY s", "not a condition of SQL"),
    ("5", "a condition is needed, not 5"),
    ("i = 9007199254740993", "cannot be represented exactly"),
    ("n / 0 > 1", "a division by 0"),
    ("s LIKE 'a!' ESCAPE '!'", "escapes %, _ and itself"),
    ("s LIKE 'a!b' ESCAPE '!'", "escapes %, _ and itself"),
    ("s LIKE n", "a text in single quotes is needed, not n"),
    ("lower(s) = 'A'", "has capital letters"),
    ("t > TIMESTAMP '2024-05-01'", "is not a TIMESTAMP"),
    ("t > DATE 'today'", "is not a DATE"),
    ("n IN ()", "not empty"),
    ("l[0] = 1", "positions count from 1"),
    ("l[9999999] = 1", "beyond 1000000"),
]


@pytest.mark.parametrize(("where", "reason"), REFUSED)
def test_refusals(where: str, reason: str) -> None:
    """What tocsin cannot say is refused by name, with its place."""
    with pytest.raises(UnsupportedError) as error:
        convert(where, from_="sql")
    assert reason in str(error.value)


@pytest.mark.parametrize(("where", "reason"), INVALID)
def test_invalid(where: str, reason: str) -> None:
    """What is not a condition is rejected with a reason."""
    with pytest.raises(ExpressionError) as error:
        convert(where, from_="sql")
    assert reason in str(error.value)


def test_every_refusal_is_tested() -> None:
    """Each entry of the table of refusals has a case above."""
    from tocsin.language.dialects.sql import Sql

    told = " ".join(reason for _, reason in REFUSED)
    assert [name for name in Sql.refused if name not in told] == []


def test_explain_shows_the_clause() -> None:
    """`explain` shows conditions as the clause writes them."""
    engine = Engine()
    engine.subscribe("s", "lower(city) = 'oslo' AND price > 5", language="sql")
    told = str(engine.explain("s", {"city": "OSLO", "price": 3}))
    assert "holds    LOWER(city) = 'oslo'" in told
    assert "fails    price > 5" in told


def test_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without sqlglot the error says what to install."""
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(MissingExtra, match=r"pip install 'tocsin\[sql\]'"):
        convert("a = 1", from_="sql")
