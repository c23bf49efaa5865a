"""Commits: the last step of a change, which is made as a whole or leaves the object refusing all calls.

A change of a structure in memory first allocates all that it needs. An error until then leaves everything as it was.
Then it commits, by one of these:

- one statement that assigns everything, if that is enough. Python interrupts a thread only between statements;
- `Commit.make`, for several statements that may be repeated. An interrupt in the middle of them repeats them.
"""

from __future__ import annotations

from collections.abc import Callable


class Commit:
    """The commits of one object. `is_half` says that one of them failed in the middle, twice."""

    __slots__ = ("is_half",)

    def __init__(self) -> None:
        self.is_half = False

    def make(self, step: Callable[[], object]) -> None:
        """Run a step that allocates nothing and may run twice; an interrupt is raised once the step has ended."""
        self.is_half = True
        try:
            step()
            self.is_half = False
        except BaseException:
            step()
            self.is_half = False
            raise
