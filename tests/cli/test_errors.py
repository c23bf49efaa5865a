"""The file of errors, and how the same is said on standard error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tocsin.cli.main import main


@pytest.mark.parametrize("command", [["check", "areas.geojson"], ["match", "areas.geojson", "areas.geojson"]])
def test_areas_in_place_of_subscriptions_are_said_once(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """And not once for each area."""
    monkeypatch.chdir(tmp_path)
    area = {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [1, 2]}}
    Path("areas.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [area] * 50}))

    status = main(command)

    out, err = capfd.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith(f"tocsin {command[0]}: areas.geojson is GeoJSON with areas, not subscriptions")
    assert err.count("\n") == 1


def test_a_file_of_errors_says_which_events_were_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """And has their keys as ids, which standard error shows, too."""
    monkeypatch.chdir(tmp_path)
    Path("events.jsonl").write_text('{"k": "x", "n": 1e400}\n{"k": 7, "m": {"k": 1}, "m.k": 2}\n{"k"\n')
    Path("subs.jsonl").write_text('{"id": "m", "where": "m.k = 1 OR n = 1"}\n{"id": "n", "where": "m ="}\n')
    arguments = ["match", "subs.jsonl", "events.jsonl", "--event-key", "k"]

    main([*arguments, "--errors", "errors.jsonl"])
    capfd.readouterr()
    main(arguments)
    err = capfd.readouterr().err

    logged = [json.loads(line) for line in Path("errors.jsonl").read_text().splitlines()]
    assert [(one["record"], one["id"], one["served"]) for one in logged] == [
        ("subscription", "n", False),
        ("event", "x", True),
        ("event", 7, False),
        ("event", None, False),
    ]
    assert list(logged[0]) == ["record", "row", "id", "field", "reason", "served"]
    assert "warning: event 0 (x): n: infinity" in err and "\nevent 1 (7): m.k: " in err
