"""The pictures of the demo: real PNG files with something on them, whatever the data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tocsin.demo import pictures
from tocsin.demo.summary import Hour, Link

image = pytest.importorskip("matplotlib.image")

LINKS = [
    Link("JFK", "LAX", "Los Angeles", -118.41, 33.94, 900, 5000),
    Link("EWR", "LAX", "Los Angeles", -118.41, 33.94, 300, 900),
    Link("LGA", "BOS", "Boston", -71.01, 42.36, 400, 0),
    Link("EWR", "ANC", "Anchorage", -150.0, 61.17, 8, 20),
    Link("JFK", "HNL", "Honolulu", -157.92, 21.32, 350, 90),
]
FIELDS = [
    (-100.0, 40.0, "Nebraska"),
    (-150.0, 61.0, "Alaska"),
    (173.0, 52.8, "Alaska"),
    (-157.9, 21.3, "Hawaii"),
]
HOURS = [
    Hour(1 + day // 28, 1 + day % 28, hour, 40, day * hour, day % 5, 20.0, 0.1)
    for day in range(300)
    for hour in (6, 12, 20)
]


def colours(path: Path) -> int:
    """How many different colours a picture has."""
    pixels = image.imread(path)
    assert pixels.shape[0] > 800 and pixels.shape[1] > 1500
    return len(np.unique((pixels[::3, ::3, :3] * 255).astype(np.uint8).reshape(-1, 3), axis=0))


def test_the_map_shows_something(tmp_path: Path) -> None:
    """The map is a large PNG of many colours."""
    pictures.draw_map(LINKS, FIELDS, tmp_path / "map.png")

    assert colours(tmp_path / "map.png") > 200


def test_the_year_shows_something(tmp_path: Path) -> None:
    """The year is a large PNG of many colours, also where an hour has no weather."""
    calm = [hour._replace(gust_mph=None, precipitation_in=None) for hour in HOURS]
    for name, hours in (("year", HOURS), ("calm", calm)):
        pictures.draw_year(hours, tmp_path / f"{name}.png")

        assert colours(tmp_path / f"{name}.png") > 200


def test_the_window_shows_something(tmp_path: Path) -> None:
    """The window is a large PNG of many colours, also where nobody is watched and no deal came."""
    land = pictures.as_points([(x, y) for x, y, state in FIELDS if state == "Nebraska"])
    places = np.random.default_rng(1).uniform((-120, 30), (-80, 45), (500, 2))
    stars = [
        pictures.Star("Paper\nnear Houston", (-95.4, 29.8), [(-80, 40), (-90, 35)]),
        pictures.Star("", (-90, 40), []),
    ]
    pictures.draw_window(places, places[:50], stars, land, tmp_path / "window.png")
    pictures.draw_window(places, places[:0], [], land, tmp_path / "empty.png")

    assert colours(tmp_path / "window.png") > 200
    assert colours(tmp_path / "empty.png") > 20


def test_nothing_at_all_is_a_picture_too(tmp_path: Path) -> None:
    """A run that matches nothing still ends with two pictures."""
    pictures.draw_map([link._replace(alerts=0) for link in LINKS], FIELDS, tmp_path / "map.png")
    pictures.draw_year([hour._replace(alerts=0) for hour in HOURS], tmp_path / "year.png")

    assert colours(tmp_path / "map.png") > 20
    assert colours(tmp_path / "year.png") > 20


def test_distances_on_the_map_are_kilometres() -> None:
    """The projection keeps areas and, near its parallels, distances: some 3,970 km to Los Angeles."""
    new_york, los_angeles = pictures._project(np.array([[-73.78, 40.64], [-118.41, 33.94]]))

    assert np.hypot(*(new_york - los_angeles)) == pytest.approx(3970, rel=0.02)


def test_noted_days_keep_apart() -> None:
    """The worst day is noted first, its neighbours are not, and a day without alerts never is."""
    alerts = np.zeros(365)
    alerts[[100, 101, 200, 300]] = [50, 49, 10, 20]

    assert pictures._peaks(alerts, count=8, apart=24) == [100, 300, 200]
