"""Bounds of ranges: numbers, strings and dates, with date maths."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from tocsin.errors import InvalidInput
from tocsin.language.dialects.dialect import PRESENT, VALUE, Json, Reader, any_of, compared, later
from tocsin.language.dialects.elasticsearch.date_maths import moved, seconds_of
from tocsin.model.expression import ComparisonOperator, Constant, Expression
from tocsin.model.subscription import shown
from tocsin.model.values import Instant
from tocsin.model.zones import zone_of

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2}(?:[T ].*)?)?")
_PARTS: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9:.]+))?(Z|[+-][0-9:]+)?")


_ISO_FORMS: Final = re.compile(
    r"(?:strict_)?(?:date_optional_time(?:_nanos)?|date|date_time(?:_no_millis)?|date_hour_minute(?:_second)?)|iso8601"
    r"|[yu]{4}-MM(?:-dd(?:(?:'T'|T| )HH:mm(?::ss(?:\.S{1,9})?)?(?:'Z'|Z{1,5}|X{1,5})?)?)?"
)
_OFFSET: Final = re.compile(r"([+-])([01][0-9]):?([0-5][0-9])")
_EPOCHS: Final = {"epoch_millis": 1_000, "epoch_second": 1_000_000}
_YEARS: Final = (-62_135_596_800_000_000, 253_402_300_800_000_000)
"""The first microsecond of the year 1, and the first after the year 9999."""


class DateForm(NamedTuple):
    """How the dates of a range are written, by its `format` and `time_zone`."""

    unit: int = 0
    """The microseconds of a unit of numbers that are dates; 0 if numbers are not dates."""
    zone: dt.tzinfo = dt.UTC
    """The zone of dates that have none."""


def date_form(given: Mapping[str, Json], reader: Reader) -> DateForm:
    """The form that the parameters of a range say."""
    unit, zone = 0, dt.UTC
    if given.get("format") is not None:
        with reader.at("format"):
            for form in reader.string(given["format"], "format").split("||"):
                if form not in _EPOCHS and not _ISO_FORMS.fullmatch(form):
                    reader.refuse(f"the format {shown(form)}", "write dates in the form of ISO 8601")
                unit = unit or _EPOCHS.get(form, 0)
    if given.get("time_zone") is not None:
        with reader.at("time_zone"):
            return DateForm(unit, _zone(reader.string(given["time_zone"], "time_zone"), reader))
    return DateForm(unit, zone)


def _zone(name: str, reader: Reader) -> dt.tzinfo:
    if offset := _OFFSET.fullmatch(name):
        minutes = 60 * int(offset[2]) + int(offset[3])
        return dt.timezone(dt.timedelta(minutes=minutes if offset[1] == "+" else -minutes))
    try:
        return zone_of("UTC" if name == "Z" else name)
    except InvalidInput as error:
        return reader.fail(str(error))


def is_date(text: str) -> bool:
    """Whether a text is a date with a month, perhaps with date maths."""
    date = text.partition("||")[0]
    try:
        return _DATE.fullmatch(date) is not None and Instant.parse(_whole_day(date)) is not None
    except InvalidInput:
        return False


def _whole_day(date: str) -> str:
    return f"{date}-01" if len(date) == len("2024-05") else date


def as_bound(op: ComparisonOperator, bound: Json, reader: Reader, form: DateForm) -> Expression:
    """`element` compared with a bound. A bound that is a date, or `now`, is compared with instants."""
    if form.unit and re.fullmatch(r"-?[0-9]{1,17}(?:\.[0-9]+)?", str(bound)):
        return _moment(op, round(float(bound) * form.unit), reader, form)
    if isinstance(bound, str):
        if bound.startswith("now"):
            return compared(VALUE, op, later(PRESENT, seconds_of(bound[3:], reader)))
        date, bars, maths = bound.partition("||")
        if _DATE.fullmatch(date):
            return _date(op, date, maths if bars else None, reader, form)
    return compared(VALUE, op, reader.constant(bound))


def _moment(op: ComparisonOperator, moment: int, reader: Reader, form: DateForm) -> Expression:
    """`element` compared with an instant; if numbers are dates, a number is one in milliseconds."""
    if moment == _YEARS[1] and op in ("<", ">="):  # the end of the last day has no text: the microsecond before it has
        op, moment = "<=" if op == "<" else ">", moment - 1
    if not _YEARS[0] <= moment < _YEARS[1]:
        reader.fail("the date is outside of the years 1 to 9999")
    instant = compared(VALUE, op, Constant(Instant(moment)))
    return any_of([instant, compared(VALUE, op, Constant(moment / 1_000))]) if form.unit else instant


def _date(op: ComparisonOperator, date: str, maths: str | None, reader: Reader, form: DateForm) -> Expression:
    """A date whose missing parts are the first ones.

    For `gt` and `lte` the missing parts of the time are the last ones, to the millisecond, unless date maths follow.
    Then rounding goes to the last millisecond of the unit.
    """
    try:
        instant = Instant.parse(_whole_day(date))
    except InvalidInput as error:
        reader.fail(str(error))
    moment, is_last = _in_zone(instant.microseconds, date, form.zone), op in (">", "<=")
    missing = _missing(date) if maths is None else 0
    if maths:
        moment, is_end = moved(moment, maths, form.zone, reader, up=is_last)
        missing = 1_000 if is_end else 0
    if missing and is_last:
        op, moment = (">=", moment + missing) if op == ">" else ("<", moment + missing)
    return _moment(op, moment, reader, form)


def _in_zone(moment: int, date: str, zone: dt.tzinfo) -> int:
    """The instant of a date, which was read as UTC: in a zone, if the date has none of its own."""
    parts = _PARTS.fullmatch(date)
    if zone is dt.UTC or (parts is not None and parts[3]):
        return moment
    clock = dt.datetime(1970, 1, 1, tzinfo=zone).replace(tzinfo=None) + dt.timedelta(microseconds=moment)
    offset = clock.replace(tzinfo=zone).utcoffset() or dt.timedelta()
    return moment - offset // dt.timedelta(microseconds=1)


def _missing(date: str) -> int:
    """The length in microseconds of what a date leaves open: a day, a minute, a second."""
    parts = _PARTS.fullmatch(date)
    if parts is None or parts[2] is None:
        return 86_400_000_000
    return {2: 3_600_000_000, 5: 60_000_000, 8: 1_000_000}.get(len(parts[2]), 0)
