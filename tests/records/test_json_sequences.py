"""Sequences of RFC 8142 are read like JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tocsin

RECORDS = [{"n": 1}, {"n": 2, "text": "a\u001eb"}, {"n": 3, "geometry": {"type": "Point", "coordinates": [1, 1]}}]
ASKED = [{"id": "n", "where": "n >= 2"}, {"id": "g", "where": "S_INTERSECTS(geometry, BBOX(0, 0, 2, 2))"}]


@pytest.mark.parametrize("ending", ["jsonl", "geojson", "geojsonl", "geojsons", "geojsonseq"])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_sequence_is_read_like_lines(tmp_path: Path, ending: str, indent: int | None, mark: str) -> None:
    """A record may take several lines; a damaged one costs itself alone."""
    parts = [json.dumps(record, indent=indent) for record in RECORDS]
    parts.insert(1, '{"n": ')
    path = tmp_path / f"e.{ending}"
    path.write_text(mark + "".join(f"\x1e{part}\n" for part in parts))

    for source in (path, path.read_bytes()):
        answer = tocsin.match(ASKED, source)
        found = [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]
        assert found == [(2, "n"), (3, "g"), (3, "n")]
        assert [reject.row for reject in answer.errors] == [1]
