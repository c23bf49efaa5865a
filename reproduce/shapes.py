"""Claims about the shape of series of measurements. Each is checked by itself and reported with its numbers.

A claim of a paper has the sentence that it checks in `says`; several claims may check one sentence. One without a
sentence is our own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Lines = Mapping[str, Sequence[float | None]]
"""The measurements of each series, None for missing ones."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The shape that a paper's plot shows for one series, perhaps relative to others.

    `below`: `factor` times it is at most each of `than`, at every point that both have, or only at the last of these
    (`everywhere = false`).
    `rises`, `falls`: from first to last by at least `factor`. `steady`: highest by lowest is at most `factor`.
    `lowest`: its least value is at one of the swept values `at`.
    `steeper`: its growth from first to last is at least `factor` times that of each of `than`.
    `converges`: from first to last the ratio of the highest to the lowest, of it and `than`, shrinks by `factor`.
    A claim covers the first `among` points, or all.
    """

    kind: str
    series: str
    than: tuple[str, ...] = ()
    factor: float = 1.0
    everywhere: bool = True
    among: int | None = None
    at: tuple[float, ...] = ()
    says: str = ""
    why: str = ""
    """Why it does not hold here, if it is known not to."""

    def check(self, lines: Lines, values: Sequence[float | str] = ()) -> tuple[bool | None, str]:
        """Whether it holds, or None without anything to compare; and a sentence for the report.

        `values` are the swept values, one for each measurement of a line.
        """
        lines = {name: line[: self.among] for name, line in lines.items()}
        own = lines.get(self.series, ())
        if self.kind == _LOWEST:
            return _lowest(self, own, values)
        if self.kind == _CONVERGES:
            return _converges(self, [own, *(lines.get(other, ()) for other in self.than)])
        if self.kind in _ALONE:
            return _ALONE[self.kind](self, [one for one in own if one is not None])
        parts = [_BESIDE[self.kind](self, other, own, lines.get(other, ())) for other in self.than]
        known = [held for held, _ in parts if held is not None]
        return (all(known) if known else None), "; ".join(text for _, text in parts)


def claim_of(given: Mapping[str, Any]) -> Claim:
    """A claim from a table of a TOML file. Raises `ValueError` or `TypeError` for unknown contents."""
    claim = Claim(**{**given, "than": tuple(given.get("than", ())), "at": tuple(given.get("at", ()))})
    beside = [*_BESIDE, _CONVERGES]
    kinds = [*_ALONE, _LOWEST, *beside]
    if claim.kind not in kinds:
        raise ValueError(f"a claim {claim.kind!r} is none of {', '.join(kinds)}")
    for name, has, needs in (
        ("than", claim.than, claim.kind in beside),
        ("at", claim.at, claim.kind == _LOWEST),
    ):
        if bool(has) != needs:
            raise ValueError(f"a claim {claim.kind!r} {'needs' if needs else 'takes no'} `{name}`")
    return claim


def _at_least(claim: Claim) -> str:
    among = "" if claim.among is None else f" of the first {claim.among}"
    return among if claim.factor == 1 else f"{among}, {claim.factor:g} times or more"


def _times(one: float, of: float) -> float:
    """The ratio of two measures; infinite for a value over 0, and 1 for 0 over 0."""
    if of == 0:
        return math.inf if one > 0 else 1.0
    return one / of


def _growth(own: Sequence[float]) -> float | None:
    return own[-1] / own[0] if len(own) > 1 and own[0] > 0 else None


def _rises(claim: Claim, own: Sequence[float]) -> tuple[bool | None, str]:
    growth = _growth(own)
    if growth is None:
        return None, f"{claim.series} rises: too few points"
    return growth >= claim.factor, f"{claim.series} rises{_at_least(claim)}: {growth:.2f}"


def _falls(claim: Claim, own: Sequence[float]) -> tuple[bool | None, str]:
    growth = _growth(own)
    if growth is None:
        return None, f"{claim.series} falls: too few points"
    times = 1 / growth if growth else math.inf
    return times >= claim.factor, f"{claim.series} falls{_at_least(claim)}: {times:.2f}"


def _steady(claim: Claim, own: Sequence[float]) -> tuple[bool | None, str]:
    if len(own) < 2 or min(own) <= 0:
        return None, f"{claim.series} is steady: too few points"
    spread = max(own) / min(own)
    return spread <= claim.factor, f"{claim.series} is steady within {claim.factor:g} times: {spread:.2f}"


def _lowest(claim: Claim, own: Sequence[float | None], values: Sequence[float | str]) -> tuple[bool | None, str]:
    known = [(measured, value) for measured, value in zip(own, values, strict=False) if measured is not None]
    text = f"{claim.series} is lowest at {' or '.join(map(str, claim.at))}"
    if len(known) < 2:
        return None, f"{text}: too few points"
    least = min(known)[1]
    return least in claim.at, f"{text}: at {least}"


def _below(
    claim: Claim, other: str, own: Sequence[float | None], others: Sequence[float | None]
) -> tuple[bool | None, str]:
    pairs = [(a, b) for a, b in zip(own, others, strict=False) if a is not None and b is not None]
    if not pairs:
        return None, f"{claim.series} below {other}: nothing to compare"
    ratios = [_times(b, a) for a, b in (pairs if claim.everywhere else pairs[-1:])]
    where = "everywhere" if claim.everywhere else "at last"
    return min(ratios) >= claim.factor, f"{claim.series} below {other} {where}{_at_least(claim)}: {min(ratios):.2f}"


def _steeper(
    claim: Claim, other: str, own: Sequence[float | None], others: Sequence[float | None]
) -> tuple[bool | None, str]:
    pairs = [(a, b) for a, b in zip(own, others, strict=False) if a is not None and b is not None]
    mine, theirs = _growth([a for a, _ in pairs]), _growth([b for _, b in pairs])
    if mine is None or theirs is None:
        return None, f"{claim.series} steeper than {other}: too few points"
    text = f"{claim.series} steeper than {other}{_at_least(claim)}: {mine:.2f} by {theirs:.2f}"
    return mine >= claim.factor * theirs, text


def _converges(claim: Claim, together: Sequence[Sequence[float | None]]) -> tuple[bool | None, str]:
    points = [[value for value in point if value is not None] for point in zip(*together, strict=False)]
    spreads = [max(point) / min(point) for point in points if len(point) == len(together) and min(point) > 0]
    text = f"{claim.series} converges with {', '.join(claim.than)}{_at_least(claim)}"
    if len(spreads) < 2:
        return None, f"{text}: too few points"
    return spreads[0] >= claim.factor * spreads[-1], f"{text}: from {spreads[0]:.2f} to {spreads[-1]:.2f}"


_CONVERGES = "converges"
_LOWEST = "lowest"
_ALONE = {"rises": _rises, "falls": _falls, "steady": _steady}
_BESIDE = {"below": _below, "steeper": _steeper}
