"""The progress bar waits a second, moves, and shows nothing where there is no terminal."""

from __future__ import annotations

import io
import itertools

import pytest

from tocsin import progress


class Terminal(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock is 0.4 seconds after the one before."""
    ticks = itertools.count(0.0, 0.4)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(ticks))


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, updates: int) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    with progress.ShareBar("reading") as bar:
        for number in range(updates):
            bar.update(number / 10, f"{number} events")
    return stream.getvalue()


@pytest.mark.usefixtures("clock")
def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the first second no byte is written."""
    assert shown(monkeypatch, Terminal(), 2) == ""


@pytest.mark.usefixtures("clock")
def test_long_work_shows_its_share_and_cleans_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar has a name, the share and the note, and is wiped at the end."""
    text = shown(monkeypatch, Terminal(), 9)

    assert "reading:  80%" in text
    assert "8 events" in text
    assert text.rstrip("\r").rsplit("\r", 1)[-1].strip() == ""


@pytest.mark.usefixtures("clock")
def test_a_pipe_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No control characters reach what is no terminal."""
    assert shown(monkeypatch, io.StringIO(), 9) == ""
