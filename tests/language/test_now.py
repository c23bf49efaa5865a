"""NOW: one instant for a batch, which attributes are compared with by their distance from it."""

from __future__ import annotations

import datetime as dt
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.meaning import assert_meaning
from tocsin import (
    Engine,
    InvalidInput,
    RecordError,
    SparseEvents,
    Top,
    explain,
    match,
)
from tocsin.columns.expressions.recipes.recipe import recipe_of
from tocsin.columns.expressions.spelling import Spelling
from tocsin.language import Instance, Templates
from tocsin.model import instants
from tocsin.model.values import Instant

NOW = "2024-05-31T08:15:00Z"


def ago(seconds: float) -> str:
    moment = dt.datetime(2024, 5, 31, 8, 15, tzinfo=dt.UTC) - dt.timedelta(seconds=seconds)
    return moment.isoformat()


CASES = [
    ("t > NOW() - DURATION('PT1H')", [ago(3599), ago(-5), "2024-05-31T10:14:00+02:00"], [ago(3600), "x", 5, None]),
    ("t >= NOW()", [ago(0), ago(-0.000001)], [ago(0.000001)]),
    ("NOW() < t", [ago(-1)], [ago(0)]),
    ("NOW() - t > 60", [ago(61), dt.datetime(2024, 5, 31)], [ago(60), ago(-61)]),
    ("NOW() - t = 0.5", [ago(0.5)], [ago(0.500001), ago(-0.5)]),
    ("t - NOW() <> 0.5", [ago(0.5), ago(-0.500001)], [ago(-0.5), "x"]),
    ("60 <= NOW() - t", [ago(60)], [ago(59)]),
    ("t - NOW() BETWEEN -60 AND 60", [ago(60), ago(-60)], [ago(60.1), "60"]),
    ("t BETWEEN NOW() - DURATION('P1D') AND NOW()", [ago(86_400), ago(0)], [ago(86_401), ago(-1)]),
    ("t IN (NOW(), NOW() + 60)", [ago(0), ago(-60)], [ago(60)]),
    ("t + 60 < NOW()", [ago(61)], [ago(60)]),
    ("DATE_OF(t) < NOW()", [ago(0)], ["2024-06-01", "x"]),
    ("DATE_OF(t) + 86400 > NOW()", [ago(0)], ["2024-05-30"]),
    ("NOT t > NOW()", [ago(0)], [ago(-1), "x", None]),
    ("t > NOW() OR t IS NULL", [ago(-1), None], [ago(1)]),
    ("(t > NOW()) IS NULL", ["x", None, 5], [ago(1)]),
    ("NOW() > TIMESTAMP('2024-05-31T08:14:59Z')", [None, 5], []),
    ("ANY(t, element > NOW() - 60)", [[ago(100), ago(59)]], [[ago(60)], []]),
    ("EACH(t, NOW() - element < 60)", [[ago(1), ago(59)], []], [[ago(60), ago(1)]]),
    ("SOME(t, element < NOW())", [ago(1), [ago(-1), ago(1)]], [ago(-1)]),
]


@pytest.mark.parametrize(("text", "match", "fail"), CASES)
def test_meaning(text: str, match: list[object], fail: list[object]) -> None:
    assert_meaning(text, [{"t": value} for value in match], [{"t": value} for value in fail], NOW)


def test_every_source() -> None:
    """Tables, JSON lines and sparse events agree with dicts."""
    texts = [ago(seconds) for seconds in (5, 30, 61, 600)]
    sources: list[Any] = [
        [{"t": text} for text in texts],
        pa.table({"t": texts}),
        pa.table({"t": pa.array(list(map(dt.datetime.fromisoformat, texts)), pa.timestamp("us", "UTC"))}),
        "".join(f'{{"t": "{text}"}}\n' for text in texts).encode(),
    ]
    engine = Engine()
    engine.subscribe("recent", "t > NOW() - 60")
    assert [engine.match_batch(one, now=NOW).table["event"].to_pylist() for one in sources] == [[0, 1]] * 4
    engine.subscribe("always", "NOW() > DATE('2024-01-01')")
    sparse = SparseEvents(pa.table({"names": [["n"]], "values": [[1.0]]}))
    assert engine.match_batch(sparse, now=NOW).table["subscription"].to_pylist() == ["always"]


def test_one_instant_for_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pieces of a batch see the same present, and each call that says nothing a new one."""
    moments = iter(range(1_000))

    class Clock:
        @staticmethod
        def time_ns() -> int:
            return next(moments) * 1_000_000_000

    monkeypatch.setattr(instants, "time", Clock)
    engine = Engine()
    engine.subscribe("s", "t = NOW()")
    events = [{"t": dt.datetime.fromtimestamp(second, dt.UTC)} for second in range(4)] * 5_000

    first, second = (set(engine.match_batch(events).table["event"].to_pylist()) for _ in range(2))
    assert len(first) == len(second) == 5_000
    assert len({row % 4 for row in first}) == len({row % 4 for row in second}) == 1
    assert first != second


def test_the_clock() -> None:
    """Without `now`, the present is the clock's."""
    engine = Engine()
    engine.subscribe("s", "t > NOW() - 3600")
    assert engine.match({"t": ago(10)})  # the clock of tests
    assert not engine.match({"t": ago(10)}, now=dt.datetime(2030, 1, 1))


def test_index() -> None:
    """An event looks at the subscriptions whose age fits, not at all others."""
    engine = Engine()
    engine.subscribe_many([{"id": n, "where": f"t BETWEEN NOW() - {n + 1} AND NOW() - {n}.5"} for n in range(2_000)])
    answer = engine.match_batch([{"t": ago(n + 0.75)} for n in range(0, 2_000, 50)], now=NOW)
    assert answer.table["subscription"].to_pylist() == list(range(0, 2_000, 50))
    assert answer.stats.candidates_examined <= 4 * 40


def test_changes_and_rankings() -> None:
    """What was subscribed lately, and a ranking, know the present, too."""
    engine = Engine()
    engine.subscribe_many([{"id": n, "where": f"t > NOW() - {n}", "score": n} for n in range(100)])
    engine.subscribe(1_000, "NOW() - t < 40", score=1_000)
    found = engine.match({"t": ago(30)}, ranking=Top(2), now=NOW)
    assert [one.subscription for one in found] == [1_000, 99]


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**62), 2**62))
def test_seconds_are_exact(seconds: float, microseconds: int) -> None:
    """A difference in seconds is compared as its number, not as the nearest microsecond."""
    for bound in (seconds, microseconds / 1e6):
        value = microseconds / 1e6
        engine = Engine()
        conditions = {"<": value < bound, "<=": value <= bound, "=": value == bound, ">": value > bound}
        engine.subscribe_many(
            [
                {
                    "id": op,
                    "where": {
                        "op": op,
                        "args": [{"op": "-", "args": [{"property": "t"}, {"op": "now", "args": []}]}, bound],
                    },
                }
                for op in conditions
            ]
        )
        table = pa.table({"t": pa.array([microseconds], pa.int64()).cast(pa.timestamp("us"))})
        found = set(engine.match_batch(table, now="1970-01-01").table["subscription"].to_pylist())
        assert found == {op for op, holds in conditions.items() if holds}


def test_no_warning_about_the_present() -> None:
    """The present is in every event."""
    subscriptions = [{"id": n, "where": text} for n, (text, *_) in enumerate(CASES) if "t)" not in text]
    answer = match(subscriptions, [{"t": ago(0)}, {"t": None}, {"t": [ago(0)]}])
    assert not [one for one in answer.warnings if "now" in str(one).lower().replace("now()", "")]


@pytest.mark.parametrize("now", ["yesterday", 5, "", [NOW]])
def test_what_is_no_present(now: Any) -> None:
    engine = Engine()
    engine.subscribe("s", "t > NOW()")
    for ask in (engine.match, engine.match_batch):
        with pytest.raises(InvalidInput, match=r"now is .*give a date and time"):
            ask({"t": NOW}, now=now)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NOW(5) > t", "NOW takes no arguments"),
        ("t > NOW", "NOW"),
        ("NOW()", "is not a condition"),
        ("t > CURRENT_TIMESTAMP()", "the present is NOW"),
        ("HOUR(NOW()) = 1", "HOUR needs an attribute, not the result of NOW"),
    ],
)
def test_refusals(text: str, reason: str) -> None:
    engine = Engine()
    if text == "t > NOW":  # an attribute of this name
        engine.subscribe("s", text)
        assert not engine.match({"t": NOW})
        return
    with pytest.raises(RecordError, match=reason):
        engine.subscribe("s", text)


def test_explain_shows_the_present() -> None:
    shown = str(explain("t > NOW() - 60", {"t": ago(90)}, now=NOW))
    assert "NOW() = 2024-05-31T08:15:00Z" in shown
    assert Instant.parse(NOW).isoformat() in shown


def test_bounds_share_a_form() -> None:
    """Texts that differ in the bound have one recipe, and one that is out of range is compiled by itself."""
    texts = ("t > NOW() - {}", "NOW() - t < {}", "t BETWEEN NOW() - {} AND NOW()", "t > NOW() - DURATION('PT{}S')")
    engine = Engine()
    for place, text in enumerate(texts):
        conditions = [text.format(seconds) for seconds in (5, 60, 3_600)]
        instances = [Spelling().spelled(cast(Instance, Templates().instance(one))) for one in conditions]
        assert all(recipe_of(one.template) for one in instances)
        engine.subscribe_many([{"id": 10 * place + n, "where": one} for n, one in enumerate(conditions)])
    engine.subscribe_many([{"id": 100, "where": "t > NOW() - 1e15"}, {"id": 101, "where": "NOW() - t < 1e15"}])
    found = [one.subscription for one in engine.match({"t": ago(30)}, now=NOW)]
    assert found == [1, 2, 11, 12, 21, 22, 31, 32, 101]
