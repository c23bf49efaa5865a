"""Dates of Elasticsearch's ranges: epochs, formats and time zones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.language.dialects.agreeing import answers, refusal

MAY_MILLIS = 1_714_521_600_000  # 2024-05-01T00:00:00Z


@pytest.mark.parametrize(
    ("bounds", "value", "expected"),
    [
        ({"gte": MAY_MILLIS, "format": "epoch_millis"}, "2024-05-01T00:00:00Z", True),
        ({"gt": MAY_MILLIS, "format": "epoch_millis"}, "2024-05-01T00:00:00Z", False),
        ({"gt": MAY_MILLIS, "format": "epoch_millis"}, "2024-05-01T00:00:00.001Z", True),
        ({"lt": str(MAY_MILLIS), "format": "epoch_millis"}, "2024-04-30T23:59:59Z", True),
        ({"gte": MAY_MILLIS // 1000, "format": "epoch_second"}, "2024-05-01", True),
        ({"gte": MAY_MILLIS, "format": "epoch_millis"}, MAY_MILLIS, True),
        ({"gt": MAY_MILLIS, "format": "epoch_millis"}, MAY_MILLIS, False),
        ({"gte": MAY_MILLIS // 1000, "format": "epoch_second"}, MAY_MILLIS, True),
        ({"gte": "2024-05-01", "format": "strict_date_optional_time||epoch_millis"}, MAY_MILLIS, True),
        ({"lte": "2024-04-30", "format": "strict_date_optional_time||epoch_millis"}, MAY_MILLIS, False),
        ({"gte": -1000, "lt": 0, "format": "epoch_millis"}, "1969-12-31T23:59:59.5Z", True),
        ({"gte": MAY_MILLIS}, MAY_MILLIS, True),
        ({"gte": MAY_MILLIS}, "2024-05-01", False),
        ({"gte": "2024-05-01", "format": "yyyy-MM-dd"}, "2024-05-01", True),
        ({"gte": "2024-05", "format": "strict_date_optional_time"}, "2024-05-01", True),
        ({"gte": "2024-05-01 00:00:00", "format": "yyyy-MM-dd HH:mm:ss"}, "2024-05-01", True),
        ({"gte": "2024-05-01", "time_zone": "+02:00"}, "2024-04-30T22:00:00Z", True),
        ({"gte": "2024-05-01", "time_zone": "+02:00"}, "2024-04-30T21:59:59Z", False),
        ({"gte": "2024-05-01", "time_zone": "-0230"}, "2024-05-01T02:29:59Z", False),
        ({"lte": "2024-05-01", "time_zone": "Europe/Berlin"}, "2024-05-01T21:59:59.999Z", True),
        ({"lte": "2024-05-01", "time_zone": "Europe/Berlin"}, "2024-05-01T22:00:00Z", False),
        ({"gte": "2024-01-01", "time_zone": "Europe/Berlin"}, "2023-12-31T23:00:00Z", True),
        ({"gte": "2024-05-01T00:00:00Z", "time_zone": "+02:00"}, "2024-04-30T23:00:00Z", False),
        ({"gte": "2024-05-01T00:00:00+01:00", "time_zone": "+02:00"}, "2024-04-30T23:00:00Z", True),
        ({"gte": "2024-05-01||+1d", "time_zone": "+02:00"}, "2024-05-01T22:00:00Z", True),
        ({"lte": "9999-12-31"}, "9999-12-31T23:59:59Z", True),
        ({"gte": "now-1h", "time_zone": "+02:00", "format": "epoch_millis"}, "2999-01-01", True),
    ],
)
def test_ranges_of_dates(bounds: Any, value: Any, expected: bool) -> None:
    assert answers({"range": {"t": bounds}}, "elasticsearch", {"t": value}) == {expected}


@pytest.mark.parametrize(
    ("bounds", "value", "expected"),
    [
        ({"gte": "2024-01-31||+1M"}, "2024-02-29", True),
        ({"gt": "2024-01-31||+1M"}, "2024-02-29", False),
        ({"gte": "2024-02-29||+1y"}, "2025-02-28", True),
        ({"gte": "2024-01-31||+1M-1M"}, "2024-01-29", True),
        ({"gte": "2024-05-15||/M"}, "2024-05-01", True),
        ({"lt": "2024-05-15||/M"}, "2024-05-01", False),
        ({"lte": "2024-05-15||/M"}, "2024-05-31T23:59:59.9999Z", True),
        ({"lte": "2024-05-15||/M"}, "2024-06-01", False),
        ({"gt": "2024-05-15||/M"}, "2024-05-31T23:59:59.999Z", False),
        ({"gt": "2024-05-15||/M"}, "2024-06-01", True),
        ({"gte": "2024-05-15||/y"}, "2024-01-01", True),
        ({"gte": "2024-05-15||/w"}, "2024-05-13", True),
        ({"lt": "2024-05-15||/w"}, "2024-05-12T23:59:59Z", True),
        ({"lte": "2024-05-15T10:30:00||/h+1d"}, "2024-05-16T10:59:59.999Z", True),
        ({"lte": "2024-05-15T10:30:00||/h+1d"}, "2024-05-16T11:00:00Z", False),
        ({"gte": "2001-02-01||+1M/d"}, "2001-03-01", True),
        ({"gte": "2024-05-15||/d", "time_zone": "Europe/Berlin"}, "2024-05-14T22:00:00Z", True),
        ({"gte": "2024-03-30T12:00:00||+1d", "time_zone": "Europe/Berlin"}, "2024-03-31T10:00:00Z", True),
        ({"gte": "2024-03-30T12:00:00||+24h", "time_zone": "Europe/Berlin"}, "2024-03-31T10:00:00Z", False),
        ({"gte": "2024-03-30T02:30:00||+1d", "time_zone": "Europe/Berlin"}, "2024-03-31T01:30:00Z", True),
        ({"gt": "2024-10-28T02:30:00||-1d", "time_zone": "Europe/Berlin"}, "2024-10-27T01:30:00Z", False),
    ],
)
def test_date_maths_go_by_the_calendar(bounds: Any, value: Any, expected: bool) -> None:
    """Months and days are those of the calendar; rounding goes down for `gte` and `lt`, and up for `gt` and `lte`."""
    assert answers({"range": {"t": bounds}}, "elasticsearch", {"t": value}) == {expected}


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        ({"gte": "1.5.2024", "format": "d.M.yyyy"}, "at range.t.format: the format 'd.M.yyyy'"),
        ({"gte": "2024-05-01", "format": ["epoch_millis"]}, "at range.t.format: format needs a string"),
        ({"gte": "2024-05-01", "time_zone": "Mars/Base"}, "at range.t.time_zone: 'Mars/Base' is not a time zone"),
        ({"gte": "2024-05-01", "time_zone": "../etc"}, "is not a time zone"),
        ({"gte": "2024-05-01", "time_zone": 1}, "time_zone needs a string"),
        ({"gte": 10**16, "format": "epoch_millis"}, "outside of the years 1 to 9999"),
        ({"gte": "0001-01-01", "time_zone": "+02:00"}, "outside of the years 1 to 9999"),
        ({"gte": "2024-05-01||+9999y"}, "outside of the years 1 to 9999"),
        ({"gte": "2024-05-01||/2d"}, "'/2d' is not date maths"),
        ({"gte": "2024-05-01||1d"}, "'1d' is not date maths"),
        ({"gte": "2024-05-01||+9999999999d"}, "outside of the years 1 to 9999"),
    ],
)
def test_refusals_name_the_place(bounds: Any, reason: str) -> None:
    assert reason in refusal({"range": {"t": bounds}}, "elasticsearch")
