"""`Fences.push` of single events changes what `push_batch` of all of them changes, and tells of unreadable values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin

_FAR = 10**400
_PLACES = st.sampled_from([[1, 1], [5, 5], [9, 9], [20, 5], [181, 91], [5, -5], "nowhere", None, [_FAR, 1]])
_KEYS = st.sampled_from([1, 2, "a", 1.5, None, float("nan"), _FAR])
_TIMES = st.sampled_from([1, 2, 3.5, "2026-01-01T00:00:00Z", "soon", None, _FAR])
_EVENTS = st.lists(
    st.fixed_dictionaries(
        {}, optional={"at": _PLACES, "car": _KEYS, "now": _TIMES, "speed": st.sampled_from([10, 200, _FAR, "fast"])}
    ),
    max_size=16,  # the types of up to 8 events are told one by one
)


def _engine() -> tocsin.Engine:
    engine = tocsin.Engine()
    engine.subscribe("centre", "S_INTERSECTS(at, BBOX(4, 4, 6, 6))")
    engine.subscribe("city", "S_INTERSECTS(at, BBOX(0, 0, 10, 10))")
    engine.subscribe_many([{"id": "speeding", "where": "speed > 120"}, {"id": "odd", "where": "speed + 1 > 0"}])
    return engine


@given(_EVENTS, st.booleans(), st.booleans())
def test_events_pushed_one_by_one_change_what_a_batch_changes(events: list, has_time: bool, has_path: bool) -> None:
    options = {"time": "now" if has_time else None, "path": "at" if has_path else None, "inside": True}
    alone, together = (tocsin.Fences(_engine(), key="car", **options) for _ in range(2))
    told, refused = [], []
    for row, event in enumerate(events):
        try:
            told += [(row, *change) for change in alone.push(event)]
        except tocsin.RecordError:
            refused.append(row)
    answer = together.push_batch(events)
    columns = ("event", "object", "subscription", "change", "seconds")
    wanted = [tuple(change[name] for name in columns) for change in answer.table.to_pylist()]
    assert _as_written(told) == _as_written(wanted)
    assert dict(alone.objects()) == dict(together.objects())
    assert set(refused) <= {reject.row for reject in answer.event_errors}


def _as_written(changes: list[tuple]) -> list[tuple]:
    """In a table, keys of several types are texts, and integers beside other numbers are float64."""
    return [(row, f"{key:g}" if isinstance(key, float) else str(key), *rest) for row, key, *rest in changes]


def test_an_unreadable_value_is_told_and_the_rest_of_the_event_counts() -> None:
    fences = tocsin.Fences(_engine(), key="car")
    changes = fences.push({"car": 7, "at": [1, 1], "speed": _FAR})
    assert [change.subscription for change in changes] == ["city"]
    assert [(error.field, error.row) for error in changes.errors] == [("speed", 0)]
    assert fences.push({"car": 7, "at": [1, 1], "speed": 10}).errors == []


def test_a_refused_event_changes_nothing() -> None:
    fences = tocsin.Fences(_engine(), key="car")
    with pytest.raises(tocsin.RecordError, match="no value of 'car'"):
        fences.push({"at": [1, 1]})
    assert len(fences) == 0


def test_what_is_known_of_subscriptions_is_forgotten_when_they_change() -> None:
    engine = tocsin.Engine()
    engine.subscribe("fence", "speed > 120")
    fences = tocsin.Fences(engine, key="car")
    fences.push({"car": 7, "speed": 200})
    assert fences.push({"car": 7}) == []  # UNKNOWN: it tells nothing about the speed
    engine.subscribe("fence", "speed > 120 AND at IS NOT NULL", replace=True)
    assert [change.change for change in fences.push({"car": 7})] == ["exit"]  # FALSE: there is no place


def test_an_endless_time_is_no_time() -> None:
    fences = tocsin.Fences(_engine(), key="car", time="now")
    answer = fences.push_batch([{"car": 7, "speed": 200, "now": _FAR}, {"car": 8, "speed": 200, "now": 1}])
    assert {change["object"] for change in answer.table.to_pylist()} == {7, 8}
    assert any("unreadable times" in warning.reason for warning in answer.warnings)
