"""What is a ranking? Which of an event's matches to report, and with what score."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tocsin.errors import InvalidInput

COMBINATIONS: Final = ("sum", "max", "min")


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
        _check_k(self.k, "To get every match give no ranking.")


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The `k` subscriptions of which most holds, for each event: not all of their conditions need to.

    The conjuncts of a subscription's AND are its dimensions, those on one attribute together; its score is the sum of
    the weights of the dimensions that hold, and at least one must. `combine` may be "sum", "max", "min", or a function
    that takes the list of these weights, in order of attribute, and does not fall where one grows or is added.
    Dimensions that name an attribute in `drop` are ignored. Ties go to the lower id.

    >>> Relaxed(20, drop="age")
    Traceback (most recent call last):
    ...
    tocsin.errors.InvalidInput: drop is 'age'; give a collection of attribute names, such as ['age'].
    """

    k: int
    combine: str | Callable[[list[float]], float] = "sum"
    drop: Collection[str] = ()

    def __post_init__(self) -> None:
        _check_k(self.k, "For every subscription of which anything holds give as many as there are.")
        if not callable(self.combine) and self.combine not in COMBINATIONS:
            known = ", ".join(map(repr, COMBINATIONS))
            raise InvalidInput(f"combine is {self.combine!r:.40}; it must be one of {known}, or a function of a list.")
        _check_drop(self.drop)
        object.__setattr__(self, "drop", frozenset(self.drop))


def _check_drop(drop: Any) -> None:
    if isinstance(drop, str):
        raise InvalidInput(f"drop is {drop!r:.60}; give a collection of attribute names, such as [{drop!r:.60}].")
    if not isinstance(drop, Collection) or not all(isinstance(name, str) for name in drop):
        raise InvalidInput(f"drop is {drop!r:.60}; give a collection of attribute names.")


def _check_k(k: object, advice: str) -> None:
    if isinstance(k, bool) or not isinstance(k, int):
        raise InvalidInput(f"k is {k!r:.40}; it must be an integer of at least 1.")
    if k < 1:
        raise InvalidInput(f"k is {k}; it must be at least 1. {advice}")


Ranking: TypeAlias = Top | Relaxed
