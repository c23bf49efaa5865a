"""What truths mean as changes: enter, inside, dwell and exit of one object at one subscription, at exact instants.

A truth that is known is a step, at an event or at an instant at which time alone changed it. Steps of one truth are a
run until the truth changes. A duration, such as `enter_after="30 s"`, is due by time alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from tocsin.model.fence import DWELL, ENTER, EXIT, INSIDE, FenceRules, seconds_of

SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class TurnRules:
    """The rules by which truths become changes. Runs count steps, or last so many microseconds."""

    enter_steps: int | None = 1
    enter_span: int = 0
    exit_steps: int | None = 1
    exit_span: int = 0
    dwell: int | None = None
    inside: bool = False

    @classmethod
    def of(cls, rules: FenceRules) -> TurnRules:
        """The rules as fences have them."""
        enter, leave = rules.enter_after, rules.exit_after
        return cls(
            enter if isinstance(enter, int) else None,
            0 if isinstance(enter, int) else round((seconds_of(enter) or 0.0) * SECOND),
            leave if isinstance(leave, int) else None,
            0 if isinstance(leave, int) else round((seconds_of(leave) or 0.0) * SECOND),
            None if rules.dwell is None else round(rules.dwell * SECOND),
            rules.inside,
        )

    @property
    def has_spans(self) -> bool:
        """Whether anything is due by time alone."""
        return self.enter_steps is None or self.exit_steps is None or self.dwell is not None

    @property
    def is_plain(self) -> bool:
        """Whether each truth that differs from the one before is a change, and nothing else is."""
        return self == TurnRules()


class Turn(NamedTuple):
    """A change at an instant; `by_event` says whether an event made it, rather than time alone."""

    at: int
    change: str
    seconds: float
    by_event: bool


@dataclass(slots=True)
class State:
    """Where an object is at a subscription. Without a state the latest truth is FALSE, or was never known."""

    truth: bool
    run_since: int
    run_steps: int = 1
    latest: int = 0  # the latest step
    begun: int | None = None  # the first step of the run that made the object enter
    entered: int = 0
    dwelt: bool = False

    def due(self, rules: TurnRules) -> tuple[int, str] | None:
        """What is due next by time alone, and when."""
        if self.begun is None:
            is_awaited = self.truth and rules.enter_steps is None
            return (self.run_since + rules.enter_span, ENTER) if is_awaited else None
        if not self.truth:
            return (self.run_since + rules.exit_span, EXIT) if rules.exit_steps is None else None
        if rules.dwell is None or self.dwelt:
            return None
        return max(self.begun + rules.dwell, self.entered, self.latest), DWELL

    def pass_time(self, until: int, rules: TurnRules) -> Iterator[Turn]:
        """What is due up to an instant."""
        while (due := self.due(rules)) is not None and due[0] <= until:
            yield self._turn(*due, by_event=False)

    def step(self, truth: bool, at: int, by_event: bool, rules: TurnRules) -> Iterator[Turn]:
        """A truth at an instant, until which time has passed."""
        if truth != self.truth or self.run_steps == 0:
            self.truth, self.run_since, self.run_steps = truth, at, 0
        self.run_steps += 1
        self.latest = at
        if self.begun is None:
            if truth and rules.enter_steps is not None and self.run_steps >= rules.enter_steps:
                yield self._turn(at, ENTER, by_event)
        elif not truth:
            if rules.exit_steps is not None and self.run_steps >= rules.exit_steps:
                yield self._turn(at, EXIT, by_event)
        elif rules.inside and by_event:
            yield Turn(at, INSIDE, (at - self.begun) / SECOND, by_event)
        while (due := self.due(rules)) is not None and due[0] <= at:
            yield self._turn(*due, by_event=by_event and due[0] == at)

    @property
    def is_over(self) -> bool:
        """Whether nothing is to be remembered: the object is outside, and the latest truth is FALSE."""
        return self.begun is None and not self.truth

    def _turn(self, at: int, change: str, by_event: bool) -> Turn:
        if change == ENTER:
            self.begun, self.entered, self.dwelt = self.run_since, at, False
        begun = self.run_since if self.begun is None else self.begun
        if change == EXIT:
            self.begun = None
        elif change == DWELL:
            self.dwelt = True
        return Turn(at, change, (at - begun) / SECOND, by_event)
