"""The README's block for Spark runs on what the blocks before it made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[2] / "README.md"


def test_the_block_for_spark(tmp_path: Path) -> None:
    """Each event comes back with its matches. Java keeps the folder that it began in, so paths are whole here."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    (block,) = (one for one in blocks if "import spark" in one)
    names: dict[str, Any] = {}

    (tmp_path / "events.jsonl").write_text('{"location": [-73.9, 40.7], "price": 80}\n', "utf-8")

    exec(blocks[0], names)
    exec(re.sub(r'"(index/|events\.jsonl)"', lambda name: repr(str(tmp_path / name[1])), block), names)
    (row,) = names["matched"].collect()

    assert [match.subscription for match in row.matches] == ["bob"]
