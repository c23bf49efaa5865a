"""Results take the place of those of the run before at once, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tocsin.demo.output import finished_in


def test_a_finished_run_replaces_the_one_before(tmp_path: Path) -> None:
    """Files and folders alike; what is no part of a run stays."""
    for text in ("first", "second"):
        with finished_in(tmp_path / "out", ["a.txt", "b"]) as folder:
            (folder / "a.txt").write_text(text)
            (folder / "b").mkdir()
            (folder / "b" / text).touch()
        (tmp_path / "out" / "mine").touch()

    assert (tmp_path / "out" / "a.txt").read_text() == "second"
    assert sorted(path.name for path in (tmp_path / "out").rglob("*")) == ["a.txt", "b", "mine", "second"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_a_run_that_fails_leaves_the_one_before(tmp_path: Path, error: type[BaseException]) -> None:
    """And nothing unfinished."""
    (tmp_path / "a.txt").write_text("first")
    with pytest.raises(error), finished_in(tmp_path, ["a.txt"]) as folder:
        (folder / "a.txt").write_text("second")
        raise error

    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "first"
