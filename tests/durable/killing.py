"""Children that make changes until they are killed, and what must be left afterwards, of an engine or a window."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.durable import vfs
from tocsin.errors import StoreError
from tocsin.store import connections

FORK: Final = multiprocessing.get_context("fork")
KILLED: Final = 7


class Subject(NamedTuple):
    """What lives in a folder. `states` is the oracle: what is held before the first of some changes, and after each."""

    open: Callable[[Path], Any]
    made: Callable[[Any, Any], None]
    database: Callable[[Any], Any]
    held_in: Callable[[Any], Any]
    states: Callable[[Sequence[Any]], list[Any]]


def living(
    subject: Subject,
    folder: Path,
    changes: Sequence[Any],
    acknowledged: Any,
    arm: Callable[[Any], None],
    closes: bool,
) -> None:
    """In a child: make changes, and count those that were acknowledged."""
    one = subject.open(folder)
    arm(one)
    for change in changes:
        subject.made(one, change)
        acknowledged.value += 1
    if closes:
        one.close()
    os._exit(0)


def killed_at_each_step(
    subject: Subject,
    folder: Path,
    changes: Sequence[Any],
    arm: Callable[[Any, int, Any], None],
    closes: bool = False,
) -> Iterator[Any]:
    """Kill a child before each of its steps, as `arm` counts them, and look at what is left, which is yielded."""
    states = subject.states(changes)
    for step in itertools.count():
        place = folder / str(step)
        acknowledged, has_happened = FORK.Value("i", 0), FORK.Value("b", False)
        armed = lambda one, step=step, has=has_happened: arm(one, step, has)  # noqa: E731
        child = FORK.Process(target=living, args=(subject, place, changes, acknowledged, armed, closes))
        child.start()
        child.join(60)
        assert child.exitcode == (KILLED if has_happened.value else 0)

        done = acknowledged.value
        with subject.open(place) as one:
            assert subject.held_in(one) in states[done : done + 2]
            yield one
        if not has_happened.value:
            return


def at_a_statement(subject: Subject) -> Callable[[Any, int, Any], None]:
    """Die before the SQL statement of a number."""

    def arm(one: Any, step: int, has_happened: Any) -> None:
        steps = itertools.count()

        def watch(statement: str) -> None:
            if next(steps) == step:
                has_happened.value = True
                os._exit(KILLED)

        subject.database(one)._connection.set_trace_callback(watch)

    return arm


def living_on_a_disk(
    subject: Subject,
    folder: Path,
    changes: Sequence[Any],
    step: int,
    acknowledged: Any,
    has_happened: Any,
    sync: str,
    folds: Callable[[Any], bool],
) -> None:
    """In a child: make changes through a file system that dies before a step, and fold the log after some."""
    mortal = vfs.Mortal("mortal", vfs.Steps(step, has_happened, KILLED))
    connections.connect = vfs.connect(mortal.name)
    one = subject.open(folder)
    database = subject.database(one)
    if sync != "FULL":
        database._connection.execute(f"PRAGMA synchronous = {sync}")
    for change in changes:
        subject.made(one, change)
        acknowledged.value += 1
        if folds(change):
            database.fold_log()
    os._exit(0)


def first_loss(
    subject: Subject, folder: Path, changes: Sequence[Any], sync: str, folds: Callable[[Any], bool], *, cut: bool
) -> str | None:
    """The first step after which a state is left that is neither all that was acknowledged nor that and one more."""
    states = subject.states(changes)
    with subject.open(folder / "empty"):
        pass  # `test_crashes` is about the making of a store
    for file in list((folder / "empty").glob("store.db*")):
        file.with_name(file.name + vfs.SYNCED).write_bytes(file.read_bytes())
    has_happened, step = FORK.Value("b", True), -1
    while has_happened.value:
        step += 1
        place = shutil.copytree(folder / "empty", folder / str(step))
        acknowledged, has_happened = FORK.Value("i", 0), FORK.Value("b", False)
        arguments = (subject, place, changes, step, acknowledged, has_happened, sync, folds)
        child = FORK.Process(target=living_on_a_disk, args=arguments)
        child.start()
        child.join(60)
        assert child.exitcode == (KILLED if has_happened.value else 0)
        if cut:
            vfs.cut_power(place)
        done = acknowledged.value
        if what_is_left(subject, place) not in states[done : done + 2]:
            return f"before step {step}, {done} changes acknowledged"
    assert step > 20
    return None


def what_is_left(subject: Subject, folder: Path) -> Any:
    try:
        with subject.open(folder) as one:
            return subject.held_in(one)
    except StoreError as error:
        return str(error)
