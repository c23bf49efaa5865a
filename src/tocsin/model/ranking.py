"""What is a ranking? Which of an event's matches to report, and with what score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tocsin.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Top:
    """The `k` matches of highest score for each event; ties go to the lower id.

    >>> Top(0)
    Traceback (most recent call last):
    ...
    tocsin.errors.InvalidInput: k is 0; it must be at least 1. To get every match give no ranking.
    """

    k: int

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int):
            raise InvalidInput(f"k is {self.k!r}; it must be an integer of at least 1.")
        if self.k < 1:
            raise InvalidInput(f"k is {self.k}; it must be at least 1. To get every match give no ranking.")


Ranking: TypeAlias = Top


def checked_ranking(ranking: object) -> Ranking | None:
    """The ranking, or None for every match; raises `InvalidInput` on anything else."""
    if ranking is None or isinstance(ranking, Top):
        return ranking
    raise InvalidInput(f"ranking is {ranking!r:.40}; give tocsin.Top(k), or nothing for every match")
