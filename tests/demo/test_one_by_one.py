"""A query an alert counts what tocsin finds."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tocsin.demo import one_by_one
from tocsin.demo.alerts import FAMOUS, Alert

FLIGHTS = pa.table(
    {
        "carrier": ["HA", "UA", None, "UA"],
        "dest": ["HNL", "SFO", "LGA", "SFO"],
        "origin": ["JFK", "EWR", "EWR", "JFK"],
        "month": [12, 7, 1, 2],
        "day": [21, 6, 3, 8],
        "arr_delay": [1200.0, 130.0, None, 10.0],
        "dep_delay": [0.0, 120.0, None, -3.0],
        "dep_time": [900, 1230, None, None],
        "air_time": [600.0, 190.0, None, 300.0],
        "distance": [4983.0, 2565.0, 17.0, 2565.0],
        "tailnum": ["N1", None, "N2", "N3"],
        "dest_location": [[-157.9, 21.3], [-122.4, 37.6], [-73.9, 40.8], [-122.4, 37.6]],
        "weather": [{"wind_speed": 40.0, "visib": 0.1}, {"wind_speed": 3.0, "visib": 9.0}, None, None],
    }
)


@pytest.mark.parametrize("repeats", [1, 40])
def test_both_count_the_same(repeats: int) -> None:
    """Of every alert that is written by hand, also where there are so many that they lie under several attributes."""
    alerts = [Alert(id=f"{name}-{n}", where=where, score=1.0) for n in range(repeats) for name, where in FAMOUS]

    found = one_by_one.compare(FLIGHTS, alerts, sampled=len(alerts))

    assert (found.alerts, found.flights, found.sampled, found.differ) == (len(alerts), 4, len(alerts), 0)
    assert "the same counts" in found.text()


def test_a_difference_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_by_one, "condition", lambda where: "TRUE")
    found = one_by_one.compare(FLIGHTS, [Alert(id="a", where="carrier = 'HA'", score=1.0)])

    assert found.differ == 1
    assert "1 COUNTS DIFFER" in found.text()


def test_a_box_as_two_ranges() -> None:
    assert one_by_one.condition("S_INTERSECTS(dest_location, BBOX(-161, 18, -154.5, 23)) AND month = 12") == (
        "(dest_location[1] BETWEEN -161 AND -154.5 AND dest_location[2] BETWEEN 18 AND 23) AND month = 12"
    )
