"""Explanations of a message's rank for a subscription, computed from words and places, not from the index."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tocsin.model.subscription import SubscriptionId
from tocsin.model.window import Bounds, MessageKey


@dataclass(frozen=True, slots=True)
class WindowExplanation:
    """The score and the rank of a message for a subscription; `str` gives the explanation in words.

    Attributes
    ----------
    subscription : str or int
        The subscription's id.
    message : str or int
        The message's key or number.
    score : float or None
        The score; None if the two share no word.
    rank : int or None
        The place among the best, from 1; None if the message is not among them.
    common : tuple of str
        The words in common.
    spatial, textual : float
        The two parts of the score, each from 0 to 1, before `alpha` weighs them.
    reason : str
        Why the message has this rank, or none.
    """

    subscription: SubscriptionId
    message: MessageKey
    score: float | None
    rank: int | None
    common: tuple[str, ...]
    spatial: float
    textual: float
    reason: str

    @property
    def is_best(self) -> bool:
        """Whether the message is among the best."""
        return self.rank is not None

    def __str__(self) -> str:
        head = "is among the best" if self.is_best else "is not among the best"
        lines = [f"message {self.message!r} {head} of {self.subscription!r}: {self.reason}"]
        if self.score is not None:
            lines += [
                f"  score    {self.score:.6g}",
                f"  place    {self.spatial:.6g}(1: the same place, 0: opposite corners of the bounds)",
                f"  words    {self.textual:.6g}, in common: {', '.join(self.common)}",
            ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Side:
    """A message or a subscription: its place, and the squared weight and the factor of each word."""

    place: tuple[float, float]
    words: dict[str, tuple[float, float]]

    @property
    def norm(self) -> float:
        in_order = sorted((square * factor, square, factor) for square, factor in self.words.values())
        return math.sqrt(_added(added * factor for added, _, factor in in_order))


def explain(
    subscription: tuple[SubscriptionId, Side, float, int],
    message: tuple[MessageKey, int, Side],
    best: Sequence[tuple[int, float]],
    bounds: Bounds,
) -> WindowExplanation:
    """Explain a message in the window; `best` has the subscription's best messages (number, score), best first."""
    name, wanted, alpha, k = subscription
    key, number, given = message
    common = sorted(wanted.words.keys() & given.words.keys())
    dx, dy = wanted.place[0] - given.place[0], wanted.place[1] - given.place[1]
    spatial = 1.0 - math.sqrt(dx * dx + dy * dy) / bounds.diagonal
    if not common:
        reason = f"it has no word in common; the subscription asks for {', '.join(sorted(wanted.words))}"
        return WindowExplanation(name, key, None, None, (), spatial, 0.0, reason)
    shared = _added(sorted(square * factor for square, factor in map(given.words.__getitem__, common)))
    textual = min(shared / (wanted.norm * given.norm), 1.0)
    score = alpha * spatial + (1.0 - alpha) * textual
    numbers = [one for one, _ in best]
    rank = numbers.index(number) + 1 if number in numbers else None
    if rank is not None:
        reason = f"it is number {rank} of {len(best)}"
    else:
        last = best[-1][1]
        how = "is newer" if last == score else f"has {last:.6g}"
        reason = f"it has {score:.6g}, but the last of the best {k} {how}"
    return WindowExplanation(name, key, score, rank, tuple(common), spatial, textual, reason)


def _added(numbers: Iterable[float]) -> float:
    """The sum, added from the first on; `sum` may round otherwise."""
    total = 0.0
    for number in numbers:
        total += number
    return total
