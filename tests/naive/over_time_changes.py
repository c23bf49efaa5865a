"""What truths over time mean as changes: enter, inside, dwell and exit of one object at one subscription.

Time alone may make a condition TRUE or FALSE between two events, at a whole microsecond. `steps` is the sequence of
truths: one for each event at which the condition is known, and one for each instant at which time alone changed it.

Decisions where the contract says nothing:

1. At one instant, what changes by time comes before what changes by the events of that instant. So `advance` to an
   instant tells all that time changes up to and including it, and an event of that instant may still follow.
2. An instant at which time alone changed the truth is one in a run of `enter_after` or `exit_after`, as an event is.
   An instant at which it changed nothing is none, so that it does not matter how often time is advanced.
3. UNKNOWN is not in the sequence, at an event or between events. A change to UNKNOWN and back is not a change.
4. With a span, `enter_after` and `exit_after` are due as soon as the run has lasted so long, by time alone too.
5. `dwell` is due exactly so long after the first of the run that made the object enter, not with the next event.
   If the subscription is FALSE then, but the object has not left, `dwell` comes when it is TRUE again.
6. `inside` is told at events only, and not at the one that made the object enter.
7. `seconds` counts to the instant of the change, which time alone may have made.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tests.naive.flatten import Flat
from tests.naive.over_time import SECOND, Condition, History
from tests.naive.truth import result
from tocsin.model.expression import Arithmetic, Attribute, Call, walk
from tocsin.model.values import Value


class Step(NamedTuple):
    """A truth that is known: at an event of this number, or at an instant at which time alone changed it."""

    at: int
    event: int | None
    truth: bool


class Turn(NamedTuple):
    """A change of one object at one subscription. `event` is None for one that time alone made."""

    at: int
    event: int | None
    change: str
    seconds: float


@dataclass(frozen=True)
class Lasting:
    """How long a run must last, in microseconds."""

    span: int


@dataclass(frozen=True)
class Options:
    """The options of changes. `dwell` is in microseconds."""

    enter_after: int | Lasting = 1
    exit_after: int | Lasting = 1
    dwell: int | None = None
    inside: bool = False


def steps(condition: Condition, history: History, until: int, every: bool = False) -> list[Step]:
    """All truths of a condition up to an instant. `every` tries each microsecond; else those that can matter."""
    known: list[Step] = []
    for number, event in enumerate(history.events):
        truth = history.truth(condition, number)
        if truth is not None:
            known.append(Step(event.at, number, truth))
        last = number + 1 == len(history.events)
        end = until if last else history.events[number + 1].at
        between = range(event.at + 1, end + 1)
        for instant in between if every else _instants(condition, history, number, between):
            truth = history.truth_after(condition, number, instant)
            if truth is not None and (not known or known[-1].truth is not truth):
                known.append(Step(instant, None, truth))
    return known


def _instants(condition: Condition, history: History, number: int, between: range) -> list[int]:
    """The instants after an event at which the truth can change: windows lose an event, or SINCE meets a number.

    SINCE may be compared with any other value. What is computed from it needs `every`.
    """
    since = {name: term for name, term in condition.terms if term.function == "SINCE"}
    _refuse_computing(condition, since)
    past = history.events[: number + 1]
    spans = {term.span for _, term in condition.terms if term.span is not None}
    losses = {event.at + span + 1 for span in spans for event in past}
    starts = sorted(instant for instant in {between.start, *losses} if instant in between)
    instants = set(starts)
    for start in starts:
        values = history.values(condition, number, start)
        numbers = set(_numbers(condition, values, since))
        for name in since:
            instants |= set(_meetings(start, values.get(name), numbers))
    return sorted(instant for instant in instants if instant in between)


def _refuse_computing(condition: Condition, since: Container[str]) -> None:
    for node in walk(condition.expression):
        parts = node.children() if isinstance(node, Arithmetic | Call) else ()
        if any(isinstance(part, Attribute) and part.name in since for part in parts):
            raise NotImplementedError("a value computed from SINCE: try every microsecond")


def _numbers(condition: Condition, values: Flat, since: Container[str]) -> Iterator[float]:
    """What every part of an expression is that does not ask about SINCE, where it is a number."""
    for part in walk(condition.expression):
        if not any(isinstance(node, Attribute) and node.name in since for node in walk(part)):
            number = result(part, values)
            if type(number) is float:
                yield number


def _meetings(start: int, since: Value | None, numbers: Iterable[float]) -> Iterator[int]:
    """The microseconds at, before and after which SINCE is one of some numbers, by what it is at an instant."""
    if isinstance(since, float):
        begun = start - round(since * SECOND)
        for value in numbers:
            if abs(value) < 1e12:
                yield from range(begun + round(value * SECOND) - 1, begun + round(value * SECOND) + 2)


def turns(known: list[Step], until: int, options: Options) -> list[Turn]:
    """The changes that the truths mean up to an instant, in order."""
    changes: list[Turn] = []
    begun: int | None = None  # of the run that made the object enter
    entered, dwelt = 0, False
    for number, step in enumerate(known):
        run = _run(known[: number + 1])
        end = known[number + 1].at if number + 1 < len(known) else until
        if begun is not None and not step.truth:
            due = _due(run, options.exit_after)
            if due is not None and due <= end:
                changes.append(_turn("exit", step, due, begun))
                begun = None
        elif begun is not None and options.inside and step.event is not None:
            changes.append(_turn("inside", step, step.at, begun))
        elif begun is None and step.truth:
            due = _due(run, options.enter_after)
            if due is not None and due <= end:
                begun, entered, dwelt = run[0].at, due, False
                changes.append(_turn("enter", step, due, begun))
        if begun is not None and step.truth and options.dwell is not None and not dwelt:
            due = max(begun + options.dwell, entered, step.at)
            if due <= end:
                dwelt = True
                changes.append(_turn("dwell", step, due, begun))
    return changes


def _run(known: list[Step]) -> list[Step]:
    """The latest steps that have one truth."""
    first = len(known) - 1
    while first > 0 and known[first - 1].truth is known[-1].truth:
        first -= 1
    return known[first:]


def _due(run: list[Step], needed: int | Lasting) -> int | None:
    """When a run is long enough: now or later; None if that needs another step."""
    if isinstance(needed, Lasting):
        return run[0].at + needed.span
    return run[-1].at if len(run) >= needed else None


def _turn(change: str, step: Step, at: int, begun: int) -> Turn:
    return Turn(at, step.event if at == step.at else None, change, (at - begun) / SECOND)
