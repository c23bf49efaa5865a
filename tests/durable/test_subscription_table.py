"""The table of subscriptions holds what a dict would, however its rows are grouped into statements."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.store import Database, Row, Rows
from tocsin.store import subscription_table as module

_IDS: Final = st.integers(0, 6)
_VERSIONS: Final = st.one_of(st.none(), st.integers(0, 9))
_STEPS: Final = st.one_of(
    st.tuples(st.just("put"), _IDS, _VERSIONS),
    st.tuples(st.just("put"), _IDS, _VERSIONS),
    st.tuples(st.just("put all"), st.lists(_IDS, unique=True), _VERSIONS),
    st.tuples(st.just("remove"), _IDS, _VERSIONS),
    st.tuples(st.just("rescore"), _IDS, _VERSIONS),
    st.tuples(st.just("has"), _IDS, st.none()),
)
_TRANSACTIONS: Final = st.lists(st.tuples(st.lists(_STEPS, max_size=6), st.booleans()), max_size=6)
State = tuple[dict[int, tuple[Any, ...]], dict[int, tuple[int, Any]]]


class Refused(Exception):
    """What ends a transaction that is taken back."""


def after(state: State, step: tuple[str, Any, Any], number: int) -> State:
    """The oracle: subscriptions by id, and tombstones with their versions."""
    held, gone = dict(state[0]), dict(state[1])
    kind, what, version = step
    if kind in ("put", "put all"):
        for place, id in enumerate([what] if kind == "put" else what):
            last = held[id][3] if id in held else gone.pop(id, (0, None))[1]
            held[id] = (f"n = {number}", 1.0, number + place, last if version is None else version)
    elif kind == "remove":
        last = held[what][3] if what in held else gone.get(what, (0, None))[1]
        if held.pop(what, None) is not None or version is not None:
            gone[what] = (number, last if version is None else version)
    elif kind == "rescore" and what in held:
        held[what] = (held[what][0], float(number), number, held[what][3] if version is None else version)
    return held, gone


def made(database: Database, step: tuple[str, Any, Any], number: int, state: State) -> None:
    kind, what, version = step
    table = database.subscriptions
    if kind == "put":
        table.put(Row(what, f"n = {number}", 1.0, None, None, number, version))
    elif kind == "put all":
        count = len(what)
        numbers = range(number, number + count)
        rows = (what, [f"n = {number}"] * count, [1.0] * count, [None] * count, [None] * count, numbers)
        table.put_all([Rows(*rows, [version] * count)])
    elif kind == "remove":
        assert table.remove(what, number, version) == (what in state[0])
    elif kind == "rescore":
        assert table.rescore(what, float(number), number, version) == (what in state[0])
    else:
        assert table.has(what) == (what in state[0])


def held_in(database: Database) -> State:
    rows = database.connection.execute("SELECT id, condition, score, sequence, version FROM subscriptions")
    held = {id: tuple(rest) for id, *rest in rows.fetchall()}
    tombstones = database.connection.execute("SELECT id, sequence, version FROM tombstones").fetchall()
    return held, {id: (sequence, version) for id, sequence, version in tombstones}


@given(transactions=_TRANSACTIONS, few=st.sampled_from([1, 2, 64]), most=st.sampled_from([1, 2, 512]))
def test_any_transactions_leave_what_a_dict_would_hold(transactions: Any, few: int, most: int) -> None:
    """Those that fail leave what was there before."""
    numbers, state = itertools.count(1, 10), State(({}, {}))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEW", few)
        patch.setattr(module, "_MOST", most)
        Database.create(Path(folder))
        with closing(Database.open(Path(folder))) as database:
            for steps, fails in transactions:
                now = state
                with contextlib.suppress(Refused), database.transaction():
                    for step in steps:
                        number = next(numbers)
                        made(database, step, number, now)
                        now = after(now, step, number)
                    if fails:
                        raise Refused
                state = state if fails else now
                assert held_in(database) == state


@pytest.mark.parametrize(("count", "expected"), [(1, 1), (64, 1), (65, 4), (600, 5)])
def test_rows_that_come_together_are_few_statements(count: int, expected: int, tmp_path: Path) -> None:
    """A single statement is a transaction, without BEGIN and COMMIT."""
    Database.create(tmp_path)
    with closing(Database.open(tmp_path)) as database:
        with database.transaction():
            pass  # it finds out that there are no tombstones
        rows = [Row(number, "n = 1", 1.0, None, None, number + 1) for number in range(count)]
        assert len(statements_of(database, rows)) == expected
        assert database.count() == count


def test_only_ids_with_tombstones_need_more_statements(tmp_path: Path) -> None:
    """A store in which some ids were removed adds others as fast as one without removals, also when opened again."""
    Database.create(tmp_path)
    with closing(Database.open(tmp_path)) as database, database.transaction():
        for number in range(10):
            database.subscriptions.put(Row(number, "n = 1", 1.0, None, None, number + 1, 5))
        for number in range(5):
            database.subscriptions.remove(number, 11 + number)
    with closing(Database.open(tmp_path)) as database:
        assert statements_of(database, [Row(100, "n = 1", 1.0, None, None, 20)])[-1].startswith("INSERT")
        back = statements_of(database, [Row(3, "n = 1", 1.0, None, None, 21)])
        assert (len(back), back[2].split(" WHERE")[0]) == (4, "DELETE FROM tombstones")
        assert (database.subscriptions.version(3), sorted(database.removed())) == (5, [0, 1, 2, 4])
        with database.transaction():
            database.subscriptions.remove(7, 22)
        assert len(statements_of(database, [Row(7, "n = 1", 1.0, None, None, 23)])) == 4
        assert len(statements_of(database, [Row(101, "n = 1", 1.0, None, None, 24)])) == 1


def statements_of(database: Database, rows: list[Row]) -> list[str]:
    """The statements of a transaction that adds rows."""
    statements: list[str] = []
    database._connection.set_trace_callback(statements.append)
    with database.transaction():
        for row in rows:
            database.subscriptions.put(row)
    database._connection.set_trace_callback(None)
    return statements
