"""HOUR, WEEKDAY and DATE_OF: what clocks and calendars show at an instant, in UTC or in a named time zone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from tocsin.kernels import codes
from tocsin.language.misplaced import Misplaced, refuse_since
from tocsin.language.operators.function_value import FunctionValue
from tocsin.language.operators.operator import describe
from tocsin.language.operators.ordered_text import PLACEHOLDER
from tocsin.model.elements import Values
from tocsin.model.expression import Attribute, Call, Constant, Expression
from tocsin.model.instants import read_instant
from tocsin.model.values import EARLIEST, Instant
from tocsin.model.zones import DAY_US, HOUR_US, UTC, local_us, zone_problem


def _hour(local: int) -> float:
    return float(local % DAY_US // HOUR_US)


def _weekday(local: int) -> float:
    """1 is Monday, as in ISO 8601. 1970-01-01 was a Thursday."""
    return float((local // DAY_US + 3) % 7 + 1)


def _date(local: int) -> Instant | None:
    midnight = local - local % DAY_US
    return Instant(midnight) if EARLIEST.microseconds <= midnight < 1 << 63 else None


_SHOWN: Final[dict[str, Callable[[int], float | Instant | None]]] = {
    "HOUR": _hour,
    "WEEKDAY": _weekday,
    "DATE_OF": _date,
}


class LocalTime(FunctionValue):
    names, takes = tuple(_SHOWN), None
    reads = (codes.STRING, codes.INSTANT)

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        if len(arguments) not in (1, 2):
            raise Misplaced(f"{name} takes an attribute and perhaps a time zone, as in {name}(t, 'Europe/Berlin')")
        moment, *zones = arguments
        if not isinstance(moment, Attribute):
            raise Misplaced(f"{name} needs an attribute, not {describe(moment)}", moment)
        for zone in zones:
            if not (isinstance(zone, Constant) and isinstance(zone.value, str)):
                raise Misplaced(f"a time zone is written in single quotes, not as {describe(zone)}", zone)
            if problem := _problem(zone.value):
                refuse_since(problem, zone)  # another machine knew the zone of a stored text

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> float | Instant | None:
        moment = read_instant(parts[0]) if isinstance(parts[0], str) else parts[0]
        if not isinstance(moment, Instant):
            return None
        return _SHOWN[node.name](local_us(moment, parts[1] if len(parts) > 1 else UTC))

    def rule_of_values(self, node: Call) -> tuple[Callable[..., str | None], Sequence[Expression]] | None:
        zones = [cast(Constant, one) for one in node.arguments[1:]]
        return (_problem, zones) if zones else None


def _problem(zone: str) -> str | None:
    return None if zone.startswith(PLACEHOLDER) else zone_problem(zone)
