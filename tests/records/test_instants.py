"""One reader of instants: a text is the same moment in every form, and as a constant."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pytest

import tocsin

SPELLED = [
    f"2024-05-31{sign}08:15:00{fraction}{zone}"
    for sign, (fraction, zone) in itertools.product(
        "Tt ",
        [
            ("", "Z"), ("", ""), ("", "z"), ("", "+00:00"), ("", "+0000"), ("", "+00"), ("", "-00"),
            (".0", "Z"), (".000000", "+0000"), (".0000004", "z"), (".000000999", "+00"), (".000", ""),
        ],
    )
]  # fmt: skip
MOVED = ["2024-05-31T10:15:00+02", "2024-05-31 10:15:00+0200", "2024-05-31T03:15-0500", "2024-05-31 08:15"]
NONE = [
    "",
    "2024-05-31T",
    "2024-13-01T00:00:00Z",
    "2024-05-31T08:15:00+24",
    "2024-05-31T08:15:00Z ",
    "x",
    "2024-05-31\n",
]
WHERE = "ts = TIMESTAMP('2024-05-31T08:15:00Z')"


@pytest.mark.parametrize("schema", [None, {"ts": "instant"}])
def test_every_spelling_is_one_moment_in_every_form(tmp_path: Path, schema: dict[str, str] | None) -> None:
    """Dicts, JSON, Arrow and CSV, typed or not; later digits than six are left out."""
    texts = SPELLED + MOVED
    events = [{"ts": text} for text in texts]
    (tmp_path / "e.csv").write_text("ts\n" + "".join(f"{text}\n" for text in texts))
    lines = "".join(f'{{"ts": "{text}"}}\n' for text in texts).encode()

    for source in (events, lines, pa.table({"ts": texts}), tmp_path / "e.csv"):
        answer = tocsin.match([{"id": "at", "where": WHERE}], source, schema=schema)
        assert [row["event"] for row in answer.table.to_pylist()] == list(range(len(texts)))
        assert answer.errors == []


@pytest.mark.parametrize("text", SPELLED + MOVED)
def test_constants_are_spelled_as_events(text: str) -> None:
    """TIMESTAMP takes what events may have."""
    assert (
        len(tocsin.match([{"id": "at", "where": f"ts = TIMESTAMP('{text}')"}], [{"ts": "2024-05-31T08:15:00Z"}])) == 1
    )
