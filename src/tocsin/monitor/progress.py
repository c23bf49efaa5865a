"""How far a function of several events has come for an object, and when time alone changes a comparison with it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.payloads import numbers_of
from tocsin.language.canonical import constant_text
from tocsin.language.operators.threshold import Threshold
from tocsin.language.truths import compare
from tocsin.model.values import Instant, Value
from tocsin.monitor.terms.columns import Codes
from tocsin.monitor.terms.memory import layouts
from tocsin.monitor.turns import SECOND

_COUNTS: Final = (layouts.COUNT, layouts.DISTINCT)
_UNITS: Final = ((86_400 * SECOND, "d"), (3600 * SECOND, "h"), (60 * SECOND, "min"))
_LONGEST_S: Final = 4e12


class Seen(NamedTuple):
    """What a term has seen of an object, at an instant up to which time has passed. E entries of W words."""

    kind: int
    span: int  # microseconds; 0 without a span
    most: int  # entries that are kept of a count
    instant: int
    entries: NDArray[np.int64]  # (E, W) within the span, the oldest first

    @classmethod
    def at(cls, kind: int, span: int, most: int, instant: int, entries: NDArray[np.int64]) -> Seen:
        """What is within the span at an instant."""
        if kind < layouts.PREVIOUS:
            entries = entries[entries[:, 0] >= instant - span]
        return cls(kind, span, most, instant, entries)

    def value(self, known: Codes) -> Value | None:
        """The value of the term; None if it has none. Events of this instant are earlier ones for SINCE."""
        kind, entries = self.kind, self.entries
        if kind in _COUNTS:
            return float(len(entries))
        if not len(entries):
            return None
        if kind == layouts.PREVIOUS:
            of_type, payload = entries[0, :2].tolist()
            return None if of_type == layouts.ABSENT else known.decoded(of_type, payload)
        if kind == layouts.SINCE:
            return (self.instant - int(entries[0, 0])) / SECOND
        numbers = numbers_of(entries[:, 1]).tolist()
        if kind not in (layouts.SUM, layouts.AVG):
            return float(numbers[0])  # no later one is less, or greater
        total = _sum(numbers)
        return None if total is None else (total / len(numbers) if kind == layouts.AVG else total) + 0.0

    def lines(self, value: Value | None, threshold: Threshold | None, truth: bool | None) -> Iterator[str]:
        """How far a comparison has come, and when time alone changes its truth."""
        if self.kind in _COUNTS:
            yield self._counted(threshold, truth is True)
        elif self.kind == layouts.SINCE:
            yield self._since(value, threshold, truth is True)
        elif self.kind != layouts.PREVIOUS:
            yield self._aggregated(value, threshold, truth is True)

    def _counted(self, threshold: Threshold | None, truth: bool) -> str:
        count = len(self.entries)
        shown = f"at least {count}" if count >= self.most else str(count)
        fewest = None if threshold is None else _fewest(threshold)
        if threshold is None or fewest is None or fewest < 1:
            return f"{shown} so far{self._leaving()}"
        is_above = threshold.op in (">", ">=")
        if is_above is truth:  # the count has reached the number
            ends = shown_instant(int(self.entries[-fewest, 0]) + self.span)
            return f"{shown} of {fewest}; {'FALSE' if truth else 'TRUE'} after {ends} without another"
        return f"{shown} of {fewest} so far{self._leaving()}" + ("" if is_above else f"; FALSE at {fewest}")

    def _leaving(self) -> str:
        if not len(self.entries):
            return ""
        return f"; the oldest counts until {shown_instant(int(self.entries[0, 0]) + self.span)}"

    def _aggregated(self, value: Value | None, threshold: Threshold | None, truth: bool) -> str:
        if not len(self.entries):
            return "no number within the span"
        if self.kind in (layouts.LEAST, layouts.GREATEST):
            return f"it counts until {shown_instant(int(self.entries[0, 0]) + self.span)}"
        is_awaited = self.kind == layouts.SUM and threshold is not None and threshold.op in (">", ">=") and not truth
        goal = f"{_number(value)} of {_number(threshold.number)} so far, " if threshold and is_awaited else ""
        count = len(self.entries)
        return f"{goal}of {count} {'number' if count == 1 else 'numbers'}{self._leaving()}"

    def _since(self, value: Value | None, threshold: Threshold | None, truth: bool) -> str:
        if value is None:
            return "no such event so far"
        line = f"{shown_span(self.instant - int(self.entries[0, 0]))} so far"
        turn = None if threshold is None else _turn(threshold, truth)
        if turn is None:
            return line
        span, is_after = turn
        at = int(self.entries[0, 0]) + span
        if at + is_after <= self.instant:
            return line
        change = f"{'FALSE' if truth else 'TRUE'} in {shown_span(at - self.instant)}"
        return f"{line}; {change}, {'after' if is_after else 'at'} {shown_instant(at)} without another"


def _fewest(threshold: Threshold) -> int | None:
    """The least count at which a comparison differs from one with 0, or is TRUE; None for others."""
    if not abs(threshold.number) < 2**53 or threshold.op not in ("<", ">=", ">", "<="):
        return None
    is_with = threshold.op in ("<", ">=")
    return math.ceil(threshold.number) if is_with else math.floor(threshold.number) + 1


def _turn(threshold: Threshold, truth: bool) -> tuple[int, bool] | None:
    """How many microseconds after an event its SINCE makes a comparison turn, and whether only later than that."""
    op, number = threshold.op, threshold.number
    if op not in ("<", "<=", ">", ">=") or not 0 <= number < _LONGEST_S:
        return None
    span = int(number * SECOND) - 2
    while span / SECOND < number:
        span += 1
    turns = (truth, compare(op, span / SECOND, number), compare(op, (span + 1) / SECOND, number))
    if turns[1] is not turns[0]:
        return span, False
    return (span, True) if turns[2] is not turns[0] else None


def _sum(numbers: list[float]) -> float | None:
    """The sum, rounded once; None beyond float64."""
    try:
        return math.fsum(numbers)
    except OverflowError:  # on the way
        pass
    try:
        return float(sum(map(Fraction, numbers)))
    except OverflowError:
        return None


def _number(value: Value | None) -> str:
    return "" if value is None else constant_text(value)


def shown_instant(microseconds: int) -> str:
    """An instant in UTC."""
    return Instant(microseconds).isoformat()


def shown_span(microseconds: int) -> str:
    """A length of time by its two largest units, from a minute on in whole seconds.

    >>> shown_span(240_000_001), shown_span(3_903_000_000), shown_span(1_500_000), shown_span(1)
    ('4 min', '1 h 5 min', '1.5 s', '0.000001 s')
    """
    rest = microseconds if microseconds < 60 * SECOND else round(microseconds / SECOND) * SECOND
    parts: list[str] = []
    for size, unit in _UNITS:
        if rest >= size:
            parts.append(f"{rest // size} {unit}")
            rest %= size
    if rest or not parts:
        parts.append(f"{rest / SECOND:f}".rstrip("0").rstrip(".") + " s")
    return " ".join(parts[:2])
