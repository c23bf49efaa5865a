"""The result of a dry run: when a condition would have fired, for which objects, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tocsin.language.showing import lines_html
from tocsin.model.change import MATCH, Identity, MonitorChange, instant_in_utc
from tocsin.model.fence import ENTER, EXIT, LOST
from tocsin.model.subscription import Notice, Reject
from tocsin.monitor.progress import shown_instant, shown_span
from tocsin.monitor.turns import SECOND

_MOST_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a monitor would have reported of one condition; `str` gives a summary.

    Attributes
    ----------
    changes : tuple of MonitorChange
        All changes, in order.
    events : int
        How many events were read.
    until : datetime or None
        The instant up to which time passed; None if no event has a time.
    errors : tuple of Reject
        Events that are bad or have no key.
    warnings : tuple of Notice
        What was odd about the events, as `Answer.warnings` has it.
    """

    changes: Sequence[MonitorChange]
    events: int
    until: datetime | None
    errors: Sequence[Reject]
    warnings: Sequence[Notice]

    @property
    def fired(self) -> int:
        """How often the condition fired: entered or, with `matches=True`, matched.

        Returns
        -------
        int
            The number of these changes.
        """
        return sum(self.by_object.values())

    @property
    def by_object(self) -> dict[Identity, int]:
        """How often the condition fired for each object, most often first.

        Returns
        -------
        dict of objects to int
            Only objects for which it fired.
        """
        return dict(Counter(one.object for one in self._fired()).most_common())

    @property
    def inside(self) -> list[Identity]:
        """The objects for which the condition fires at the end.

        Returns
        -------
        list of objects
            In the order in which they entered.
        """
        found: dict[Identity, None] = {}
        for one in self.changes:
            if one.change == ENTER:
                found[one.object] = None
            elif one.change in (EXIT, LOST):
                found.pop(one.object, None)
        return list(found)

    def _fired(self) -> list[MonitorChange]:
        return [one for one in self.changes if one.change in (ENTER, MATCH)]

    def __str__(self) -> str:
        fired, counts = self._fired(), self.by_object
        if not fired:
            return f"would not have fired in {_counted(self.events, 'event')}"
        head = f"would have fired {_counted(len(fired), 'time')} for {_counted(len(counts), 'object')}"
        within = f"{_counted(self.events, 'event')}, {_counted(len(self.inside), 'object')} inside at the end"
        lines = [f"{head} in {within}"]
        for object, count in list(counts.items())[:_MOST_SHOWN]:
            own = [one for one in self.changes if one.object == object]
            first = next(one for one in own if one.change in (ENTER, MATCH))
            inside = sum(one.seconds or 0.0 for one in own if one.change in (EXIT, LOST))
            told = f", inside for {shown_span(round(inside * SECOND))}" if inside else ""
            lines.append(f"  {object!r}: {_counted(count, 'time')}, first at {shown_instant(first.microseconds)}{told}")
        if len(counts) > _MOST_SHOWN:
            lines.append(f"  and {len(counts) - _MOST_SHOWN:,} other objects")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return lines_html(str(self))


def until_of(microseconds: int | None) -> datetime | None:
    """The end of a dry run."""
    return None if microseconds is None else instant_in_utc(microseconds)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
