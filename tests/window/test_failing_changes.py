"""A change of a window that fails in the middle leaves it as it was, or as it is after the change, or refusing."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.failing import EACH_FAILURE, Failure, failures
from tests.naive.window import NaiveWindow
from tocsin.index.window import sliding
from tocsin.window import Window, vocabulary

BOUNDS = (0.0, 0.0, 8.0, 4.0)
SIZE = 6


def words_of(number: int) -> list[str]:
    """Words that many records share, and more of them than a record of a subscription has room for."""
    return [f"w{number % 3}", f"w{number % 5}x", *(f"n{number}-{i}" for i in range(number % 9))]


def message(number: int) -> dict[str, Any]:
    return {"words": words_of(number), "location": (number % 8, number % 4), "key": f"m{number}"}


def subscription(number: int) -> dict[str, Any]:
    location = (float(number % 7), float(number % 3))
    return {"id": number, "words": words_of(number), "location": location, "k": 1 + number % 4, "alpha": 0.3}


def subscribe(window: Any, number: int) -> None:
    record = subscription(number)
    if isinstance(window, NaiveWindow):
        window.subscribe(record.pop("id"), **record)
    else:
        window.subscribe(record.pop("id"), **record, replace=True)


def subscribe_many(window: Any) -> None:
    """The first of them replace others, and for the last ones all tables of subscriptions grow."""
    records = [subscription(number) for number in range(58, 70)]
    if isinstance(window, NaiveWindow):
        for record in records:
            subscribe(window, record["id"])
    else:
        window.subscribe_many(records, replace=True)


def unsubscribe(window: Any) -> None:
    window.unsubscribe(5)


def push(window: Any) -> None:
    window.push(**message(20))


def push_batch(window: Any, count: int = 3, **options: Any) -> None:
    if isinstance(window, NaiveWindow):
        for number in range(20, 20 + count):
            window.push(**message(number))
    else:
        window.push_batch([message(number) for number in range(20, 20 + count)], **options)


CHANGES: dict[str, Callable[[Any], None]] = {
    "subscribe": partial(subscribe, number=200),
    "replace": partial(subscribe, number=7),
    "subscribe_many": subscribe_many,
    "unsubscribe": unsubscribe,
    "push": push,
    "push_batch": push_batch,
    "fill": partial(push_batch, changes=False),
}


def state(window: Any) -> dict[Any, Any]:
    names = window.wanted if isinstance(window, NaiveWindow) else list(window)
    return {name: window.results(name) for name in names}


def refuses(window: Window) -> bool:
    """Whether a window refuses a question; then it refuses all."""
    try:
        list(window)
    except tocsin.HalfChanged:
        calls = [
            partial(window.results, 1),
            partial(window.push, **message(30)),
            partial(subscribe, window, 300),
            partial(window.unsubscribe, 1),
            window.results_table,
            lambda: len(window),
            lambda: 1 in window,
            lambda: window.stats,
        ]
        for call in calls:
            with pytest.raises(tocsin.HalfChanged):
                call()
        return True
    return False


def outcomes(naive: NaiveWindow, change: Callable[[Any], None]) -> Iterator[NaiveWindow]:
    """The states that a change may leave: before, after, and for several messages after some of them."""
    yield naive
    after = copy.deepcopy(naive)
    change(after)
    yield after
    for count in range(1, after.taken - naive.taken):
        some = copy.deepcopy(naive)
        push_batch(some, count)
        yield some


def check(window: Window, before: NaiveWindow, change: Callable[[Any], None]) -> None:
    """The window is as before the change, or as after it, and answers so from then on."""
    found = window.stats.messages, state(window)
    naive = next((one for one in outcomes(before, change) if (one.taken, state(one)) == found), None)
    assert naive is not None
    for number in (40, 41, 42, 43):
        assert [tuple(one) for one in window.push(**message(number))] == naive.push(**message(number))
    for number in (300, 301, 8, 302):
        subscribe(window, number)
        subscribe(naive, number)
    for number in (44, 45, 46):
        assert [tuple(one) for one in window.push(**message(number))] == naive.push(**message(number))
    assert state(window) == state(naive)


def pair(window: Window) -> tuple[Window, NaiveWindow]:
    """A window whose tables are about to grow, and the oracle beside it."""
    naive = NaiveWindow(BOUNDS, SIZE)
    window.subscribe_many([subscription(number) for number in range(62)])
    window.push_batch([message(number) for number in range(9)])
    for number in range(62):
        subscribe(naive, number)
    for number in range(9):
        naive.push(**message(number))
    return window, naive


@pytest.fixture
def tidy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows drop what was removed at once."""
    monkeypatch.setattr(sliding, "_GONE_AT_LEAST", 0)
    monkeypatch.setattr(vocabulary, "_SPARE", 0)


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize(("failing", "most"), EACH_FAILURE)
def test_a_window_in_memory_is_whole_or_refuses(name: str, failing: Failure, most: int) -> None:
    for run in failures(failing, most):
        window, naive = pair(Window(SIZE, bounds=BOUNDS))
        run(partial(CHANGES[name], window))
        if not refuses(window):
            check(window, naive, CHANGES[name])


@pytest.mark.parametrize("name", ["subscribe", "push", "subscribe_many"])
@pytest.mark.parametrize(("failing", "most"), EACH_FAILURE)
def test_so_is_one_that_drops_what_was_removed(name: str, failing: Failure, most: int, tidy: None) -> None:
    for run in failures(failing, most):
        window, naive = pair(Window(SIZE, bounds=BOUNDS))
        for number in range(10, 30):
            window.unsubscribe(number)
            naive.unsubscribe(number)
        run(partial(CHANGES[name], window))
        if not refuses(window):
            check(window, naive, CHANGES[name])


@pytest.mark.parametrize("name", ["subscribe_many", "push_batch", "unsubscribe"])
@pytest.mark.parametrize(("failing", "most"), EACH_FAILURE)
def test_so_is_one_that_threads_share(name: str, failing: Failure, most: int) -> None:
    for run in failures(failing, most):
        window, naive = pair(Window(SIZE, bounds=BOUNDS, threads=2))
        run(partial(CHANGES[name], window))
        if not refuses(window):
            check(window, naive, CHANGES[name])


@pytest.mark.parametrize("name", ["replace", "subscribe_many", "unsubscribe", "push", "fill"])
@pytest.mark.parametrize(("failing", "most"), EACH_FAILURE)
def test_a_durable_window_never_refuses(name: str, failing: Failure, most: int, tmp_path: Path) -> None:
    """It is read again, and the next process finds the same."""
    folder, copied = tmp_path / "window", tmp_path / "copy"
    with Window.open(folder, SIZE, bounds=BOUNDS, sync="relaxed") as window:
        _, naive = pair(window)
    for run in failures(failing, most):
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(folder, copied)
        with Window.open(copied) as window:
            run(partial(CHANGES[name], window))
            check(window, copy.deepcopy(naive), CHANGES[name])
            found = state(window)
        with Window.open(copied) as window:
            assert state(window) == found
