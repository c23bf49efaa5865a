"""The oracle of conditions over time tells changes at exact instants, whatever the order and the cuts of a stream."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive.monitor import Change, NaiveMonitor, Subscription
from tests.naive.over_time import SECOND, Condition, Term
from tests.naive.over_time_changes import Lasting, Options
from tests.sizes import sized
from tests.strategies.over_time import LONGEST, attributes, condition, conditions, instants
from tocsin.model.values import Instant

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
FAILED = condition("type = 'login' AND ok = FALSE")
FAILURES = Term("COUNT", condition=FAILED, span=10 * MINUTE)


def monitor_of(where: Condition, **more: object) -> NaiveMonitor:
    return NaiveMonitor([Subscription("s", where)], ("user",), "t", **more)  # type: ignore[arg-type]


def event(at: int, **more: object) -> dict[str, object]:
    return {"user": "u", "t": Instant(at), **more}


def brief(changes: Sequence[Change]) -> list[tuple[int, str]]:
    return [(change.at, change.change) for change in changes]


def told(monitor: NaiveMonitor, events: Sequence[dict[str, object]], until: int) -> list[tuple[int, str]]:
    """All changes of some events and of the time up to an instant."""
    return brief([change for one in events for change in monitor.push(one)] + monitor.advance(until))


def test_five_failed_logins_in_ten_minutes():
    """The fifth makes it TRUE. The first leaves one microsecond after its tenth minute, and then it is FALSE."""
    monitor = monitor_of(condition("fails >= 5", fails=FAILURES))
    logins = [event(n * MINUTE, type="login", ok=ok) for n, ok in enumerate([False, False, True, False, False, False])]

    assert [monitor.push(login) for login in logins[:5]] == [[]] * 5
    assert monitor.push(logins[5]) == [Change(5 * MINUTE, 5, ("u",), "s", "enter", 0.0)]
    assert monitor.advance(10 * MINUTE) == []
    assert monitor.advance(HOUR) == [Change(10 * MINUTE + 1, None, ("u",), "s", "exit", 300.000001)]


def test_guessed_after_failures():
    """A login after five failures: until they leave by time, or until another event."""
    guessed = condition("type = 'login' AND ok = TRUE AND fails >= 5", fails=FAILURES)
    logins = [event(n * MINUTE, type="login", ok=n == 5) for n in range(6)]

    assert told(monitor_of(guessed), logins, HOUR) == [(5 * MINUTE, "enter"), (10 * MINUTE + 1, "exit")]
    assert told(monitor_of(guessed), [*logins, event(6 * MINUTE, type="logout")], HOUR) == [
        (5 * MINUTE, "enter"),
        (6 * MINUTE, "exit"),
    ]


def test_silence():
    """TRUE exactly ten minutes after a heartbeat. The next one ends it, one microsecond after itself."""
    beats = condition("since >= DURATION('PT10M')", since=Term("SINCE", condition=condition("type = 'beat'")))
    monitor = monitor_of(beats)
    monitor.push(event(0, type="beat"))

    assert monitor.advance(10 * MINUTE - 1) == []
    assert brief(monitor.advance(10 * MINUTE)) == [(10 * MINUTE, "enter")]
    assert monitor.push(event(12 * MINUTE, type="other")) == []
    assert monitor.push(event(13 * MINUTE, type="beat")) == []
    assert brief(monitor.push(event(14 * MINUTE, type="beat"))) == [(13 * MINUTE + 1, "exit")]
    assert brief(monitor.advance(HOUR)) == [(24 * MINUTE, "enter")]


def test_who_was_never_heard_is_not_silent():
    """SINCE is absent before the first heartbeat, so silence is UNKNOWN."""
    beats = condition("since >= 600", since=Term("SINCE", condition=condition("type = 'beat'")))

    assert told(monitor_of(beats), [event(0, type="other")], HOUR) == []


def test_rising():
    """More than five degrees above the value before; an event without one is passed over, and time changes nothing."""
    rising = condition("x - before > 5", before=Term("PREVIOUS", "x"))
    degrees = [20, 26, None, 27, 33]
    events = [event(n * MINUTE, x=x) for n, x in enumerate(degrees)]

    assert told(monitor_of(rising), events, HOUR) == [(MINUTE, "enter"), (3 * MINUTE, "exit"), (4 * MINUTE, "enter")]


def test_spender():
    """A sum over a day, of payments only."""
    day = Term("SUM", "amount", condition("type = 'payment'"), 24 * HOUR)
    events = [
        event(0, type="payment", amount=6000),
        event(HOUR, type="refund", amount=9000),
        event(2 * HOUR, type="payment"),
        event(12 * HOUR, type="payment", amount=5000),
    ]

    assert told(monitor_of(condition("spent > 10000", spent=day)), events, 48 * HOUR) == [
        (12 * HOUR, "enter"),
        (24 * HOUR + 1, "exit"),
    ]


@pytest.mark.parametrize(
    ("login", "expected"), [(600, [(1200 * SECOND, "enter"), (1200 * SECOND + 1, "exit")]), (601, [])]
)
def test_chain(login, expected):
    """An upload within ten minutes of a login within ten minutes of a reset."""
    reset = Term("SINCE", condition=condition("type = 'reset'"))
    after_reset = Term("SINCE", condition=condition("type = 'login' AND reset <= 600", reset=reset))
    chain = condition("type = 'upload' AND login <= 600", login=after_reset)
    events = [(0, "reset"), (login, "login"), (1200, "upload")]

    assert told(monitor_of(chain), [event(at * SECOND, type=kind) for at, kind in events], HOUR) == expected


def test_keys_of_one_and_of_several_attributes():
    """Each subscription counts by its own key; who lacks it does not exist for it."""
    several = condition("n >= 2", n=Term("COUNT", span=MINUTE))
    subscriptions = [Subscription("pair", several), Subscription("user", several, by=("user",))]
    monitor = NaiveMonitor(subscriptions, ("host", "user"), "t")
    events = [
        event(0, host="a"),
        event(1, host="b"),
        event(2, host="b"),
        event(3),
        event(4, host=True),
        {"t": Instant(5)},
    ]

    changes = [change for one in events for change in monitor.push(one)]

    assert changes == [Change(1, 1, ("u",), "user", "enter", 0.0), Change(2, 2, ("b", "u"), "pair", "enter", 0.0)]
    assert (monitor.without_key, monitor.without_time) == (1, 0)
    assert monitor.matches("user") == [1, 2, 3, 4]


def test_five_is_not_its_text():
    """A number and a text are two objects; 1 and 1.0 are one."""
    monitor = monitor_of(condition("n >= 2", n=Term("COUNT", span=9)))
    events = [{"user": user, "t": Instant(0)} for user in (1, "1", 1.0)]

    assert [change.object for one in events for change in monitor.push(one)] == [(1.0,)]


def test_equal_instants_are_in_the_order_of_arrival():
    """The second of an instant follows the first, and is not late."""
    first = condition("type = 'b' AND p = 'a'", p=Term("PREVIOUS", "type"))
    there, back = [event(5, type="a"), event(5, type="b")], [event(5, type="b"), event(5, type="a")]

    assert told(monitor_of(first), there, 9) == [(5, "enter")]
    assert told(monitor_of(first), back, 9) == []


def test_events_wait_for_the_lateness():
    """Events are processed in the order of their instants once nothing before them can come; older ones are late."""
    rising = monitor_of(condition("x > p", p=Term("PREVIOUS", "x")), lateness=10)

    assert rising.push(event(20, x=3)) == []
    assert rising.push(event(10, x=1)) == []
    assert rising.push(event(9, x=9)) == []
    assert rising.late == 1
    assert rising.push(event(15, x=2)) == []
    assert brief(rising.push(event(25, x=0))) == [(15, "enter")]
    assert brief(rising.advance(35)) == [(25, "exit")]
    assert rising.matches("s") == [0, 3]


def test_without_a_lateness_each_object_has_its_own_time():
    """An event older than the latest of its object is late; those of other objects do not matter."""
    monitor = monitor_of(condition("x > 0"))

    assert len(monitor.push(event(20, x=1))) == 1
    assert monitor.push(event(19, x=0)) == []
    assert brief(monitor.push({**event(3, x=1), "user": "v"})) == [(3, "enter")]
    assert brief(monitor.push(event(20, x=0))) == [(20, "exit")]
    assert monitor.late == 1


def test_advance_makes_older_events_late():
    """What was told of an instant stands. An event exactly at the instant may still come."""
    monitor = monitor_of(condition("n >= 1", n=Term("COUNT", span=10)))
    monitor.push(event(0))

    assert brief(monitor.advance(11)) == [(11, "exit")]
    assert monitor.advance(5) == []
    assert monitor.push(event(10)) == []
    assert brief(monitor.push(event(11))) == [(11, "enter")]
    assert monitor.late == 1


def test_a_wrong_clock_moves_its_own_object_only():
    """An instant far ahead of all others does not make the events of other objects late, and is counted."""
    monitor = monitor_of(condition("x > 0"), lateness=10, far=100)
    monitor.push(event(20, x=1))

    assert brief(monitor.push({**event(9999, x=1), "user": "v"})) == []
    assert brief(monitor.push(event(40, x=0))) == [(20, "enter")]
    assert monitor.push({**event(30, x=1), "user": "v"}) == []
    assert (monitor.far_ahead, monitor.late) == (1, 1)


def test_without_a_time_the_time_of_arrival_counts():
    """Windows slide by the clock of who receives."""
    monitor = NaiveMonitor([Subscription("s", condition("n >= 2", n=Term("COUNT", span=10)))], ("user",))

    assert monitor.push({"user": "u"}, arrived=100) == []
    assert brief(monitor.push({"user": "u"}, arrived=110)) == [(110, "enter")]
    assert brief(monitor.advance(111)) == [(111, "exit")]


def test_changes_are_in_the_order_of_their_instants():
    """Of all objects and subscriptions; at one instant time comes first, and exits come first."""
    gone = condition("since >= 0.00001", since=Term("SINCE"))
    few = condition("n < 1", n=Term("COUNT", span=10))
    here = condition("n >= 1", n=Term("COUNT", span=10))
    monitor = NaiveMonitor([Subscription("b", few), Subscription("a", gone), Subscription("c", here)], ("user",), "t")
    for user, at in (("v", 1), ("u", 0)):
        monitor.push({"user": user, "t": Instant(at)})

    changes = monitor.advance(99)

    assert [(c.at, c.object[0], c.subscription, c.change) for c in changes] == [
        (10, "u", "a", "enter"),
        (11, "u", "c", "exit"),
        (11, "v", "a", "enter"),
        (11, "u", "b", "enter"),
        (12, "v", "c", "exit"),
        (12, "v", "b", "enter"),
    ]


RUNS = st.integers(1, 3) | st.builds(Lasting, st.integers(0, 12))
OPTIONS = st.builds(Options, RUNS, RUNS, st.none() | st.integers(0, 20), st.booleans())
ARRIVALS = st.lists(st.tuples(st.sampled_from("uv"), instants, attributes), max_size=14)
END = 3 * LONGEST


def records_of(stream: Sequence[tuple[str, int, dict[str, object]]]) -> list[dict[str, object]]:
    return [{"user": of, "t": Instant(at), **more} for of, at, more in stream]


def in_time(stream: Sequence[tuple[str, int, dict[str, object]]]) -> list[tuple[str, int, dict[str, object]]]:
    return sorted(stream, key=lambda arrival: arrival[1])


def whole(monitor: NaiveMonitor, records: Sequence[dict[str, object]]) -> list[tuple[object, ...]]:
    changes = [change for record in records for change in monitor.push(record)] + monitor.advance(END)
    return sorted((c.at, c.object, c.subscription, c.change, c.seconds) for c in changes)


@settings(max_examples=sized(20, 300))
@given(conditions(), ARRIVALS.map(in_time), OPTIONS, st.data())
def test_advancing_in_between_changes_nothing(where, stream, options, data):
    """Time may be advanced between any two events, to any instants up to the later one."""
    records = records_of(stream)
    cut = monitor_of(where, options=options)
    changes: list[Change] = []
    for record in records:
        for _ in range(data.draw(st.integers(0, 2))):
            changes += cut.advance(data.draw(st.integers(0, record["t"].microseconds)))
        changes += cut.push(record)
    changes += cut.advance(data.draw(st.integers(0, END))) + cut.advance(END)

    assert cut.late == 0
    assert sorted((c.at, c.object, c.subscription, c.change, c.seconds) for c in changes) == whole(
        monitor_of(where, options=options), records
    )


@settings(max_examples=sized(20, 300))
@given(conditions(), ARRIVALS, OPTIONS, st.integers(0, 15), st.randoms(use_true_random=False))
def test_the_order_of_arrival_within_the_lateness_does_not_matter(where, stream, options, lateness, random):
    """Events that come no later than the lateness are processed as if they had come in order."""
    first = list({arrival[:2]: arrival for arrival in stream}.values())  # of equal instants the order matters
    shuffled = sorted(first, key=lambda arrival: arrival[1] + random.uniform(0, lateness))
    monitor = monitor_of(where, options=options, lateness=lateness)

    changes = whole(monitor, records_of(shuffled))

    assert monitor.late == 0
    assert changes == whole(monitor_of(where, options=options), records_of(in_time(first)))


@settings(max_examples=sized(20, 300))
@given(conditions(), ARRIVALS, OPTIONS, st.integers(0, 15))
def test_late_events_change_nothing(where, stream, options, lateness):
    """An event older than the lateness is counted, and otherwise as if it had not come."""
    clock, on_time = -1, []
    for arrival in stream:
        if arrival[1] >= clock - lateness:
            on_time.append(arrival)
            clock = max(clock, arrival[1])
    monitor = monitor_of(where, options=options, lateness=lateness)

    changes = whole(monitor, records_of(stream))

    assert monitor.late == len(stream) - len(on_time)
    assert changes == whole(monitor_of(where, options=options, lateness=lateness), records_of(on_time))
