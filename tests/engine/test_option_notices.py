"""Options that name what is not there are told of, with what was meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tocsin.cli.main import main

MOVES = [{"lon": 2.3, "lat": 48.8, "vehicle": "v1", "price": 5, "note": "x"}, {"lon": 2.4, "lat": 48.9}]


WHERE = "S_INTERSECTS(location, BBOX(0, 0, 9, 60))"


@pytest.mark.parametrize(
    ("where", "options", "told"),
    [
        (
            "price < 9",
            {"schema": {"Price": "number"}},
            ["schema={'Price': 'number'}: no subscription uses Price; did you mean price?"],
        ),
        ("price < 9", {"schema": {"price": "number", "note": "string", "rice": "number"}}, []),
        ("ANY(items, price < 9)", {"schema": {"items.price": "number", "items.prise": "number"}}, []),
        ("price < 9", {"event_key": "vehicel"}, ["event_key='vehicel': no event has vehicel; did you mean vehicle?"]),
        ("price < 9", {"event_key": "vehicle"}, []),
        ("price < 0", {"event_key": "vehicel"}, []),
        (WHERE, {"points": {"location": ("lon", "lat")}}, []),
        ("S_INTERSECTS(location, BBOX(48, 2, 49, 3))", {"points": {"location": ("lat", "lon")}}, []),
        (
            "S_INTERSECTS(location, BBOX(2, 48, 3, 49))",
            {"points": {"location": ("lat", "lon")}},
            ["points={'location': ('lat', 'lon')}: longitude comes first; write points={'location': ('lon', 'lat')}"],
        ),
        (
            WHERE,
            {"points": {"location": ("lon", "latt")}},
            ["points={'location': ('lon', 'latt')}: no event has latt; did you mean lat?"],
        ),
        (
            WHERE,
            {"points": {"locaton": ("lon", "lat")}},
            ["points={'locaton': ('lon', 'lat')}: no subscription uses locaton; did you mean location?"],
        ),
        (
            "price < 9 AND note = 'x'",
            {"ranking": tocsin.Relaxed(3, drop=["nota"])},
            ["drop=['nota']: no subscription uses nota; did you mean note?"],
        ),
        (
            "price < 9 AND note = 'x'",
            {"ranking": tocsin.Relaxed(3, drop=["zebra"])},
            ["drop=['zebra']: no subscription uses zebra"],
        ),
        ("price < 9 AND note = 'x'", {"ranking": tocsin.Relaxed(3, drop=["note"])}, []),
    ],
)
def test_options_that_name_what_is_not_there_are_told(where: str, options: dict[str, Any], told: list[str]) -> None:
    """By `match`, and by an engine; what a schema says beyond what is asked is no mistake."""
    engine = tocsin.Engine()
    engine.subscribe("s", where)

    for answer in (tocsin.match([{"id": "s", "where": where}], MOVES, **options), engine.match_batch(MOVES, **options)):
        own = [notice for notice in answer.warnings if notice.example is None]
        assert list(map(str, own)) == told
    if set(options) <= {"schema", "points"}:
        assert [str(notice) for notice in engine.warnings(MOVES, **options) if notice.example is None] == told


def test_the_command_line_tells_of_its_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_text(json.dumps({"id": "s", "where": "price < 9"}) + "\n")
    Path("e.jsonl").write_text("".join(json.dumps(event) + "\n" for event in MOVES))

    assert main(["match", "s.jsonl", "e.jsonl", "--event-key", "vehicel", "--out", "out.jsonl"]) == 0

    assert "warning: --event-key vehicel: no event has vehicel; did you mean vehicle?" in capsys.readouterr().err
