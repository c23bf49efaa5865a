"""A child that was forked while others matched, changed and merged matches, changes, merges and saves."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tocsin
from tocsin.index.once import OnceEach

CHILDREN = 8
PATIENCE_S = 60
EVENTS = [{"price": price, "kind": f"k{price % 7}"} for price in range(200)]


def texts(first: int, count: int) -> list[dict]:
    return [
        {"id": n, "where": f"price > {n % 100} AND kind = 'k{n % 7}'", "score": n % 13}
        for n in range(first, first + count)
    ]


def expected(held: list[int], event: dict) -> list[int]:
    return [n for n in held if event["price"] > n % 100 and event["kind"] == f"k{n % 7}"]


def use(engine: tocsin.Engine, folder: Path) -> None:
    """In a child: everything that an engine does. The parent's changes go on, but not here."""
    held = sorted(
        row
        for row in engine.match_batch([{"price": 1000, "kind": f"k{k}"} for k in range(7)])
        .table["subscription"]
        .to_pylist()
    )
    assert [match.subscription for match in engine.match(EVENTS[150])] == expected(held, EVENTS[150])
    engine.subscribe(-1, "price = 5")
    engine.subscribe_many(texts(10**6, 300))
    engine.rescore(-1, 7.0)
    engine.unsubscribe(held[0])
    assert len(engine) == len(held) + 300
    engine.merge()
    now = sorted({*held[1:], -1, *range(10**6, 10**6 + 300)})
    assert [m.subscription for m in engine.match(EVENTS[5])] == sorted(
        [-1, *expected([n for n in now if n >= 0], EVENTS[5])]
    )
    assert len(engine.match_batch(EVENTS, ranking=tocsin.Top(3), threads=2).table) > 0
    assert len(engine.match_batch(EVENTS[:5], ranking=tocsin.Relaxed(3)).table) == 15
    engine.save(folder)
    assert len(tocsin.Engine.load(folder)) == len(now)


@contextmanager
def busy(engine: tocsin.Engine) -> Iterator[None]:
    """Threads that match, change and merge."""
    stop = threading.Event()
    failures: list[BaseException] = []

    def again(work) -> None:
        number = 0
        while not stop.is_set() and not failures:
            try:
                work(number)
            except BaseException as error:  # noqa: BLE001
                failures.append(error)
            number += 1

    def change(number: int) -> None:
        (one,) = texts(10_000 + number, 1)
        engine.subscribe(one["id"], one["where"])
        engine.rescore(one["id"], float(number))
        stop.wait(0.005)

    jobs = [
        lambda _: engine.match_batch(EVENTS, threads=2),
        lambda _: engine.match_batch(EVENTS, ranking=tocsin.Top(2)),
        change,
        lambda _: engine.merge(),
    ]
    threads = [threading.Thread(target=again, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE_S)
    assert not failures
    assert not any(thread.is_alive() for thread in threads)


def test_children_of_a_busy_process(tmp_path: Path) -> None:
    engine = tocsin.Engine(delta_limit=64)
    engine.subscribe_many(texts(0, 500))
    engine.match_batch(EVENTS[:3], ranking=tocsin.Relaxed(2))
    context = multiprocessing.get_context("fork")
    with busy(engine):
        children = []
        for number in range(CHILDREN):
            children.append(context.Process(target=use, args=(engine, tmp_path / str(number))))
            children[-1].start()
            if number % 2:
                children[-2].join(PATIENCE_S)
                children[-1].join(PATIENCE_S)
    codes = [child.exitcode for child in children]
    for child in children:
        child.kill()
    assert codes == [0] * CHILDREN
    engine.close()


def test_locks_are_made_under_locks_while_others_fork() -> None:
    """What a thread registers under a lock that forks wait for keeps neither from going on."""
    each: OnceEach[int] = OnceEach()
    stop = threading.Event()

    def make() -> None:
        while not stop.is_set():
            for key in range(50):
                each.get(key, lambda: 1)

    threads = [threading.Thread(target=make, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    forks = threading.Thread(target=lambda: [os.waitpid(fork_and_leave(), 0) for _ in range(30)], daemon=True)
    forks.start()
    forks.join(PATIENCE_S)
    stop.set()

    assert not forks.is_alive()


def fork_and_leave() -> int:
    child = os.fork()
    if child == 0:
        os._exit(0)
    return child


def load_and_use(folder: Path) -> None:
    with tocsin.Engine.load(folder) as engine:
        use(engine, folder.parent / "again")


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_children_that_are_started_anew(method: str, tmp_path: Path) -> None:
    with tocsin.Engine() as engine:
        engine.subscribe_many(texts(0, 300))
        engine.save(tmp_path / "held")

    child = multiprocessing.get_context(method).Process(target=load_and_use, args=(tmp_path / "held",))
    child.start()
    child.join(PATIENCE_S)

    assert child.exitcode == 0
