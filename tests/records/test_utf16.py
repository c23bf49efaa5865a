"""UTF-16 is known by its first bytes, with and without a mark, and the error says how to convert it."""

from __future__ import annotations

from pathlib import Path

import pytest

import tocsin


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    ("name", "text"), [("e.jsonl", '{"a": 1}\n'), ("e.json", '[{"a": 1}]'), ("e.csv", "a,b\n1,2\n")]
)
def test_utf16_is_named(encoding: str, name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    asked = {"id": 1, "where": "a = 1"}
    for source in (path, text.encode(encoding)):
        with pytest.raises(tocsin.InvalidInput, match="is UTF-16; convert it with iconv -f UTF-16 -t UTF-8"):
            tocsin.match(asked, source)
    path.write_text(text)
    assert tocsin.match(asked, path).table.num_rows == 1
