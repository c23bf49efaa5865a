"""Rankings choose which of an event's matches to report, and score them. Each is a class, listed in `RANKINGS`.

A class defines its spelling in commands and pipeline files, and names the question that answers it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from tocsin.errors import InvalidInput
from tocsin.spelling import option

COMBINATIONS: Final = ("sum", "max", "min")
_MOST: Final = 2**53
_COUNTED: Final = ("no number", "a number", "two numbers", "three numbers")


class Ranking:
    """Base of all rankings."""

    __slots__ = ()

    question: ClassVar[str]  # the name of the question that answers it
    numbers: ClassVar[
        tuple[tuple[str, Callable[[str], Any]], ...]
    ]  # the numbers in its text form, and the parser of each
    example: ClassVar[str]  # an example of the text form
    help: ClassVar[str]  # for users: which matches it reports
    unanswered: ClassVar[str] = "of another shape"  # for users: which subscriptions it leaves out

    @classmethod
    def word(cls) -> str:
        """The word for the ranking in its text form.

        Returns
        -------
        str
            The name of the class in small letters.
        """
        return cls.__name__.lower()

    @classmethod
    def parse(cls, parts: Sequence[str]) -> Self:
        """Make a ranking from the parts of its text form, as commands and pipeline files have it.

        Parameters
        ----------
        parts : sequence of str
            The numbers, such as `["0.5", "0.6"]`, as many as the ranking has.

        Returns
        -------
        Ranking
            The ranking.

        Raises
        ------
        InvalidInput
            If a number is out of range. A text that is not a number raises another `ValueError`.
        """
        return cls(*(read(part) for (_, read), part in zip(cls.numbers, parts, strict=True)))

    @classmethod
    def spelling(cls) -> tuple[str, str]:
        """The text form, in short and in words.

        Returns
        -------
        tuple of str
            Such as `("ALPHA:THRESHOLD", "two numbers, such as 0.5:0.6")`.
        """
        return ":".join(name for name, _ in cls.numbers).upper(), f"{_COUNTED[len(cls.numbers)]}, such as {cls.example}"


@dataclass(frozen=True, slots=True)
class Top(Ranking):
    """The `k` matches of highest score for each event; ties go to the lower id.

    Attributes
    ----------
    k : int
        The most matches for an event, at least 1.

    Raises
    ------
    InvalidInput
        If `k` is not an integer of at least 1.

    Examples
    --------
    >>> import tocsin
    >>> alerts = [{"id": "a", "where": "price < 9", "score": 1.0}, {"id": "b", "where": "price < 9", "score": 2.0}]
    >>> tocsin.match(alerts, {"price": 5}, ranking=Top(1)).table.to_pylist()
    [{'event': 0, 'subscription': 'b', 'score': 2.0}]

    Notes
    -----
    Long posting lists are walked in order of score, so that matches which `k` better ones beat are not examined. Paper:
    Machanavajjhala et al. 2008, sections 2 and 3, for the indexes that are asked for by name.
    """

    question = "all matches"
    numbers = (("k", int),)
    example = "20"
    help = "for each event, only the K matches with the highest scores"

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _checked_k(self.k, "To get every match give no ranking."))


@dataclass(frozen=True, slots=True)
class Relaxed(Ranking):
    """The `k` subscriptions with the largest weight of satisfied conditions; not all conditions need to hold.

    The conditions joined by a subscription's outermost AND are its dimensions. Conditions on one attribute are one
    dimension, which holds if all of them do. The score is the sum of the weights of the dimensions that hold. At least
    one must hold. Ties go to the lower id.

    Attributes
    ----------
    k : int
        The most subscriptions for an event, at least 1.
    combine : str or callable
        How weights become a score: "sum", "max", "min" or a function. A function takes the list of weights, in the
        order of their attributes. Its result must not decrease when a weight grows or is added.
    drop : collection of str
        Attributes to ignore: a dimension that uses one does not count.

    Raises
    ------
    InvalidInput
        If `k` is not an integer of at least 1, `combine` is unknown, or `drop` is not a collection of names.

    Examples
    --------
    >>> import tocsin
    >>> jobs = [{"id": "ward", "where": "rate > 45 AND hours < 30", "weights": {"rate": 2}}]
    >>> tocsin.match(jobs, {"rate": 50, "hours": 35}, ranking=Relaxed(20)).table.to_pylist()
    [{'event': 0, 'subscription': 'ward', 'score': 2.0}]

    Notes
    -----
    The search stops early where weights differ; with equal weights many subscriptions tie. A function for `combine` is
    called for each subscription with a dimension that holds. Paper: Machanavajjhala et al. 2008, section 4.
    """

    question = "the best first"
    numbers = (("k", int),)
    example = "20"
    help = "for each event, the K subscriptions with the most weight in conditions that hold"

    k: int
    combine: str | Callable[[list[float]], float] = "sum"
    drop: Collection[str] = ()

    def __post_init__(self) -> None:
        advice = "For every subscription with a condition that holds, give the number of subscriptions."
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
    """Check k and convert any integer type to `int`."""
    if isinstance(k, bool) or not hasattr(k, "__index__"):
        raise InvalidInput(f"{option('k')} is {k!r:.40}; it must be an integer of at least 1.")
    k = operator.index(k)
    if k < 1:
        raise InvalidInput(f"{option('k')} is {k}; it must be at least 1. {advice}")
    if k > _MOST:
        raise InvalidInput(f"{option('k')} is {k}; it must be at most 2**53. {advice}")
    return int(k)


@dataclass(frozen=True, slots=True)
class Similar(Ranking):
    """The subscriptions with a region and keywords that are similar enough to an event, most similar first.

    The score is `alpha * spatial + (1 - alpha) * textual`, and must reach `threshold`. The spatial part is the share of
    the region that the event's place covers; for a point, all or nothing. The textual part is the share of the
    keywords' weight that the event's list has. Ties go to the lower id.

    Attributes
    ----------
    alpha : float
        The weight of the spatial part, from 0 to 1.
    threshold : float
        The lowest score that is reported, above 0 and at most 1.
    weights : mapping of str to float, optional
        The weight of each word, finite and above 0 (`tocsin.idf` computes them). A word that is not named weighs 1.

    Raises
    ------
    InvalidInput
        If a number is out of range.

    Examples
    --------
    >>> import tocsin
    >>> offers = [{"id": "h", "where": "S_INTERSECTS(at, BBOX(0, 0, 4, 4)) AND A_CONTAINS(words, ('fresh', 'fish'))"}]
    >>> event = {"at": [2, 2, 4, 4], "words": ["fresh", "fish", "today"]}
    >>> tocsin.match(offers, event, ranking=Similar(0.5, 0.4)).table.to_pylist()
    [{'event': 0, 'subscription': 'h', 'score': 0.625}]

    Notes
    -----
    Subscriptions of another shape do not answer; `Stats.unanswered` counts them. Paper: Yu et al. 2015, section 6,
    equation 3.
    """

    question = "similar enough"
    numbers = (("alpha", float), ("threshold", float))
    example = "0.5:0.6"
    help = "the subscriptions with a region and keywords that are similar enough to an event"
    unanswered = "without a region and keywords"

    alpha: float
    threshold: float
    weights: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if not _is_number(self.alpha) or not 0 <= self.alpha <= 1:
            raise InvalidInput(f"{option('alpha')} is {self.alpha!r:.40}; it must be a number from 0 to 1.")
        if not _is_number(self.threshold) or not 0 < self.threshold <= 1:
            raise InvalidInput(
                f"{option('threshold')} is {self.threshold!r:.40}; it must be a number above 0, of at most 1."
            )
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
"""All rankings, by the word in their text form."""
