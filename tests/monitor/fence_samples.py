"""Zones, and vehicles that drive through them, for the tests of fences."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import tocsin

ZONES = {
    "left": "S_INTERSECTS(location, BBOX(0, 0, 4, 9))",
    "middle": "S_INTERSECTS(location, BBOX(3, 0, 6, 9))",
    "fast": "speed > 5",
    "all": "location IS NOT NULL",
}


def engine_of(zones: dict[str, str] | None = None) -> tocsin.Engine:
    engine = tocsin.Engine()
    for name, where in (zones or ZONES).items():
        engine.subscribe(name, where)
    return engine


def drive(*places: float, vehicle: Any = 1, **more: Any) -> list[dict[str, Any]]:
    return [{"vehicle": vehicle, "location": [x, 5], **more} for x in places]


def told(answer: tocsin.Answer) -> list[tuple[Any, ...]]:
    return [(row["event"], row["object"], row["subscription"], row["change"]) for row in answer]


events = st.lists(
    st.fixed_dictionaries(
        {"vehicle": st.integers(0, 2), "location": st.tuples(st.integers(-1, 7), st.just(5)).map(list)},
        optional={"speed": st.integers(4, 7), "t": st.integers(0, 50)},
    ),
    max_size=25,
)
