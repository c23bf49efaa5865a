"""Rankings: which of an event's matches to report, and with what score. One class each, listed in `RANKINGS`.

A class says how commands and the files of pipelines spell it, and by its name which question answers it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from tocsin.errors import InvalidInput

COMBINATIONS: Final = ("sum", "max", "min")
_MOST: Final = 2**53
_COUNTED: Final = ("no number", "a number", "two numbers", "three numbers")


class Ranking:
    """What every ranking has."""

    __slots__ = ()

    question: ClassVar[str]  # the name of the question that answers it
    numbers: ClassVar[tuple[tuple[str, Callable[[str], Any]], ...]]  # what a text gives, and what reads each
    example: ClassVar[str]  # such a text
    help: ClassVar[str]  # which matches it leaves, in words for the user
    unanswered: ClassVar[str] = "of another shape"  # which subscriptions it leaves out, likewise

    @classmethod
    def word(cls) -> str:
        """What it is called in texts."""
        return cls.__name__.lower()

    @classmethod
    def parse(cls, parts: Sequence[str]) -> Self:
        """Make one of the parts of a text, `["0.5", "0.6"]`.

        Raises `InvalidInput` for numbers that it does not take, and another `ValueError` for what is not its numbers.
        """
        return cls(*(read(part) for (_, read), part in zip(cls.numbers, parts, strict=True)))

    @classmethod
    def spelling(cls) -> tuple[str, str]:
        """How its text is spelled, in short and in words: `ALPHA:THRESHOLD`, `two numbers, such as 0.5:0.6`."""
        return ":".join(name for name, _ in cls.numbers).upper(), f"{_COUNTED[len(cls.numbers)]}, such as {cls.example}"


@dataclass(frozen=True, slots=True)
class Top(Ranking):
    """The `k` matches of highest score for each event; ties go to the lower id.

    >>> Top(0)
    Traceback (most recent call last):
    ...
    tocsin.errors.InvalidInput: k is 0; it must be at least 1. To get every match give no ranking.
    """

    question = "all matches"
    numbers = (("k", int),)
    example = "20"
    help = "only the K matches of highest score for each event"

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _checked_k(self.k, "To get every match give no ranking."))


@dataclass(frozen=True, slots=True)
class Relaxed(Ranking):
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

    question = "the best first"
    numbers = (("k", int),)
    example = "20"
    help = "the K subscriptions of which most holds, by weight, for each event"

    k: int
    combine: str | Callable[[list[float]], float] = "sum"
    drop: Collection[str] = ()

    def __post_init__(self) -> None:
        advice = "For every subscription of which anything holds give as many as there are."
        object.__setattr__(self, "k", _checked_k(self.k, advice))
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


def _checked_k(k: Any, advice: str) -> int:
    """An integer of Python's, whatever integer it was."""
    if isinstance(k, bool) or not hasattr(k, "__index__"):
        raise InvalidInput(f"k is {k!r:.40}; it must be an integer of at least 1.")
    k = operator.index(k)
    if k < 1:
        raise InvalidInput(f"k is {k}; it must be at least 1. {advice}")
    if k > _MOST:
        raise InvalidInput(f"k is {k}; it must be at most 2**53. {advice}")
    return int(k)


@dataclass(frozen=True, slots=True)
class Similar(Ranking):
    """The subscriptions of a region and keywords that an event resembles enough, the most alike first.

    `alpha * spatial + (1 - alpha) * textual` must reach `threshold`: the share of the region that the event's place
    covers (of a point all or nothing), and the share of its keywords' weight that the event's list has. A word weighs
    what `weights` says (`tocsin.idf` counts), or 1. Subscriptions of another shape have no answer; `Stats.unanswered`
    says how many. Ties go to the lower id.

    >>> Similar(0.5, 0)
    Traceback (most recent call last):
    ...
    tocsin.errors.InvalidInput: threshold is 0; it must be a number above 0, of at most 1.
    """

    question = "similar enough"
    numbers = (("alpha", float), ("threshold", float))
    example = "0.5:0.6"
    help = "the subscriptions of a region and keywords that an event resembles enough"
    unanswered = "of no region with keywords"

    alpha: float
    threshold: float
    weights: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if not _is_number(self.alpha) or not 0 <= self.alpha <= 1:
            raise InvalidInput(f"alpha is {self.alpha!r:.40}; it must be a number from 0 to 1.")
        if not _is_number(self.threshold) or not 0 < self.threshold <= 1:
            raise InvalidInput(f"threshold is {self.threshold!r:.40}; it must be a number above 0, of at most 1.")
        if self.weights is not None:
            object.__setattr__(self, "weights", _checked_weights(self.weights))


def _checked_weights(weights: Any) -> Mapping[str, float]:
    if not isinstance(weights, Mapping):
        raise InvalidInput(f"weights is {weights!r:.60}; give a mapping of words to numbers, such as tocsin.idf makes.")
    for word, weight in weights.items():
        if not isinstance(word, str) or not _is_number(weight) or not 0 < weight < math.inf:
            raise InvalidInput(f"the weight of {word!r:.40} is {weight!r:.40}; words weigh finite numbers above 0.")
    return weights


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


RANKINGS: Final[dict[str, type[Ranking]]] = {one.word(): one for one in (Top, Relaxed, Similar)}
"""All rankings by the words that texts have for them."""
