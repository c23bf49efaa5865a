"""Subscriptions, matches, rejects, reports and warnings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from tocsin.errors import RecordError, in_field
from tocsin.model.expression import Expression

SubscriptionId: TypeAlias = str | int

DEFAULT_SCORE: Final = 1.0
_SMALLEST_ID: Final = -(2**63)
_LARGEST_ID: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Subscription:
    """A stored query: `where` is the tree, `source` the text it was parsed from."""

    id: SubscriptionId
    where: Expression
    source: str
    score: float = DEFAULT_SCORE
    payload: Any = field(default=None, compare=False)
    weights: Mapping[str, float] | None = field(default=None, compare=False)


class Match(NamedTuple):
    """A subscription that an event satisfies."""

    subscription: SubscriptionId
    score: float


class Hit(Match):
    """A match with its subscription's payload. As a tuple it holds only the match."""

    payload: Any

    def __new__(cls, subscription: SubscriptionId, score: float, payload: Any = None) -> Hit:
        hit = super().__new__(cls, subscription, score)
        hit.payload = payload
        return hit

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.subscription, self.score, self.payload

    def __repr__(self) -> str:
        return f"Match(subscription={self.subscription!r}, score={self.score!r}, payload={self.payload!r})"


class Reject(NamedTuple):
    """A record, or a field of a record, that could not be taken, and the reason. The rest was processed.

    `row` counts from 0. `id` is the subscription's, if it is known. `field` is empty when the whole record is rejected.
    """

    row: int
    id: SubscriptionId | None
    field: str
    reason: str


class _Report(NamedTuple):
    accepted: int
    errors: list[Reject]


class Report(_Report):
    """The result of adding a batch of subscriptions: `accepted, errors = report`.

    `warnings` lists ignored fields and probable mistakes.
    """

    warnings: tuple[Notice, ...]

    def __new__(cls, accepted: int, errors: list[Reject], warnings: Iterable[Notice] = ()) -> Report:
        """The tuple holds only `accepted` and `errors`, so warnings do not affect equality."""
        report = super().__new__(cls, accepted, errors)
        report.warnings = tuple(warnings)
        return report

    def __repr__(self) -> str:
        return f"Report({self.accepted} accepted, {summary_of(self.errors)})"


def summary_of(rejects: Sequence[Reject]) -> str:
    """The number of rejects and the reason for the first, as text for users."""
    if not rejects:
        return "no errors"
    first = rejects[0]
    reason = in_field(first.field, first.reason[:80])
    return f"{len(rejects)} error{'s' * (len(rejects) > 1)} (row {first.row}: {reason})"


def checked_id(raw: object) -> SubscriptionId:
    """The id as str or int; raises `RecordError` on anything else."""
    if isinstance(raw, str):
        try:
            raw.encode()
        except UnicodeEncodeError:
            raise RecordError("the id is not valid Unicode: it has a lone surrogate", "id") from None
        return str(raw)
    if isinstance(raw, int) and not isinstance(raw, bool):
        if _SMALLEST_ID <= raw <= _LARGEST_ID:
            return int(raw)
        raise RecordError(f"id {shown(raw)} does not fit 64 bits; use a string", "id")
    if raw is None:
        raise RecordError("the subscription has no id; give each one a string or an integer", "id")
    raise RecordError(f"an id is a string or an integer, not a {type(raw).__name__}", "id")


def checked_score(raw: object) -> float:
    """The score as a finite float, 1.0 for None; raises `RecordError` on anything else."""
    if raw is None:
        return DEFAULT_SCORE
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise RecordError(f"a score is a number, not {shown(raw)}", "score")
    try:
        score = float(raw)
    except OverflowError:
        score = math.inf
    if not math.isfinite(score):
        raise RecordError(f"score {shown(raw)} is not finite", "score")
    return score


def shown(raw: object, width: int = 40) -> str:
    """A value as messages show it, shortened to `width` characters."""
    if isinstance(raw, int) and raw.bit_length() > 256:
        return f"of {raw.bit_length()} bits"
    text = repr(raw)
    return text if len(text) <= width else text[: width - 3] + "..."


class Notice(NamedTuple):
    """A warning about a condition that can never be, or always is, TRUE for the events that came.

    `condition` is an example of it, taken from the subscription `example`; `subscriptions` counts the subscriptions
    that have one. In a warning about an option of the call, `condition` is the option, `subscriptions` is 0 and
    `example` is None.
    """

    attribute: str
    condition: str
    reason: str
    subscriptions: int
    example: SubscriptionId | None

    def __str__(self) -> str:
        if self.example is None:
            return f"{self.condition}: {self.reason}"
        more = f" and {self.subscriptions - 1:,} more" if self.subscriptions > 1 else ""
        return f"{self.condition} (subscription {self.example}{more}): {self.reason}"


def together(ahead: Sequence[Notice], then: Sequence[Notice]) -> list[Notice]:
    """Concatenate two lists. If both warn about one condition, only the warning of the second list is kept."""
    conditions = {notice.condition for notice in then}
    return [*(notice for notice in ahead if notice.condition not in conditions), *then]
