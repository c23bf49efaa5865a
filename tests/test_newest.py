"""What is read again when it changes: a failure is never remembered, and the last value stays in use meanwhile."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.errors import StoreError
from tocsin.newest import RETRY_S, Newest, mark_of

ERRORS = [OSError(errno.EMFILE, "Too many open files"), PermissionError(errno.EACCES, "no"), StoreError("damaged")]


class Source:
    """Something that changes, whose reads can be made to fail, with a clock."""

    def __init__(self) -> None:
        self.value, self.mark, self.now, self.reads = 0, 0, 0.0, 0
        self.error: BaseException | None = None
        self.unseen: BaseException | None = None
        self.told: list[str] = []

    def look(self) -> int:
        if self.unseen is not None:
            raise self.unseen
        return self.mark

    def read(self) -> int:
        self.reads += 1
        if self.error is not None:
            raise self.error
        return self.value

    def newest(self, settles_s: float = 0.0) -> Newest[int]:
        return Newest(
            self.look,
            self.read,
            failed=self.told.append,
            recovered=lambda: self.told.append("recovered"),
            settles_s=settles_s,
            clock=lambda: self.now,
        )

    def change(self) -> None:
        self.value, self.mark = self.value + 1, self.mark + 1


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("place", ["error", "unseen"])
def test_a_failure_passes_without_another_change(error: BaseException, place: str) -> None:
    source = Source()
    newest = source.newest()
    source.change()
    setattr(source, place, error)
    for _ in range(3):
        source.now += RETRY_S
        assert newest() == 0
    assert newest.failing_s == 2 * RETRY_S
    setattr(source, place, None)
    source.now += RETRY_S

    assert newest() == 1 and newest.failure is None and newest.failing_s == 0
    assert source.told == [str(error), "recovered"]


def test_a_failing_read_is_not_repeated_at_each_call() -> None:
    source = Source()
    newest = source.newest()
    source.change()
    source.error = ERRORS[0]
    for _ in range(1000):
        newest()
    assert source.reads == 2
    source.change()  # a change is read at once
    source.error = None

    assert newest() == 2


@pytest.mark.parametrize("error", [MemoryError(), KeyboardInterrupt()], ids=repr)
def test_an_interrupted_read_is_made_again(error: BaseException) -> None:
    source = Source()
    newest = source.newest()
    source.change()
    source.error = error
    with pytest.raises(type(error)):
        newest()
    source.error = None

    assert newest() == 1


def test_changes_with_the_same_mark_are_seen_while_they_settle() -> None:
    source = Source()
    newest = source.newest(settles_s=0.1)
    for step in range(1, 4):
        source.value, source.now = step, step * 0.04
        assert newest() == (step if source.now <= 0.12 else 2)
    reads = source.reads
    newest()

    assert source.reads == reads


@given(st.lists(st.sampled_from(["change", "fail", "work", "wait"]), max_size=30))
def test_a_value_is_never_older_than_the_last_read_that_could_work(steps: list[str]) -> None:
    """After `RETRY_S` without an error, or at once after a change without one, the value is the newest."""
    source = Source()
    newest = source.newest()
    before = 0
    for step in steps:
        if step == "change":
            source.change()
        elif step == "wait":
            source.now += RETRY_S
        else:
            source.error = ERRORS[0] if step == "fail" else None
        value = newest()

        assert before <= value <= source.value
        assert (newest.failure is None) <= (value == source.value)
        assert source.error is not None or step not in ("change", "wait") or value == source.value
        before = value


def test_a_mark_differs_after_a_change(tmp_path: Path) -> None:
    file = tmp_path / "file"
    marks = [mark_of(file)]
    for text in ("a", "ab", "abc"):
        file.write_text(text)
        marks.append(mark_of(file))
    file.unlink()

    assert len(set(marks)) == 4 and mark_of(file) is None is marks[0]
