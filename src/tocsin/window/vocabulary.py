"""The vocabulary of a window: a number for each word, as long as a subscription or a message in the window has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

_SPARE: Final = 10_000
"""The number of unused words that may stay, besides as many as there are words."""


class Vocabulary:
    """Words by number, from 1 on. Numbers of unused words are reused."""

    def __init__(self, squares: Mapping[str, float]) -> None:
        self._squares = squares
        self._numbers = _Numbers()
        self._most = _SPARE

    def __len__(self) -> int:
        """One more than the largest number."""
        return len(self._numbers.texts)

    def numbers_of(self, words: Iterable[str]) -> NDArray[np.int32]:
        """The number of each word; new words get new numbers."""
        return np.array(list(map(self._numbers.__getitem__, words)), np.int32)

    def words_of(self, numbers: Iterable[int]) -> list[str]:
        """The words of some numbers."""
        return [self._numbers.texts[number] for number in numbers]

    def new_words(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The numbers assigned since `know`, and the squared weights of their words."""
        fresh = self._numbers.fresh
        weights: Sequence[float] = [self._squares.get(self._numbers.texts[number], 1.0) for number in fresh]
        return np.array(fresh, np.int64), np.array(weights, np.float64)

    def know(self, count: int) -> None:
        """Record that the structures know the first `count` of the new words."""
        del self._numbers.fresh[:count]

    def is_full(self) -> bool:
        """Whether it is time to look for unused words."""
        return len(self._numbers) > self._most

    def forget(self, uses: NDArray[np.int32]) -> None:
        """Free the numbers of unused words."""
        self._numbers.forget(uses)
        self._most = 2 * len(self._numbers) + _SPARE


class _Numbers(dict[str, int]):
    """Numbers by word, assigned on access. A word counts once the dictionary has it, which comes last."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = [""]
        self.fresh: list[int] = []
        self._free: list[int] = []

    def __missing__(self, word: str) -> int:
        if self._free:
            number = self._free.pop()
            self.texts[number] = word
        else:
            number = len(self.texts)
            self.texts.append(word)
        self.fresh.append(number)
        self[word] = number
        return number

    def forget(self, uses: NDArray[np.int32]) -> None:
        free = set(self._free)
        for number in (np.flatnonzero(uses[1 : len(self.texts)] == 0) + 1).tolist():
            if number in free:
                continue
            if self.get(self.texts[number]) == number:  # it is not if a call was interrupted
                del self[self.texts[number]]
            self.texts[number] = ""
            self._free.append(number)
