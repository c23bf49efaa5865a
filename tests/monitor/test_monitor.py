"""What a monitor says of the contract's examples, of odd events, and of what it holds."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import tocsin
from tocsin.errors import InvalidInput, RecordError, TocsinError
from tocsin.segment import Snapshots

TEN_MINUTES = 600


def monitor_of(*texts: str, **options: object) -> tocsin.Monitor:
    engine = tocsin.Engine()
    for number, text in enumerate(texts):
        engine.subscribe(f"s{number}", text)
    return tocsin.Monitor(engine, **{"key": "user", "time": "ts", **options})  # type: ignore[arg-type]


def brief(changes: object) -> list[tuple[str, str, float]]:
    return [(one.subscription, one.change, one.microseconds / 1e6) for one in changes]  # type: ignore[attr-defined]


def test_five_failures_in_ten_minutes():
    monitor = monitor_of("COUNT(type = 'login' AND ok = FALSE, 'PT10M') >= 5")
    logins = [{"user": "ann", "ts": 60 * n, "type": "login", "ok": False} for n in range(5)]

    assert [brief(monitor.push(login)) for login in logins] == [[], [], [], [], [("s0", "enter", 240.0)]]
    assert monitor.inside("ann") == ["s0"]
    assert brief(monitor.advance(3600)) == [("s0", "exit", 600.000001)]
    assert monitor.inside("ann") == []


def test_silence_is_told_when_time_passes():
    """SINCE counts earlier events, so that a heartbeat ends the silence one microsecond after itself."""
    monitor = monitor_of("SINCE(type = 'heartbeat') >= DURATION('PT10M')")
    monitor.push({"user": "m1", "ts": 0, "type": "heartbeat"})

    assert brief(monitor.advance("1970-01-01T00:09:59Z")) == []
    assert brief(monitor.advance(datetime(1970, 1, 1, 1, tzinfo=UTC))) == [("s0", "enter", 600.0)]
    assert brief(monitor.push({"user": "m1", "ts": 4000, "type": "heartbeat"})) == []
    assert brief(monitor.advance(4001)) == [("s0", "exit", 4000.000001)]


def test_a_sum_is_exact_however_long_it_slides():
    """Great numbers come and go a thousand times, and hide no small ones."""
    monitor = monitor_of("SUM(x, TRUE, 'PT2S') = 1")
    numbers = [0.1, 0.1, 0.1, 1e300, 1.0, -1e300]
    answer = monitor.push_batch([{"user": 1, "ts": n, "x": numbers[n % 6]} for n in range(6001)])

    found = [row["change"] for row in answer]
    assert (found.count("enter"), found.count("exit")) == (1000, 1000)


def test_values_that_are_no_numbers_count_as_what_they_are():
    monitor = monitor_of("COUNT_DISTINCT(x, TRUE, 'PT1H') >= 4", "PREVIOUS(x) = 'a'", "MAX(x, TRUE, 'PT1H') = 1")
    values = [1, True, "a", "1", None, [1, 2], 1.0]
    found = [brief(monitor.push({"user": 1, "ts": n, "x": value})) for n, value in enumerate(values)]

    assert found == [
        [("s2", "enter", 0.0)],
        [],
        [],
        [("s0", "enter", 3.0), ("s1", "enter", 3.0)],
        [("s1", "exit", 4.0)],
        [],
        [],
    ]


def test_keys_of_several_attributes_and_of_one_subscription():
    engine = tocsin.Engine()
    engine.subscribe("pair", "COUNT(TRUE, 'PT1H') >= 2")
    engine.subscribe("host", "COUNT(TRUE, 'PT1H') >= 3", by="host")
    engine.subscribe("fast", "speed > 5", by=["host"])
    monitor = tocsin.Monitor(engine, key=["host", "user"], time="ts")
    events = [("a", 1, 0), ("a", 2, 9), ("b", 1, 0), ("a", 1, 0)]
    found = [
        monitor.push({"host": host, "user": user, "ts": n, "speed": s}) for n, (host, user, s) in enumerate(events)
    ]

    assert [[(one.object, one.subscription, one.change) for one in changes] for changes in found] == [
        [],
        [("a", "fast", "enter")],
        [],
        [("a", "fast", "exit"), ("a", "host", "enter"), (("a", 1), "pair", "enter")],
    ]
    assert monitor.inside("a", by="host") == ["host"]


def test_matches_instead_of_changes():
    monitor = monitor_of("COUNT(TRUE, 'PT1M') >= 2", matches=True)
    found = monitor.push_batch([{"user": 1, "ts": n} for n in range(4)])

    assert [(row["event"], row["change"]) for row in found] == [(1, "match"), (2, "match"), (3, "match")]
    assert monitor.advance(1000) == []


def test_subscriptions_come_change_and_go():
    """A new subscription counts what its terms remember already: with a new term nothing, with a known one all."""
    engine = tocsin.Engine()
    engine.subscribe("first", "COUNT(a = 1, 'PT1H') >= 3")
    monitor = tocsin.Monitor(engine, key="user", time="ts")
    for n in range(2):
        monitor.push({"user": 1, "ts": n, "a": 1})
    engine.subscribe("second", "COUNT(a = 1, 'PT1H') >= 3 AND b = 1")
    engine.subscribe("third", "COUNT(a = 1, 'PT2H') >= 2")
    assert [one.subscription for one in monitor.push({"user": 1, "ts": 2, "a": 1, "b": 1})] == ["first", "second"]

    engine.unsubscribe("first")
    assert [(one.subscription, one.change) for one in monitor.push({"user": 1, "ts": 3, "a": 1, "b": 0})] == [
        ("first", "exit"),
        ("second", "exit"),
        ("third", "enter"),
    ]


def test_odd_events_are_told_and_change_nothing():
    monitor = monitor_of("COUNT(a = 1, 'PT1H') >= 1")
    answer = monitor.push_batch(
        [{"user": 1, "ts": 5}, {"ts": 6, "a": 1}, {"user": 1, "a": 1}, {"user": 1, "ts": 4, "a": 1}, 5]
    )

    assert len(answer) == 0
    assert [(one.row, one.field) for one in answer.event_errors] == [(1, "user"), (4, "")]
    assert answer.lost == {1, 4}
    assert [one.reason.split(":")[0] for one in answer.warnings if one.condition.startswith("time=")] == [
        "1 event (row 2) ignored",
        "1 event (row 3) ignored",
    ]
    with pytest.raises(RecordError, match="user"):
        monitor.push({"ts": 6, "a": 1})


def test_a_name_that_no_event_has_is_warned_about():
    monitor = monitor_of("COUNT(typ = 'login', 'PT1H') >= 1")
    answer = monitor.push_batch([{"user": 1, "ts": 5, "type": "login"}])

    assert [(one.attribute, one.condition) for one in answer.warnings] == [("typ", "typ = 'login'")]


def test_objects_unseen_for_longest_are_dropped_and_told():
    monitor = monitor_of("COUNT(TRUE, 'PT1H') >= 1", most_objects=2)
    for n in range(2):
        monitor.push({"user": n, "ts": n})
    monitor.push({"user": 0, "ts": 5})

    assert brief(monitor.push({"user": 2, "ts": 9})) == [("s0", "enter", 9.0), ("s0", "lost", 1.0)]
    assert (len(monitor), monitor.inside(0), monitor.inside(1)) == (2, ["s0"], [])
    assert monitor.sizes()["values"] == 2


def test_one_event_may_satisfy_thousands_of_conditions():
    monitor = monitor_of(*(f"COUNT(a >= {n}, 'PT10S') >= 2" for n in range(3000)))

    found = [len(monitor.push({"user": 1, "ts": ts, "a": 5000})) for ts in (1, 2)]
    assert (found, len(monitor.advance(100)), monitor.sizes()["values"]) == ([0, 3000], 3000, 0)


def test_counts_that_fall_are_matched_only_where_something_is_true(monkeypatch):
    """A count that is only compared by >= makes nothing TRUE as it falls; one that is compared by = may."""
    find, matched = Snapshots.find_completed, list[int]()

    def counted(self, batch):
        matched.append(len(batch))
        return find(self, batch)

    def of_time(*texts: str, b: int) -> tuple[list[tuple[str, str, float]], int]:
        """What time changes after four events, and how many rows were matched for that."""
        monitor = monitor_of(*texts)
        monitor.push_batch([{"user": 1, "ts": ts, "b": b} for ts in range(4)])
        matched.clear()
        return brief(monitor.advance(100)), sum(matched)

    monkeypatch.setattr(Snapshots, "find_completed", counted)
    texts = [f"COUNT(TRUE, 'PT1M') >= {n} AND b = 1" for n in range(1, 5)]
    exits = [(f"s{n}", "exit", 63.000001 - n) for n in (3, 2, 1, 0)]

    assert of_time(*texts, b=0) == ([], 0)
    assert of_time(*texts, b=1) == (exits, 4)
    assert of_time("COUNT(TRUE, 'PT1M') = 2", b=0) == ([("s0", "enter", 61.000001), ("s0", "exit", 62.000001)], 2)


def test_a_memory_grows_and_gives_back():
    texts = ("COUNT(TRUE, 'PT1H') >= 50000", "SUM(x, TRUE, 'PT1H') > 1e9", "COUNT_DISTINCT(x, TRUE, 'PT1H') > 900")
    monitor = monitor_of(*texts)
    answer = monitor.push_batch([{"user": n % 700, "ts": n / 100, "x": n} for n in range(30_000)])
    assert len(answer) == 0
    assert monitor.sizes()["values"] == 2100

    monitor.advance(10_000)
    assert monitor.sizes()["values"] == 0


def test_a_value_that_grows_all_the_time_is_compared_with_numbers():
    """Inside of another function it may be computed with: there only events count."""
    monitor = monitor_of("SINCE(a = 1) > SINCE(b = 1)")
    with pytest.raises(InvalidInput, match=r"SINCE\([ab] = 1\) grows all the time"):
        monitor.push({"user": 1, "ts": 1})

    inside = monitor_of("COUNT(SINCE(a = 1) * 2 > b, 'PT1H') >= 1")
    assert [brief(inside.push({"user": 1, "ts": n, "a": 1, "b": 15})) for n in (0, 5, 13)] == [
        [],
        [],
        [("s0", "enter", 13.0)],
    ]


def test_an_interrupted_monitor_refuses_to_go_on(monkeypatch):
    monitor = monitor_of("COUNT(TRUE, 'PT1H') >= 1")
    monitor.push({"user": 1, "ts": 1})
    monkeypatch.setattr("tocsin.monitor.terms.matching.added", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        monitor.push({"user": 1, "ts": 2})
    monkeypatch.undo()

    with pytest.raises(TocsinError, match="interrupted"):
        monitor.push({"user": 1, "ts": 3})


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"key": 5}, "key is 5"),
        ({"key": ["a", "a"]}, "twice"),
        ({"time": ""}, "names an attribute"),
        ({"time_unit": "m"}, "time_unit"),
        ({"lateness": -1}, "lateness is -1"),
        ({"lateness": 5, "time": None}, "needs time"),
        ({"most_ahead": "soon"}, "most_ahead"),
        ({"most_objects": 0}, "most_objects"),
        ({"enter_after": 0}, "enter_after"),
        ({"matches": 1}, "matches"),
    ],
)
def test_options_that_are_refused(options, reason):
    with pytest.raises(InvalidInput, match=reason):
        monitor_of("a = 1", **options)
    with pytest.raises(InvalidInput, match=r"tocsin\.Engine"):
        tocsin.Monitor([], key="user")  # type: ignore[arg-type]


def test_a_new_subscription_is_told_when_time_reaches_its_number():
    """Also if that is sooner than the numbers that the same function was compared with before."""
    engine = tocsin.Engine()
    engine.subscribe("later", "SINCE(TRUE) >= 600")
    monitor = tocsin.Monitor(engine, key="user", time="ts")
    monitor.push({"user": 1, "ts": 0})
    engine.subscribe("sooner", "SINCE(TRUE) >= 300")

    assert brief(monitor.advance(1000)) == [("sooner", "enter", 300.0), ("later", "enter", 600.0)]


def test_a_new_subscription_counts_what_is_remembered():
    """Also if nobody was told of so low a count before."""
    engine = tocsin.Engine()
    engine.subscribe("five", "COUNT(x > 1, 'PT1H') >= 5")
    engine.subscribe("inner", "COUNT(COUNT(x > 1, 'PT1H') >= 5, 'PT1H') >= 5")
    monitor = tocsin.Monitor(engine, key="user", time="ts")
    for n in range(3):
        monitor.push({"user": 1, "ts": n, "x": 2})
    engine.subscribe("three", "COUNT(x > 1, 'PT1H') >= 3")
    engine.subscribe("within", "COUNT(COUNT(x > 1, 'PT1H') >= 2, 'PT1H') >= 1")

    changes = monitor.push({"user": 1, "ts": 10, "x": 0})
    assert brief(changes) == [("three", "enter", 10.0), ("within", "enter", 10.0)]


def test_a_span_may_be_longer_than_all_of_time():
    monitor = monitor_of("COUNT(TRUE, 'P9999999999D') >= 2")
    assert [brief(monitor.push({"user": 1, "ts": n})) for n in (0, 1e10)] == [[], [("s0", "enter", 1e10)]]


def test_a_subscription_that_is_refused_is_refused_again():
    """It is not forgotten after the first call."""
    engine = tocsin.Engine()
    engine.subscribe("odd", "SINCE(TRUE) * 2 > 5")
    monitor = tocsin.Monitor(engine, key="user", time="ts")
    for _ in range(2):
        with pytest.raises(InvalidInput, match="grows all the time"):
            monitor.push({"user": 1, "ts": 0, "x": 1})


def test_an_engine_that_is_reloaded_is_followed():
    """Its subscriptions and keys count from the next event on; what is remembered stays."""

    class Reloaded:
        def __init__(self) -> None:
            self.engine = tocsin.Engine()

        @property
        def view(self) -> object:
            return self.engine.view

        def payload(self, id: object) -> object:
            return self.engine.payload(id)  # type: ignore[arg-type]

    newest = Reloaded()
    newest.engine.subscribe("a", "COUNT(x > 1, 'PT1H') >= 5", by=["host"])
    newest.engine.subscribe("b", "COUNT(x > 1, 'PT1H') >= 5")
    monitor = tocsin.Monitor(newest, key="user", time="ts")  # type: ignore[arg-type]
    monitor.push({"user": "u", "host": "h", "ts": 0, "x": 2})
    newest.engine = tocsin.Engine()
    newest.engine.subscribe("other", "COUNT(x > 1, 'PT1H') >= 1", by=["place"])
    newest.engine.subscribe("c", "COUNT(x > 1, 'PT1H') >= 2")
    newest.engine.subscribe("d", "COUNT(x > 1, 'PT1H') >= 2", by=["host"])
    changes = monitor.push({"user": "u", "host": "h", "place": "p", "ts": 1, "x": 2})

    assert [(one.object, one.subscription) for one in changes] == [("u", "c"), ("h", "d"), ("p", "other")]
