"""Warnings about values that have no type: they say what the values are, and not that they are of no type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

import tocsin

UNREAD: Mapping[str, tuple[Any, str]] = {
    "infinity": (float("inf"), "unreadable"),
    "an object": ({"k": 1}, "an object"),
    "a list of objects": ([{"k": 1}], "a list of objects or lists"),
    "a list of lists": ([[1]], "a list of objects or lists"),
}


@pytest.mark.parametrize("what", UNREAD)
def test_a_warning_says_what_the_values_are(what: str) -> None:
    """Of dicts and of a table; with another type, both."""
    value, words = UNREAD[what]
    asked = {"id": "s", "where": "v = 'x'"}

    told = [
        tocsin.match(asked, events).warnings[0].reason
        for events in ([{"v": value}], pa.table({"v": [value]}), [{"v": value}, {"v": True}])
    ]

    assert told == [
        *[f"every v that came is {words}, never a text"] * 2,
        f"every v that came is a boolean or {words}, never a text",
    ]


def test_a_value_that_the_schema_refuses_is_unreadable() -> None:
    """As in CSV; two attributes that are compared are both described."""
    answer = tocsin.match({"id": "s", "where": "v = w"}, [{"v": "x", "w": 1}], schema={"v": "number"})

    reason = answer.warnings[0].reason
    assert reason.endswith("every v that came is unreadable, every w a number")
