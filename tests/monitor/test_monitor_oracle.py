"""A monitor tells what the oracle tells, at every call: random conditions, streams, keys, options and cuts."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.monitor.over_time import both, came, expected, moment
from tests.monitor.over_time import given as as_event
from tests.naive.over_time_changes import Lasting
from tests.sizes import sized
from tests.strategies.over_time import LONGEST, attributes, conditions, instants
from tocsin.model.values import Instant

_END = LONGEST + 20
steps = st.sampled_from([1, 2, Lasting(3)])
options = st.fixed_dictionaries(
    {"enter_after": steps, "exit_after": steps, "dwell": st.sampled_from([None, 4]), "inside": st.booleans()}
)


@st.composite
def streams(draw: st.DrawFn, keys: str = "user") -> list[tuple[int, dict[str, Any] | None]]:
    """Events of some objects and advances (None), at instants in order or not."""
    times = draw(st.lists(instants, min_size=1, max_size=8))
    if draw(st.booleans()):
        times.sort()
    found: list[tuple[int, dict[str, Any] | None]] = []
    for at in times:
        is_event = draw(st.integers(0, 5)) > 0
        objects = {key: draw(st.sampled_from("uv")) for key in keys.split() if draw(st.integers(0, 7)) > 0}
        found.append((at, {**objects, **draw(attributes), "t": Instant(at)} if is_event and objects else None))
    return [*found, (_END, None)]


def require_equal(naive, monitor, stream) -> None:
    for at, record in stream:
        if record is None:
            assert came(monitor.advance(moment(at))) == expected(naive.advance(at))
        elif not any(key in record for keys in naive.keys for key in keys if all(one in record for one in keys)):
            continue
        else:
            assert came(monitor.push(as_event(record))) == expected(naive.push(record))


@settings(max_examples=sized(30, 1500), deadline=None)
@given(st.lists(conditions(), min_size=1, max_size=3), streams(), options)
def test_each_call_tells_what_the_oracle_tells(subscriptions, stream, options):
    require_equal(*both(subscriptions, **options), stream)


@settings(max_examples=sized(20, 800), deadline=None)
@given(st.lists(conditions(), min_size=1, max_size=2), streams(), st.sampled_from([0, 5]), st.sampled_from([10, 1000]))
def test_events_that_are_held_back(subscriptions, stream, lateness, far):
    """With a lateness all objects share a clock, and those far ahead of it have their own."""
    require_equal(*both(subscriptions, lateness=lateness, far=far), stream)


@settings(max_examples=sized(20, 800), deadline=None)
@given(
    st.lists(conditions(), min_size=2, max_size=3),
    st.lists(st.sampled_from([(), ("host",), ("host", "user")]), min_size=3, max_size=3),
    streams("user host"),
    st.sampled_from([None, None, 5]),
)
def test_subscriptions_with_keys_of_their_own(subscriptions, keys, stream, lateness):
    require_equal(*both(subscriptions, keys, lateness=lateness), stream)


@settings(max_examples=sized(20, 800), deadline=None)
@given(
    st.lists(conditions(), min_size=1, max_size=2),
    streams(),
    st.sampled_from([None, None, 5]),
    st.lists(st.integers(1, 4), min_size=1, max_size=8),
)
def test_a_batch_is_its_events_one_by_one(subscriptions, stream, lateness, cuts):
    naive, monitor = both(subscriptions, lateness=lateness)
    records = [record for _, record in stream if record is not None and "user" in record]
    wanted = expected([change for record in records for change in naive.push(record)])

    found, first = [], 0
    for cut in [*cuts, len(records)]:
        rows = list(monitor.push_batch(list(map(as_event, records[first : first + cut]))))
        found += [(row["time"], row["object"], row["subscription"], row["change"], row["seconds"]) for row in rows]
        first += cut
    assert found == [(moment(at), *rest) for at, *rest in wanted]
