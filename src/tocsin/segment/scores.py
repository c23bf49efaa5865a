"""Versioned scores: they change while top-k searches read them, and a reader's version never changes.

Each version is an array with the maxima of its blocks. A change is recorded, and applied when the next reader asks for
a version. It is applied to the latest version if no reader has it, else to an older unused one, else to a copy. So two
versions take turns, however often scores change.
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
    """Scores and the maxima of their blocks, after a number of changes. `users` readers hold it."""

    scores: NDArray[np.float64]
    known_maxima: NDArray[np.float64] | None = None
    changes: int = 0
    users: int = 0
    base: NDArray[np.float64] | None = None  # earlier scores, which do not change
    changed: NDArray[np.int32] | None = None  # numbers with scores that may differ from `base`; may repeat
    raised: NDArray[np.float64] | None = None  # scores they were given, including the highest of each

    @classmethod
    def fixed(cls, scores: NDArray[np.float64]) -> Version:
        """Scores that never change."""
        return cls(scores, base=scores)

    @property
    def maxima(self) -> NDArray[np.float64]:
        """(S // 64 + 1,) the best score of each block."""
        if self.known_maxima is None:
            self.known_maxima = frozen(block_maxima(frozen(self.scores, np.float64), BITS), np.float64)
        return self.known_maxima

    def best(self, k: int) -> Best:
        """What an index needs to find only the best k."""
        return Best.of(k, self.scores, self.maxima, self.base, self.changed, self.raised)


MOST_CHANGED: Final = 1 << 15


class Scores:
    """The scores of a segment. The owner serialises calls.

    Up to `most_changed` changes are listed beside a base. After that, the current scores become the next base.
    """

    def __init__(self, given: NDArray[np.float64], most_changed: int = MOST_CHANGED) -> None:
        self._given = given
        self._most_changed = most_changed
        self._base: NDArray[np.float64]
        self._changed: NDArray[np.int32]  # numbers with raised scores since the base, in order
        self._raised: NDArray[np.float64]  # their new scores
        self._raises: int  # number of raises, including those that did not fit
        self._best_since: dict[int, float]  # best score of each since the base
        self._begin(given)
        self._latest = Version(given)
        self._date()
        self._older: Version | None = None
        self._changes: list[tuple[int, float]] = []  # changes that the older version may lack, and pending ones
        self._first = 0  # number of changes before these
        self._pending: dict[int, float] = {}  # not in the latest version

    def get(self, number: int) -> float:
        """The current score of a subscription."""
        return self._pending[number] if number in self._pending else float(self._latest.scores[number])

    def put(self, number: int, score: float) -> None:
        """Change a score; it is applied to a version when the next reader asks."""
        if len(self._changes) > len(self._given):  # no reader has asked for long
            self.version()
        best, raises = self._best_since.get(number, -inf), self._raises
        if score > best:
            if raises < self._most_changed:
                self._changed[raises], self._raised[raises] = number, score
            best, raises = score, raises + 1
        change, last = [(number, score)], len(self._changes)
        # In one statement, because each of these without the others would be another state.
        self._raises, self._best_since[number], self._pending[number], self._changes[last:] = (
            raises,
            best,
            score,
            change,
        )

    def version(self) -> Version:
        """The current scores. A caller that keeps them increments `users`."""
        if self._pending:
            self._renew()
        return self._latest

    def _renew(self) -> None:
        """Make a version with all changes the latest. If this fails, the next reader does it again."""
        latest, older = self._latest, self._older
        is_given = latest.scores is self._given
        if not (latest.users or is_given):
            renewed = latest
        elif older is None or older.users:
            renewed = Version(_view(latest.scores.copy()), _view(latest.maxima.copy()), latest.changes)
        else:
            renewed = older
        changes = self._changes[renewed.changes - self._first :]
        if changes:
            numbers, values = zip(*changes, strict=True)
            put_scores(_owned(renewed.scores), _owned(renewed.maxima), np.array(numbers), np.array(values))
        if renewed is not latest:
            older = None if is_given else latest
        self._latest, self._older, renewed.changes = renewed, older, self._first + len(self._changes)
        self._date()
        self._pending.clear()
        self._forget()

    def _date(self) -> None:
        """Set how the latest version differs from the base; after too many changes it becomes the next base."""
        latest = self._latest
        if self._raises > self._most_changed:
            self._begin(frozen(latest.scores.copy(), np.float64))
        changed, raised = _view(self._changed[: self._raises]), _view(self._raised[: self._raises])
        latest.base, latest.changed, latest.raised = self._base, changed, raised  # later entries are not visible

    def _begin(self, base: NDArray[np.float64]) -> None:
        """Start a new base, without differences."""
        changed, raised = np.empty(self._most_changed, np.int32), np.empty(self._most_changed, np.float64)
        self._base, self._changed, self._raised, self._raises, self._best_since = base, changed, raised, 0, {}

    def _forget(self) -> None:
        """Drop changes that no version lacks, and an older version that lacks more changes than there are scores."""
        if self._older is not None and len(self._changes) > len(self._given):
            self._older = None
        if self._older is None:
            self._first += len(self._changes)
            self._changes.clear()
        elif self._older.changes > self._first:
            del self._changes[: self._older.changes - self._first]
            self._first = self._older.changes


def _view(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view of a writable array."""
    view = array.view()
    view.flags.writeable = False
    return view


def _owned(view: NDArray[np.float64]) -> NDArray[np.float64]:
    base = view.base
    assert isinstance(base, np.ndarray)
    return base
