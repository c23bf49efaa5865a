"""How do scores change while searches for the best read them? In versions: a reader's never changes.

Each version is an array with the maxima of its blocks. A change is noted, and put into a version when the next reader
wants one: into the latest where nobody has it, else into an older one that nobody has any more, else into a copy. So
two versions take turns, however often scores change.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.index import Best
from tocsin.kernels.answers.scores import BITS, block_maxima, put_scores


@dataclass(slots=True, eq=False)
class Version:
    """Scores and their blocks' maxima, as of a number of changes. `users` readers have it."""

    scores: NDArray[np.float64]
    known_maxima: NDArray[np.float64] | None = None
    changes: int = 0
    users: int = 0
    base: NDArray[np.float64] | None = None  # scores of some time before, which stay as they are
    changed: NDArray[np.int32] | None = None  # whose scores may differ from these, perhaps more than once
    raised: NDArray[np.float64] | None = None  # and the scores that they were given: each highest one is among them

    @classmethod
    def fixed(cls, scores: NDArray[np.float64]) -> Version:
        """Scores that nobody changes."""
        return cls(scores, base=scores)

    @property
    def maxima(self) -> NDArray[np.float64]:
        """(S // 64 + 1,) the best score of each block."""
        if self.known_maxima is None:
            self.known_maxima = frozen(block_maxima(frozen(self.scores, np.float64), BITS), np.float64)
        return self.known_maxima

    def best(self, k: int) -> Best:
        """What an index is told where only the best k are wanted."""
        return Best.of(k, self.scores, self.maxima, self.base, self.changed, self.raised)


MOST_CHANGED: Final = 1 << 15


class Scores:
    """The scores of a segment. Its owner serialises calls.

    Up to `most_changed` changes are told beside a base; beyond, the scores of the moment become the next base.
    """

    def __init__(self, given: NDArray[np.float64], most_changed: int = MOST_CHANGED) -> None:
        self._given = given
        self._most_changed = most_changed
        self._base = given
        self._begin()
        self._latest = Version(given)
        self._date()
        self._older: Version | None = None
        self._changes: list[tuple[int, float]] = []  # those that the older version may lack, and the pending ones
        self._first = 0  # the number of changes before these
        self._pending: dict[int, float] = {}  # not in the latest version

    def get(self, number: int) -> float:
        """The score of a subscription now."""
        return self._pending[number] if number in self._pending else float(self._latest.scores[number])

    def put(self, number: int, score: float) -> None:
        """Change a score; a version has it when the next reader comes."""
        self._changes.append((number, score))
        self._pending[number] = score
        if score > self._best_since.get(number, -inf):
            if self._raises < self._most_changed:
                self._changed[self._raises], self._raised[self._raises] = number, score
            self._raises += 1
            self._best_since[number] = score
        if len(self._changes) > len(self._given):  # nobody has asked for so long
            self.version()

    def version(self) -> Version:
        """The scores now. Whoever keeps it raises `users`."""
        if self._pending:
            self._renew()
        return self._latest

    def _renew(self) -> None:
        """Make a version with all changes the latest."""
        latest, is_given = self._latest, self._latest.scores is self._given
        if latest.users or is_given:
            if self._older is None or self._older.users:
                self._latest = Version(_view(latest.scores.copy()), _view(latest.maxima.copy()), latest.changes)
            else:
                self._latest = self._older
            self._older = None if is_given else latest
        numbers, values = zip(*self._changes[self._latest.changes - self._first :], strict=True)
        put_scores(_owned(self._latest.scores), _owned(self._latest.maxima), np.array(numbers), np.array(values))
        self._latest.changes = self._first + len(self._changes)
        self._date()
        self._pending.clear()
        self._forget()

    def _date(self) -> None:
        """Tell the latest version how it differs from the base; where that is by too much, it is the next base."""
        if self._raises > self._most_changed:
            self._base = frozen(self._latest.scores.copy(), np.float64)
            self._begin()
        self._latest.base = self._base
        self._latest.changed = _view(self._changed[: self._raises])  # what is written behind them is not seen
        self._latest.raised = _view(self._raised[: self._raises])

    def _begin(self) -> None:
        """Nothing differs from the base."""
        self._changed = np.empty(self._most_changed, np.int32)  # whose scores have been raised since, in order
        self._raised = np.empty(self._most_changed, np.float64)  # to what
        self._raises = 0  # how many of both there are, or would be
        self._best_since: dict[int, float] = {}  # the best that each has had since

    def _forget(self) -> None:
        """Drop the changes that no version lacks, and a version that lacks as many as there are scores."""
        if self._older is not None and len(self._changes) > len(self._given):
            self._older = None
        if self._older is None:
            self._first += len(self._changes)
            self._changes.clear()
        elif self._older.changes > self._first:
            del self._changes[: self._older.changes - self._first]
            self._first = self._older.changes


def _view(array: NDArray[Any]) -> NDArray[Any]:
    """An array that cannot be written through, over one that can."""
    view = array.view()
    view.flags.writeable = False
    return view


def _owned(view: NDArray[np.float64]) -> NDArray[np.float64]:
    base = view.base
    assert isinstance(base, np.ndarray)
    return base
