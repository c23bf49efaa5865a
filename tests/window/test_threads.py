"""Threads share a window's subscriptions: the answers are those of one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import tocsin

BOUNDS = (0.0, 0.0, 10.0, 10.0)
DICE = random.Random(19)
WORDS = [f"w{n}" for n in range(60)]
MESSAGES = [
    {"words": DICE.sample(WORDS, DICE.randint(1, 6)), "location": (DICE.uniform(0, 10), DICE.uniform(0, 10)), "key": n}
    for n in range(3000)
]
ASKED = [
    {
        "id": f"u{n * 7919 % 1000:03}",
        "words": DICE.sample(WORDS, DICE.randint(1, 12)),
        "location": (DICE.uniform(0, 10), DICE.uniform(0, 10)),
        "k": DICE.randint(1, 5),
        "alpha": DICE.choice([0.0, 0.4, 0.9]),
    }
    for n in range(1000)
]


def lived(threads: int | None, folder: Path) -> list[Any]:
    """All that a window tells of a life with everything in it."""
    window = tocsin.Window(500, bounds=BOUNDS, threads=threads)
    told: list[Any] = []
    window.push_batch(MESSAGES[:200])
    window.subscribe_many(ASKED[:700])
    told.append(window.push_batch(MESSAGES[200:1200]).table.to_pylist())
    for number in range(0, 700, 3):
        window.unsubscribe(ASKED[number]["id"])
    window.subscribe_many(ASKED[700:])
    told.append(window.push_batch(MESSAGES[1200:1900]).table.to_pylist())
    told.append([tuple(change) for message in MESSAGES[1900:1910] for change in window.push(**message)])
    told.append(len(window.push_batch(MESSAGES[1910:2700], changes=False)))
    told.append(window.results_table().to_pylist())
    told.append(str(window.explain(ASKED[1]["id"], 2600)))
    window.save(folder)
    again = tocsin.Window.load(folder, threads=threads)
    told.append(again.push_batch(MESSAGES[2700:]).table.to_pylist())
    told += [again.results(one["id"]) for one in ASKED[701:720]]
    told.append((len(again), again.held, window.stats.messages, window.stats.changes))
    return told


@pytest.mark.parametrize("threads", [2, 3, 7, None])
def test_answers_are_those_of_one_thread(threads: int | None, tmp_path: Path) -> None:
    assert lived(threads, tmp_path / "several") == lived(1, tmp_path / "one")


def test_shares_are_of_one_size() -> None:
    window = tocsin.Window(100, bounds=BOUNDS, threads=3)
    for one in ASKED[:4]:
        window.subscribe(one["id"], words=one["words"], location=one["location"])
    window.subscribe_many(ASKED[4:])

    sizes = [share.slots.living for share in window._sliding._shares]

    assert sum(sizes) == 1000
    assert max(sizes) - min(sizes) <= 1


def test_time_passes_for_all() -> None:
    window = tocsin.Window(time=10, bounds=BOUNDS, threads=2)
    window.subscribe_many(ASKED[:50])
    window.push_batch([{**message, "time": 5} for message in MESSAGES[:40]])
    held = window.results_table().num_rows

    changes = window.advance(100)

    assert held == len(changes) > 0
    assert [one.subscription for one in changes] == sorted(one.subscription for one in changes)
    assert window.results_table().num_rows == 0


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_threads_that_are_none_are_refused(threads: Any) -> None:
    with pytest.raises(tocsin.InvalidInput, match=r"threads is .*; it must be an integer of at least 1"):
        tocsin.Window(10, bounds=BOUNDS, threads=threads)
