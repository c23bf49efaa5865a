"""Changes that a monitor reports: objects at subscriptions, at exact instants."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from tocsin.model.fence import FenceChange, ObjectKey
from tocsin.model.subscription import Reject, SubscriptionId

MATCH: Final = "match"
"""The change of `Monitor(matches=True)`: an event for which a subscription is TRUE."""

Identity: TypeAlias = ObjectKey | tuple[ObjectKey, ...]
"""The value of a key that names one attribute, or the values of one that names several."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)


class MonitorChange(FenceChange):
    """One change of an object at a subscription: a tuple of `object`, `subscription`, `change` and `seconds`.

    Attributes
    ----------
    object : str, int, float or tuple of these
        The value of the key, or its values if it names several attributes.
    subscription : str or int
        The subscription's id.
    change : str
        `enter`, `inside`, `dwell`, `exit`, `lost` or, with `matches=True`, `match`.
    seconds : float or None
        How long the subscription has been TRUE for the object by then; None for a match.
    microseconds : int
        When it changed, since 1970: the instant of the event or, if time alone changed it, the exact one in between.
    """

    microseconds: int

    def __new__(
        cls, object: Identity, subscription: SubscriptionId, change: str, seconds: float | None, microseconds: int
    ) -> MonitorChange:
        made: MonitorChange = super().__new__(cls, object, subscription, change, seconds)  # type: ignore[arg-type]
        made.microseconds = microseconds
        return made

    @property
    def time(self) -> datetime:
        """When it changed, in UTC; the last instant of the year 9999 for a later one.

        Returns
        -------
        datetime
            The instant.
        """
        return instant_in_utc(self.microseconds)


def instant_in_utc(microseconds: int) -> datetime:
    """An instant in microseconds since 1970 as a datetime; the last one of the year 9999 for a later one."""
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return _LAST


class MonitorChanges(list[MonitorChange]):
    """The changes that one event causes, in order: a list.

    Parameters
    ----------
    changes : iterable of MonitorChange
        The changes.
    errors : list of Reject
        The event's values that could not be used. It counts as an event without them.
    """

    def __init__(self, changes: Iterable[MonitorChange] = (), errors: Iterable[Reject] = ()) -> None:
        super().__init__(changes)
        self.errors = list(errors)
