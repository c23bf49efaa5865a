"""What a user sees while the demo runs."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

from tocsin.demo.progress import Steps


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_plain_lines() -> None:
    """In a pipe every step is a line at its start and one at its end, and its time is kept."""
    stream = io.StringIO()
    steps = Steps(2, stream=stream)
    with steps.step("match", "Match the flights"):
        pass

    lines = stream.getvalue().splitlines()
    assert lines == [
        "[1/2] Match the flights ...",
        f"[1/2] Match the flights: done in {steps.seconds['match']:.1f} s",
    ]


def test_silence_on_demand() -> None:
    """Not shown means nothing at all; the time is kept all the same."""
    stream = io.StringIO()
    steps = Steps(1, shown=False, stream=stream)
    with steps.step("match", "Match the flights"):
        pass

    assert (stream.getvalue(), list(steps.seconds)) == ("", ["match"])


def test_a_failed_step_is_not_done() -> None:
    """A step that fails is not reported as done, and the error passes."""
    stream = io.StringIO()
    steps = Steps(1, stream=stream)
    with pytest.raises(KeyError), steps.step("match", "Match the flights"):
        raise KeyError

    assert ("done" in stream.getvalue(), steps.seconds) == (False, {})


@pytest.mark.spark
def test_a_terminal_gets_a_bar_of_tasks(spark: Any) -> None:
    """On a terminal the tasks of the running job are counted while it runs."""
    stream = Terminal()

    def slowly(rows: Any) -> Any:
        import time

        time.sleep(0.4)
        return rows

    with Steps(1, stream=stream).step("count", "Count", spark):
        spark.range(0, 8, 1, 8).mapInArrow(slowly, "id long").count()

    assert re.search("[1-8]/8 tasks", stream.getvalue())
    assert stream.getvalue().endswith(" s\n")
