"""HOUR, WEEKDAY and DATE_OF: what clocks and calendars show at an instant."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from tests.language.meaning import assert_meaning
from tocsin import Engine, InvalidInput, RecordError
from tocsin.columns.expressions.recipes.recipe import recipe_of
from tocsin.language import Templates, evaluate
from tocsin.language.stored import stored_expression
from tocsin.model.values import Instant
from tocsin.model.zones import DAY_US, HOUR_US, local_us

CASES = [
    ("HOUR(t) = 23", ["2024-05-31T23:59:59Z", "2024-06-01T01:30:00+02:00"], ["2024-06-01", "23", 23, None, True]),
    ("HOUR(t, 'Europe/Berlin') = 1", ["2024-05-31T23:59:59Z", "2024-01-01T00:30:00Z"], ["2024-06-01T01:30:00Z"]),
    ("HOUR(t, 'Asia/Kathmandu') = 5", ["2024-06-01"], ["2024-06-01T00:15:00Z"]),
    ("HOUR(t) >= 8 AND HOUR(t) < 18", ["2024-05-31 08:00", dt.datetime(2024, 5, 31, 17, 59)], ["2024-05-31 18:00"]),
    ("WEEKDAY(t) = 1", ["2024-05-27", "1969-12-29T12:00:00Z"], ["2024-05-26T23:59:59Z", "2024-05-28", ""]),
    ("WEEKDAY(t, 'Pacific/Kiritimati') = 1", ["2024-05-26T10:00:00Z"], ["2024-05-26T09:59:59Z"]),
    ("WEEKDAY(t) IN (6, 7)", ["2024-06-01", "2024-06-02"], ["2024-06-03"]),
    ("DATE_OF(t) = DATE('2024-05-31')", ["2024-05-31T12:00:00Z", dt.date(2024, 5, 31)], ["2024-06-01", "x", 1]),
    ("DATE_OF(t, 'America/New_York') = DATE('2024-05-31')", ["2024-06-01T03:59:59Z"], ["2024-06-01T04:00:00Z"]),
    ("DATE_OF(t) IN (DATE('2024-05-31'), DATE('2024-06-02'))", ["2024-06-02T01:00:00Z"], ["2024-06-01"]),
    ("DATE_OF(t) BETWEEN DATE('2024-05-31') AND DATE('2024-06-02')", ["2024-06-02T01:00:00Z"], ["2024-06-03"]),
    ("DATE_OF(t) = DATE_OF(t, 'Europe/Berlin')", ["2024-05-31T12:00:00Z"], ["2024-05-31T23:00:00Z", None]),
    ("DATE_OF(t) <> '2024-05-31'", [], ["2024-06-01T12:00:00Z"]),
    ("HOUR(t) IS NULL", ["x", "", None, 5, ["2024-05-31"]], ["2024-05-31"]),
    ("ANY(t, HOUR(element) = 3)", [["x", "2024-05-31T03:00:00Z"]], [["2024-05-31"], [], "2024-05-31T03:00:00Z"]),
    ("HOUR(t) * 60 + 5 = 185", ["2024-05-31T03:00:00Z"], ["2024-05-31T04:00:00Z"]),
]


@pytest.mark.parametrize(("text", "match", "fail"), CASES)
def test_meaning(text: str, match: list[object], fail: list[object]) -> None:
    assert_meaning(text, [{"t": value} for value in match], [{"t": value} for value in fail])


def test_tables_and_templates() -> None:
    """Columns of timestamps and of texts agree, and so do texts that share a form."""
    zones = ("UTC", "Europe/Berlin", "Asia/Kathmandu", "America/New_York")
    engine = Engine()
    engine.subscribe_many(
        [{"id": f"{zone} {hour}", "where": f"HOUR(t, '{zone}') = {hour}"} for zone in zones for hour in range(24)]
    )
    moments = [dt.datetime(2024, month, 15, 3 * month % 24, 20) for month in range(1, 13)]
    texts = [moment.isoformat() + "Z" for moment in moments]
    expected = ["America/New_York 22", "Asia/Kathmandu 9", "Europe/Berlin 4", "UTC 3"]

    answers = [
        engine.match_batch(pa.table({"t": pa.array(one, kind)})).table.to_pylist()
        for one, kind in ((moments, pa.timestamp("us")), (texts, pa.string()))
    ]

    assert answers[0] == answers[1]
    assert [row["subscription"] for row in answers[0] if row["event"] == 0] == expected


def test_zones_share_a_form() -> None:
    """Texts that differ in the zone alone have one recipe, so that they are compiled as fast as others."""
    templates = Templates()
    conditions = [f"HOUR(t, '{zone}') = 5" for zone in ("Europe/Berlin", "Asia/Tokyo", "America/Lima")]
    instances = [templates.instance(text) for text in conditions]

    assert None not in instances
    assert len({one.template for one in instances if one}) == 1
    assert recipe_of(instances[0].template)  # type: ignore[union-attr]


def test_a_stored_zone_that_this_machine_lacks() -> None:
    """A stored text is read, and the zone is named when an event asks for it."""
    tree = stored_expression("HOUR(t, 'Mars/Base') = 5")
    assert evaluate(tree, {}) is None
    with pytest.raises(InvalidInput, match="'Mars/Base' is not a time zone"):
        evaluate(tree, {"t": Instant(0)})


def test_index() -> None:
    """An event looks at the subscriptions of its own hour and date, not at those of all others."""
    days = [f"2024-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]
    engine = Engine()
    engine.subscribe_many([{"id": day, "where": f"DATE_OF(t, 'Europe/Berlin') = DATE('{day}')"} for day in days])
    answer = engine.match_batch([{"t": f"{day}T12:00:00Z"} for day in days])

    assert answer.table["subscription"].to_pylist() == days
    assert answer.stats.candidates_examined <= 2 * len(days)


def test_instants_that_datetime_does_not_hold() -> None:
    """The calendar repeats every 400 years, before the year 1 and after 9999, too."""
    cycle = 146_097 * DAY_US
    for zone in ("Europe/Berlin", "America/New_York"):
        for moment, years in ((Instant.of(dt.date(1200, 7, 1)), -5), (Instant.of(dt.datetime(7999, 7, 1, 5)), 9)):
            far = Instant(moment.microseconds + years * cycle)
            assert local_us(far, zone) == local_us(moment, zone) + years * cycle
    assert local_us(Instant.of(dt.date(9999, 7, 1)), "Europe/Berlin") % DAY_US == 2 * HOUR_US


def test_ends_of_instants() -> None:
    """A date that no instant can hold is no value."""
    engine = Engine()
    engine.subscribe("none", "DATE_OF(t, 'America/New_York') IS NULL")
    first = pa.array([-(2**63) + 2, 0], pa.int64()).cast(pa.timestamp("us"))
    assert engine.match_batch(pa.table({"t": first})).table["event"].to_pylist() == [0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("HOUR(t, 'Europe/Berln') = 1", "'Europe/Berln' is not a time zone; did you mean 'Europe/Berlin'"),
        ("HOUR(t, '..') = 1", "is not a time zone; write a name of the IANA database"),
        ("HOUR(t, 'localtime') = 1", "is not a time zone"),
        ("HOUR(t, 'Europe') = 1", "is not a time zone"),
        ("HOUR(t, z) = 1", "a time zone is written in single quotes, not as the attribute z"),
        ("HOUR(5) = 1", "HOUR needs an attribute, not the number 5"),
        ("WEEKDAY() = 1", "takes an attribute and perhaps a time zone"),
        ("DATE_OF(t, 'UTC', 'UTC') = 1", "takes an attribute and perhaps a time zone"),
        ("HOUR(t)", "is not a condition"),
        ("YEAR(t) = 2024", "DATE_OF"),
    ],
)
def test_refusals(text: str, reason: str) -> None:
    """What is wrong is named, also in a text whose form is known already."""
    engine = Engine()
    engine.subscribe_many([{"id": str(n), "where": f"HOUR(t, 'UTC') = {n}"} for n in range(3)])
    with pytest.raises(RecordError, match=reason):
        engine.subscribe("s", text)
