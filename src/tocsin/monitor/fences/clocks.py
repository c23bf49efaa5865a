"""The time that the objects of fences agree on: a wrong date of one object does not make tocsin forget the others."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice
from typing import Final

from tocsin.model.fence import ObjectKey

_REACH: Final = 2
"""How many times `forget_after` an object may be ahead of all others, and still be believed."""

_MOST_COMPARED: Final = 64
"""With how many objects that are far ahead, the latest ones, a date is compared: it bounds the cost of an event."""


@dataclass(slots=True)
class FarDate:
    """The latest date of an object that is far ahead of all others."""

    date: float
    credible: float | None  # its last date before, if that is known
    common: float  # the common time when it came
    begun: float  # its first date since which no other object has reported
    reports: int  # how many credible events there were then


class CommonClock:
    """The latest time that more than one object vouches for, or the only object there is.

    A date is far ahead if it is more than twice `forget_after` after the dates of all other objects. Two facts make it
    credible: another object has a date near it, or the object goes on by `forget_after` while no other reports.
    """

    def __init__(self, forget_after: float, most_objects: int) -> None:
        self.time: float | None = None
        self.forget_after = forget_after
        self._reach = _REACH * forget_after
        self._most_objects = most_objects
        self._leader: ObjectKey | None = None  # the object with the latest credible date
        self._second: float | None = None  # the latest credible date of the others
        self._reporter: ObjectKey | None = None  # the object of the last credible event
        self._begun = self._latest = 0.0  # the first and last date of its credible events in a row
        self._reports = 0
        self._far: OrderedDict[ObjectKey, FarDate] = OrderedDict()

    def advance(self, key: ObjectKey, date: float, before: float | None) -> bool:
        """Take the date of an object's event, and the one `before`; returns whether the date is far ahead."""
        if self.time is None:
            self._leader, self.time = key, date
        others = self._second if key == self._leader else self.time
        if others is not None and date - others > self._reach:
            begun = self._alone_since(key, date)
            if date - begun <= self.forget_after and not self._has_witness(key, date):
                self._note_far(key, FarDate(date, before, self.time, begun, self._reports))
                return True
            self._leader, self.time, self._second = key, max(date, self.time), date
        elif key == self._leader:
            self.time = max(self.time, date)
        elif self._second is None and self.time - date > self._reach and self._leader is not None:
            # Only one object reported before, and nothing says that its date is the right one.
            self._note_far(self._leader, FarDate(self.time, None, date, self.time, self._reports))
            self._leader, self.time = key, date
        elif date > self.time:
            self._leader, self.time, self._second = key, date, self.time
        else:
            self._second = date if self._second is None else max(self._second, date)
        self._note_credible(key, date)
        return False

    def is_wrong(self, key: ObjectKey, latest: float, date: float) -> bool:
        """Whether an object's latest date was a wrong one, so that an older date counts."""
        if self.time is None or latest - self.time <= self._reach or date - self.time > self._reach:
            return False
        far = self._far.get(key)
        return far is None or far.credible is None or date >= far.credible

    def last_seen(self, key: ObjectKey, latest: float) -> float:
        """When an object was last seen, in the common time."""
        far = self._far.get(key)
        return latest if far is None or far.date != latest else far.common

    def _alone_since(self, key: ObjectKey, date: float) -> float:
        """The date from which on no other object has reported, and this one made no leap."""
        if key == self._reporter and date - self._latest <= self._reach:
            return self._begun
        far = self._far.get(key)
        is_alone = far is not None and far.reports == self._reports and date - far.date <= self._reach
        return far.begun if far is not None and is_alone else date

    def _has_witness(self, key: ObjectKey, date: float) -> bool:
        recent = islice(reversed(self._far.items()), _MOST_COMPARED)
        return any(other != key and abs(far.date - date) <= self._reach for other, far in recent)

    def _note_credible(self, key: ObjectKey, date: float) -> None:
        self._reports += 1
        if key != self._reporter:
            self._reporter, self._begun = key, date
        self._latest = date
        self._far.pop(key, None)

    def _note_far(self, key: ObjectKey, date: FarDate) -> None:
        previous = self._far.pop(key, None)
        if previous is not None:
            date.credible = previous.credible
        self._far[key] = date
        while len(self._far) > self._most_objects:
            self._far.popitem(last=False)
