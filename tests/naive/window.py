"""Which recent messages are best for each subscription? Every message of the window, for each of them, at every step.

The score is `alpha * (1.0 - distance / diagonal) + (1.0 - alpha) * cosine`, in float64. Where nothing is said of what
this means, it was chosen here:

* **Distance** is `sqrt(dx * dx + dy * dy)`, the diagonal that of the bounds, `sqrt(w * w + h * h)`.
* **Cosine**: words are a set. `cosine = min(shared / (norm * norm), 1.0)`, where `shared` is the sum of the squares of
  what the common words weigh, and each `norm` the root of the sum of the squares of all words of its side. Sums are
  added from the smallest weight on, so that no answer depends on the order of words.
* **Term frequencies**: unless they are "boolean", a word weighs in a message its weight times a factor: how often it
  occurs ("natural"), or one more than the natural logarithm of that. What adds least is added first.
* **Who is in question.** A message with a common word, whatever its score.
* **The best k**: by score descending, then the newer first. Messages are numbered from 0 as they are taken; a bad one
  takes no number and no place.
* **The window.** Of a count: the last `size` messages. Of a time: those of which `now - time < span`, where `now` is
  the time of the newest; a message that is older than the one before is bad. Of both: what both leave.
* **A push**: first messages expire, then the new one comes. Its changes are the difference of what was best before and
  after, whatever lay between: exits, then enters, each by subscription, then the older message first.
* **A new subscription** sees the window as it stands, and causes no change; nor does one that goes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Id = str | int
Bounds = tuple[float, float, float, float]
Place = tuple[float, float]


class Message(NamedTuple):
    """A message of the window; `name` is its key, or its number."""

    number: int
    name: Id
    words: Mapping[str, float]  # the factor of each
    location: Place
    time: float


class Wanted(NamedTuple):
    """A subscription."""

    words: frozenset[str]
    location: Place
    k: int
    alpha: float


class Change(NamedTuple):
    """What became of a message for a subscription: `kind` is exit or enter."""

    subscription: Id
    message: Id
    kind: str
    score: float


def total(numbers: Iterable[float]) -> float:
    """The sum, added in this order; `sum` may round otherwise."""
    result = 0.0
    for number in numbers:
        result += number
    return result


class NaiveWindow:
    """All messages of the window, and all subscriptions."""

    def __init__(
        self,
        bounds: Bounds,
        size: int | None = None,
        time: float | None = None,
        weights: Mapping[str, float] | None = None,
        term_frequency: str = "boolean",
    ) -> None:
        self.bounds, self.size, self.time, self.term_frequency = bounds, size, time, term_frequency
        self.weights = weights or {}
        self.messages: list[Message] = []
        self.wanted: dict[Id, Wanted] = {}
        self.taken = 0

    def subscribe(self, name: Id, words: Iterable[str], location: Place, k: int, alpha: float) -> None:
        self.wanted[name] = Wanted(frozenset(words), location, k, alpha)

    def unsubscribe(self, name: Id) -> None:
        del self.wanted[name]

    def push(
        self, words: Iterable[str], location: Place, key: Id | None = None, time: float | None = None
    ) -> list[Change] | None:
        """What changes; None for a bad message."""
        if not self.is_inside(location) or (self.time is not None and self.is_late(time)):
            return None
        before = {name: self._best(one) for name, one in self.wanted.items()}
        now = 0.0 if time is None else time
        if self.time is not None:
            self.messages = [one for one in self.messages if now - one.time < self.time]
        number = self.taken
        factors = {word: self._factor(count) for word, count in Counter(words).items()}
        self.messages.append(Message(number, number if key is None else key, factors, location, now))
        if self.size is not None:
            self.messages = self.messages[-self.size :]
        self.taken += 1
        after = {name: self._best(one) for name, one in self.wanted.items()}
        return [
            *self._differences("exit", before, after),
            *self._differences("enter", after, before),
        ]

    def results(self, name: Id) -> list[tuple[Id, float]]:
        """The best messages of a subscription, best first."""
        return [(message.name, score) for message, score in self._best(self.wanted[name])]

    def is_inside(self, location: Place) -> bool:
        left, lower, right, upper = self.bounds
        return left <= location[0] <= right and lower <= location[1] <= upper

    def is_late(self, time: float | None) -> bool:
        """Whether it has no time, or one before that of the newest message."""
        return time is None or bool(self.messages and time < self.messages[-1].time)

    def score(self, one: Wanted, message: Message) -> float | None:
        """Equation 1; None where no word is common."""
        common = one.words & message.words.keys()
        if not common:
            return None
        dx, dy = one.location[0] - message.location[0], one.location[1] - message.location[1]
        width, height = self.bounds[2] - self.bounds[0], self.bounds[3] - self.bounds[1]
        spatial = 1.0 - math.sqrt(dx * dx + dy * dy) / math.sqrt(width * width + height * height)
        shared = total(added for added, _, _ in sorted(self._added(word, message.words[word]) for word in common))
        weighed = sorted(self._added(word, factor) for word, factor in message.words.items())
        norm = math.sqrt(total(added * factor for added, _, factor in weighed))
        norms = math.sqrt(self._squares(one.words)) * norm
        return one.alpha * spatial + (1.0 - one.alpha) * min(shared / norms, 1.0)

    def _factor(self, count: int) -> float:
        """What a word's weight is multiplied by that occurs so often."""
        return {"boolean": 1.0, "natural": float(count), "logarithm": 1.0 + math.log(count)}[self.term_frequency]

    def _added(self, word: str, factor: float) -> tuple[float, float, float]:
        """What a common word adds, by which sums are ordered; its squared weight; and its factor."""
        weight = self.weights.get(word, 1.0)
        return weight * weight * factor, weight * weight, factor

    def _squares(self, words: Iterable[str]) -> float:
        return total(weight * weight for weight in sorted(self.weights.get(word, 1.0) for word in words))

    def _best(self, one: Wanted) -> list[tuple[Message, float]]:
        scored = [(message, score) for message in self.messages if (score := self.score(one, message)) is not None]
        return sorted(scored, key=lambda pair: (-pair[1], -pair[0].number))[: one.k]

    @staticmethod
    def _differences(kind: str, ours: Mapping[Any, Any], others: Mapping[Any, Any]) -> list[Change]:
        """What one side has and the other has not, by subscription, then the older first."""
        found = []
        for name in sorted(ours):
            there = {message.number for message, _ in others[name]}
            own = sorted((message.number, message, score) for message, score in ours[name])
            found += [Change(name, message.name, kind, score) for number, message, score in own if number not in there]
        return found
