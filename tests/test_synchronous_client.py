"""The client that blocks is made from the one that awaits."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import synchronous_client as script

import tocsin


def test_the_client_that_blocks_is_what_its_sources_make() -> None:
    """Whoever changes one of the two clients alone is told."""
    assert script.stale() == [], "run: make client"


def test_files_that_are_old_missing_or_left_over_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`write` makes the folder anew, and `--check` names each file that differs."""
    monkeypatch.setattr(script, "MADE", tmp_path / "synchronous")
    script.write()
    assert script.stale() == []
    (tmp_path / "synchronous" / "client.py").write_text("")
    (tmp_path / "synchronous" / "hosting.py").unlink()
    (tmp_path / "synchronous" / "former.py").write_text("")
    monkeypatch.setattr("sys.argv", ["synchronous_client.py", "--check"])

    assert script.main() == 1
    assert "client.py, former.py, hosting.py;" in capsys.readouterr().out
    script.write()
    assert script.stale() == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("async def get(self) -> AsyncIterator[AsyncClient]: ...", "def get(self) -> Iterator[Client]: ..."),
        ("return await anext(aiter(self._items()))", "return next(iter(self._items()))"),
        ("async with http.stream() as answer:", "with http.stream() as answer:"),
        ("    async for part in answer.aiter_bytes():", "    for part in answer.iter_bytes():"),
        ("await async_sleep(1)", "sleep(1)"),
        ("async def __aenter__(self)", "def __enter__(self)"),
        ('"""For programs that await."""', '"""For programs that block."""'),
        ("from asynchronous.sender import AsyncSender", "from synchronous.sender import Sender"),
        ("awaiting, asynchrony and contained", "awaiting, asynchrony and contained"),
    ],
)  # fmt: skip
def test_words_are_replaced_and_parts_of_words_stay(text: str, expected: str) -> None:
    """In code as in docstrings."""
    assert script.synchronous(text) == expected


def test_what_cannot_be_awaited_is_a_call() -> None:
    """`in` of the client that blocks is `contains` of the other; all other names are the same."""
    blocking, awaiting = (set(dir(client)) for client in (tocsin.Client, tocsin.AsyncClient))

    assert blocking - awaiting == {"__contains__", "__enter__", "__exit__"}
    assert awaiting - blocking == {"contains", "__aenter__", "__aexit__"}
