"""What a user sees while deals come."""

from __future__ import annotations

import io

from tests.demo.test_progress import Terminal
from tocsin.demo.board import Board


def test_a_pipe_gets_a_line_a_fifth() -> None:
    """Of each list its heading and what is first; nothing is painted over."""
    stream = io.StringIO()
    board = Board("[1/1] Replay", 10, stream=stream)
    for done in range(1, 11):
        board.show(done, f"{done} done", [["who", f"best of {done}", "second"]])
    board.close(2.0)

    lines = stream.getvalue().splitlines()
    assert lines[:4] == ["[1/1] Replay ...", "[1/1] Replay: 2 done", "    who", "    best of 2"]
    assert lines[-1] == "[1/1] Replay: done in 2.0 s"
    assert (len(lines), "\x1b" in stream.getvalue()) == (2 + 3 * 5, False)


def test_a_terminal_is_painted_in_place() -> None:
    """What is new in a list has a sign, and what was painted is gone at the end."""
    stream = Terminal()
    board = Board("Replay", 1, stream=stream)
    board.show(1, "1 done", [["who", "a"]])
    board.show(1, "1 done", [["who", "b", "a"]])
    board.close(2.0)

    first, second, last = stream.getvalue().split("\x1b[J")[1:]
    assert first == "Replay: 1 done\nwho\n  + a\n\x1b[3F"
    assert second == "Replay: 1 done\nwho\n  + b\n    a\n\x1b[4F"
    assert last == "Replay: done in 2.0 s\n"


def test_a_terminal_is_never_wrapped(monkeypatch) -> None:
    """Lines that would not fit are cut, and so is the end of a list, or the cursor would not find its way back."""
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("LINES", "4")
    stream = Terminal()
    Board("Replay", 1, stream=stream).show(1, "x" * 50, [["who", "a", "b", "c"]])

    painted = stream.getvalue().split("\x1b[J")[1].splitlines()
    assert [len(line) for line in painted] == [19, 3, 5]


def test_silence_on_demand() -> None:
    stream = io.StringIO()
    board = Board("Replay", 1, shown=False, stream=stream)
    board.show(1, "1 done", [])
    board.close(1.0)

    assert (stream.getvalue(), board.is_due(1), board.is_live) == ("", False, False)
