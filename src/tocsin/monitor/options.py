"""The options of a monitor, checked, and as a saved monitor has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Final

from tocsin.errors import InvalidInput
from tocsin.model.fence import MOST_OBJECTS, FenceRules, number_of_seconds
from tocsin.model.instants import MICROSECONDS
from tocsin.monitor.turns import SECOND, TurnRules
from tocsin.spelling import option

MOST_AHEAD: Final = 86_400.0
"""Seconds that an event may be ahead of all others, and still move the clock that all share."""
_LONGEST: Final = 1e11


@dataclass(frozen=True, slots=True)
class MonitorOptions:
    """The options of `Monitor`, by the same names. Raises `InvalidInput` for one that is not valid."""

    key: tuple[str, ...]
    time: str | None = None
    lateness: float | None = None  # seconds
    most_ahead: float = MOST_AHEAD  # seconds
    enter_after: int | str = 1
    exit_after: int | str = 1
    dwell: float | None = None  # seconds
    inside: bool = False
    matches: bool = False
    most_objects: int = MOST_OBJECTS
    time_unit: str = "s"

    @classmethod
    def of(cls, key: str | Sequence[str], **given: Any) -> MonitorOptions:
        """The options as users give them."""
        spans = ("lateness", "most_ahead", "dwell")
        plain = {name: number_of_seconds(value) if name in spans else value for name, value in given.items()}
        for name in ("enter_after", "exit_after"):
            if isinstance(plain.get(name), timedelta):
                plain[name] = f"{plain[name].total_seconds():f} s"
        return cls(checked_key(key), **plain)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", checked_key(self.key))
        if not (self.time is None or (isinstance(self.time, str) and self.time)):
            raise InvalidInput(f"{option('time')} is {self.time!r:.40}; it names an attribute of the events")
        if not isinstance(self.time_unit, str) or self.time_unit not in MICROSECONDS:
            raise InvalidInput(
                f"{option('time_unit')} is {self.time_unit!r:.40}; it is one of {', '.join(MICROSECONDS)}."
            )
        for name, seconds in (("lateness", self.lateness), ("most_ahead", self.most_ahead)):
            is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
            if not (seconds is None and name == "lateness") and not (is_number and 0 <= (seconds or 0) < _LONGEST):
                reason = "it is a number of seconds, from 0 on, or a time such as '30 s'"
                raise InvalidInput(f"{option(name)} is {seconds!r:.40}; {reason}")
        if self.lateness is not None and self.time is None:
            raise InvalidInput(f"{option('lateness', self.lateness)} needs {option('time')}; arrivals are never late")
        most = self.most_objects
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            raise InvalidInput(f"most_objects is {most!r:.40}; it counts objects, from 1 on.")
        if not isinstance(self.matches, bool):
            raise InvalidInput(f"matches is {self.matches!r:.40}; it is True or False.")
        FenceRules(self.enter_after, self.exit_after, self.dwell, self.inside)

    @property
    def rules(self) -> TurnRules:
        """The rules by which truths become changes."""
        return TurnRules.of(FenceRules(self.enter_after, self.exit_after, self.dwell, self.inside))

    @property
    def lateness_us(self) -> int | None:
        """How long events are held back, in microseconds."""
        return None if self.lateness is None else round(self.lateness * SECOND)

    @property
    def most_ahead_us(self) -> int:
        """How far an event may be ahead, in microseconds."""
        return round(self.most_ahead * SECOND)

    def as_json(self) -> dict[str, Any]:
        """The options as a saved monitor has them."""
        return {**asdict(self), "key": list(self.key)}


def checked_key(key: Any) -> tuple[str, ...]:
    """A key as names of attributes. Raises `InvalidInput` for anything else."""
    names = [key] if isinstance(key, str) else key
    if not isinstance(names, list | tuple) or not names or not all(isinstance(one, str) and one for one in names):
        raise InvalidInput(f"{option('key')} is {key!r:.40}; it names an attribute of the events, or several")
    if len(set(names)) < len(names):
        raise InvalidInput(f"{option('key')} names an attribute twice")
    return tuple(names)
