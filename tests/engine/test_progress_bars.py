"""`progress=True` shows a bar, also where standard error is not a terminal, and everything else is a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tocsin
from tocsin import progress

RECORDS = [{"id": f"s{n}", "where": f"n >= {n}"} for n in range(20_000)]
EVENTS = [{"n": n % 3} for n in range(40_000)]


def engine() -> tocsin.Engine:
    made = tocsin.Engine()
    made.subscribe("s", "n = 1")
    return made


CALLS: dict[str, Callable[[Any], object]] = {
    "subscribing": lambda progress: tocsin.Engine().subscribe_many(RECORDS, progress=progress),
    "matching": lambda progress: engine().match_batch(EVENTS, progress=progress),
    "reading subscriptions": lambda progress: tocsin.match(RECORDS, EVENTS[:9], progress=progress),
}


@pytest.mark.parametrize("what", CALLS)
def test_true_shows_a_bar_that_goes_away(what: str, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_DELAY_S", 0.0)
    monkeypatch.setattr(progress, "_INTERVAL_S", 0.0)
    CALLS[what](True)
    shown = capfd.readouterr().err
    assert f"{what}: " in shown and "100% |" in shown
    assert shown.rsplit("\r", 1)[-1].strip() == ""
    for nothing in (None, False):
        CALLS[what](nothing)
        assert capfd.readouterr().err == ""


@pytest.mark.parametrize("what", CALLS)
def test_a_function_gets_the_share(what: str) -> None:
    shares: list[float | None] = []
    CALLS[what](shares.append)
    assert shares and shares[-1] == 1.0 and all(share is not None and 0 <= share <= 1 for share in shares)


@pytest.mark.parametrize("wrong", [1, "bar", [print]])
def test_anything_else_is_refused(wrong: Any) -> None:
    with pytest.raises(tocsin.InvalidInput, match=r"progress is .*; it is True, for a bar, or a function"):
        CALLS["subscribing"](wrong)
