"""Subscriptions, matches, rejects, reports and warnings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from os import PathLike
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from tocsin.errors import InvalidInput, LeftOut, RecordError, in_field
from tocsin.model.expression import Expression
from tocsin.model.showing import html_table
from tocsin.model.values import class_of

SubscriptionId: TypeAlias = str | int

DEFAULT_SCORE: Final = 1.0
_MOST_SHOWN: Final = 10
_SMALLEST_ID: Final = -(2**63)
_LARGEST_ID: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Subscription:
    """A stored query with its parsed expression, as an element of a source of subscriptions.

    Attributes
    ----------
    id : str or int
        The id; integers fit 64 bits.
    where : Expression
        The condition, as `tocsin.parse` returns it.
    source : str
        The text of the condition.
    score : float
        The rank among matches, for `Top`; finite.
    payload : any JSON value
        What matches return with `payload=True`.
    weights : mapping of str to float, optional
        The weight of each attribute, for `Relaxed`; finite and at least 0. An attribute that is not named weighs 1.
    """

    id: SubscriptionId
    where: Expression
    source: str
    score: float = DEFAULT_SCORE
    payload: Any = field(default=None, compare=False)
    weights: Mapping[str, float] | None = field(default=None, compare=False)


class Omitted(Enum):
    """A value that an answer of the service was too large for. It stands in the place of the value."""

    PAYLOAD = "payload"


def payload_in(value: Any, id: SubscriptionId) -> Any:
    """The payload of a subscription that an answer has; raises `LeftOut` if the answer left it out."""
    if isinstance(value, Omitted):
        raise LeftOut(f"the delivery was too large for the payload of {id!r}; read it from the subscription")
    return value


class Match(NamedTuple):
    """A subscription that an event satisfies.

    As a tuple it has two elements.

    Attributes
    ----------
    subscription : str or int
        The subscription's id.
    score : float
        The subscription's score; with a ranking, the score by that ranking.
    """

    subscription: SubscriptionId
    score: float

    @property
    def payload(self) -> Any:
        """The subscription's payload, or None if it has none.

        Raises
        ------
        AttributeError
            If the payloads were not asked for.
        LeftOut
            If a delivery of the service was too large for it.
        """
        raise AttributeError("the payloads were not asked for; call match(event, payload=True)")

    @property
    def left_out(self) -> tuple[str, ...]:
        """The attributes that a delivery of the service was too large for: `("payload",)`, or none."""
        return ()

    @property
    def named(self) -> dict[str, list[int]]:
        """The named parts of the subscription that held, each with the places of list elements that made it hold.

        A part that is about no list has no elements. A part with several lists tells those of the first.

        Raises
        ------
        AttributeError
            If the named parts were not asked for.
        """
        raise AttributeError("the named parts were not asked for; call match(event, named=True)")


class Hit(Match):
    """A match with what else was asked for. As a tuple it holds only the match."""

    def __new__(cls, subscription: SubscriptionId, score: float, more: Mapping[str, Any]) -> Hit:
        """`more` has `payload`, `named` or both."""
        hit = super().__new__(cls, subscription, score)
        hit.__dict__["more"] = more
        return hit

    @property
    def payload(self) -> Any:
        more = self.__dict__["more"]
        return payload_in(more["payload"], self.subscription) if "payload" in more else super().payload

    @property
    def left_out(self) -> tuple[str, ...]:
        return tuple(one.value for one in self.__dict__["more"].values() if isinstance(one, Omitted))

    @property
    def named(self) -> dict[str, list[int]]:
        return self.__dict__["more"]["named"] if "named" in self.__dict__["more"] else super().named

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.subscription, self.score, self.__dict__["more"]

    def __repr__(self) -> str:
        more = "".join(f", {name}={value!r}" for name, value in self.__dict__["more"].items())
        return f"Match(subscription={self.subscription!r}, score={self.score!r}{more})"


class Reject(NamedTuple):
    """A record, or a field of a record, that could not be used; the rest was processed.

    Attributes
    ----------
    row : int
        The row of the record in its source, from 0.
    id : str or int or None
        The subscription's id, or the event's key if the call named an `event_key`; None if it is not known.
    field : str
        The field that is to blame; empty if the whole record was rejected.
    reason : str
        What is wrong, and what is allowed.
    """

    row: int
    id: SubscriptionId | None
    field: str
    reason: str


class _Report(NamedTuple):
    accepted: int
    errors: list[Reject]


class Report(_Report):
    """The result of adding a batch of subscriptions, which unpacks as `accepted, errors = report`.

    Attributes
    ----------
    accepted : int
        The number of subscriptions that were added.
    errors : list of Reject
        The rejected records, by row.
    warnings : tuple of Notice
        Ignored fields and probable mistakes. The tuple and comparisons leave them out.

    Examples
    --------
    >>> report = Report(2, [])
    >>> accepted, errors = report
    >>> accepted, errors, report.warnings
    (2, [], ())
    """

    warnings: tuple[Notice, ...]

    def __new__(cls, accepted: int, errors: list[Reject], warnings: Iterable[Notice] = ()) -> Report:
        """The tuple holds only `accepted` and `errors`, so warnings do not affect equality."""
        report = super().__new__(cls, accepted, errors)
        report.warnings = tuple(warnings)
        return report

    def __repr__(self) -> str:
        return f"Report({self.accepted} accepted, {summary_of(self.errors)})"

    def _repr_html_(self) -> str:
        """The report in a notebook: its first errors and warnings."""
        errors = [(one.row, one.id, one.field, one.reason) for one in self.errors[:_MOST_SHOWN]]
        warnings = [("", one.example, one.attribute, f"warning: {one.reason}") for one in self.warnings[:_MOST_SHOWN]]
        more = len(self.errors) + len(self.warnings) - len(errors) - len(warnings)
        rest = [("...", "", "", f"{more:,} more")] if more else []
        title = f"{self.accepted:,} accepted, {len(self.errors):,} rejected"
        return html_table(title, ("row", "id", "field", "reason"), [*errors, *warnings, *rest])


class Removal(NamedTuple):
    """The result of removing many subscriptions, which unpacks as `removed, unknown = removal`.

    Attributes
    ----------
    removed : int
        The number of subscriptions that were removed, or that a dry run would remove.
    unknown : list of str or int
        The ids that no subscription has, sorted.
    """

    removed: int
    unknown: list[SubscriptionId]


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
        raise RecordError("the subscription has no id; give it a string or an integer", "id")
    raise RecordError(f"an id is a string or an integer, not {class_of(raw)}", "id")


def removed_ids(ids: object) -> list[SubscriptionId]:
    """The ids of subscriptions to remove, each once, sorted; raises `InvalidInput`, or `RecordError` for one id."""
    if isinstance(ids, str | bytes | Mapping) or not isinstance(ids, Iterable):
        detail = f"ids is {shown(ids)}; give several ids, such as a list, or a condition on payloads as only="
        raise InvalidInput(detail)
    return sorted({checked_id(id) for id in ids}, key=lambda id: (isinstance(id, str), id))


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
    """A value as messages show it, in one line, shortened to `width` characters."""
    if isinstance(raw, int) and raw.bit_length() > 256:
        return f"of {raw.bit_length()} bits"
    text = " ".join(repr(raw).split("\n"))
    return text if len(text) <= width else text[: width - 3] + "..."


class Row(Protocol):
    """A row of a pandas frame."""

    def dropna(self) -> Any: ...

    def items(self) -> Any: ...


def one_event(raw: Mapping[str, Any] | Row, for_sources: str) -> Mapping[str, Any]:
    """An event: a mapping, or a row of a pandas frame, whose missing values are absent; raises `RecordError`.

    `for_sources` is the method that takes a source of events.
    """
    if isinstance(raw, Mapping):
        return raw
    is_row = type(raw).__module__.startswith("pandas") and getattr(raw, "ndim", 0) == 1 and hasattr(raw, "dropna")
    if is_row:
        present = raw.dropna().items()
        return {str(name): value.item() if hasattr(value, "item") else value for name, value in present}
    raise RecordError(not_one_event(raw, for_sources))


def not_one_event(raw: object, for_sources: str) -> str:
    """The message for what is not one event; `for_sources` is the method that takes a source of events, as this is."""
    instead = f"; {for_sources} takes a source of events" if isinstance(raw, Iterable) or _is_table(raw) else ""
    return f"an event is an object of names and values, not {shown(raw)}{instead}"


def _is_table(raw: object) -> bool:
    return hasattr(raw, "__arrow_c_stream__") or isinstance(raw, PathLike)


class Notice(NamedTuple):
    """A warning about a condition that can never be, or always is, TRUE for the events that came.

    A warning about an option of the call has the option as `condition`.

    Attributes
    ----------
    attribute : str
        The attribute that the condition uses.
    condition : str
        One such condition, from the subscription `example`.
    reason : str
        Why it can never be TRUE, or always is.
    subscriptions : int
        The number of subscriptions with such a condition; 0 if the warning is about an option.
    example : str or int or None
        The id of one of them; None if the warning is about an option.
    others : tuple of str or int
        The ids of up to two more.
    """

    attribute: str
    condition: str
    reason: str
    subscriptions: int
    example: SubscriptionId | None
    others: tuple[SubscriptionId, ...] = ()

    @property
    def examples(self) -> list[SubscriptionId]:
        """The ids of up to three subscriptions with such a condition."""
        return [] if self.example is None else [self.example, *self.others]

    def __str__(self) -> str:
        if self.example is None:
            return f"{self.condition}: {self.reason}"
        ids, more = self.examples, self.subscriptions - len(self.examples)
        names = ", ".join(map(str, ids)) + (f" and {more:,} more" if more > 0 else "")
        return f"{self.condition} (subscription{'s' * (len(ids) > 1)} {names}): {self.reason}"


def superseded_notice(count: int, example: SubscriptionId) -> Notice:
    """The warning about records of one call that a later record of the same id replaced."""
    records = "1 record was" if count == 1 else f"{count:,} records were"
    return Notice("id", "id", f"{records} replaced by a later one with the same id, such as {shown(example)}", 0, None)


def together(ahead: Sequence[Notice], then: Sequence[Notice]) -> list[Notice]:
    """Concatenate two lists. If both warn about one condition, only the warning of the second list is kept."""
    conditions = {notice.condition for notice in then}
    return [*(notice for notice in ahead if notice.condition not in conditions), *then]
