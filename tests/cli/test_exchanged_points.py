"""Points whose coordinates were given in the wrong order are warned of where nothing else can be meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import lines, run

REGIONS = [
    "S_INTERSECTS(pos, BBOX(10, 47, 12, 49)) AND n = 1",
    "S_WITHIN(pos, POLYGON((13 52, 14 52, 14 53, 13 52)))",
    "DISTANCE_M(pos, POINT(2.3 48.8)) <= 5000",
    "n = 3",
]
MUNICH = [{"a": 48 + step / 100, "b": 11 + step / 100} for step in range(20)]
PARIS = [{"a": 48.8, "b": 2.3}]
ELSEWHERE = [{"a": 1, "b": 2}]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "subs.jsonl", [{"id": number, "where": where} for number, where in enumerate(REGIONS)])
    return "subs.jsonl"


def told(capfd: Any, source: str, events: list[dict[str, Any]], points: str) -> list[str]:
    """The warnings about exchanged coordinates, which check and a match of nothing print alike."""
    lines(Path("e.jsonl"), events)
    _, out, _ = run(capfd, "check", source, "--sample", "e.jsonl", "--points", points)
    status, matches, err = run(capfd, "match", source, "e.jsonl", "--points", points)
    checked, matched = ([line for line in text.splitlines() if "longitude comes first" in line] for text in (out, err))
    assert status == 0 and (matched == checked or matches)
    return checked


@pytest.mark.parametrize("source", ["subs.jsonl", "index"])
def test_points_that_fit_only_when_exchanged(asked: str, source: str, capfd: Any) -> None:
    """Most of them, and none as it is; boxes, polygons and circles count."""
    run(capfd, "compile", asked, "index")
    start = "warning: --points pos=a:b: none of the"
    end = "would with x and y exchanged; longitude comes first: --points pos=b:a"

    many = told(capfd, source, [*MUNICH, *PARIS, *ELSEWHERE], "pos=a:b")
    one = told(capfd, source, PARIS, "pos=a:b")

    assert many == [f"{start} first 22 points satisfies a condition about pos, but 21 {end}"]
    assert one == [f"{start} points satisfies a condition about pos, but 1 {end}"]


@pytest.mark.parametrize(
    ("events", "points"),
    [
        ([*MUNICH, *PARIS], "pos=b:a"),
        ([*MUNICH, {"a": 11, "b": 48}], "pos=a:b"),
        ([*PARIS, *ELSEWHERE], "pos=a:b"),
        ([{"a": 48.8, "b": "x"}], "pos=a:b"),
        ([{**PARIS[0], "pos": [2.3, 48.8]}], "pos=a:b"),
        (PARIS, "other=a:b"),
    ],
)
def test_nothing_is_said_of_other_points(asked: str, events: list[dict[str, Any]], points: str, capfd: Any) -> None:
    """If one fits as it is, if few would fit exchanged, if there is none, or if an event has its own."""
    assert told(capfd, asked, events, points) == []


def test_names_say_it_once(asked: str, capfd: Any) -> None:
    """Unless some point fits as it is: subscriptions may have latitude as x, too."""
    events = [{"lat": one["a"], "start_lng": one["b"]} for one in MUNICH]

    assert told(capfd, asked, events, "pos=lat:start_lng") == [
        "warning: --points pos=lat:start_lng: longitude comes first; write --points pos=start_lng:lat"
    ]
    lines(Path(asked), [{"id": "a", "where": "S_INTERSECTS(pos, BBOX(47, 10, 49, 12))"}])
    assert told(capfd, asked, events, "pos=lat:start_lng") == []
