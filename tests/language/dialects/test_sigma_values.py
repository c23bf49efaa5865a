"""Rules of Sigma: texts that spell numbers and booleans, and placeholders with values of the rule."""

from __future__ import annotations

from typing import Any

import pytest

from tests.language.dialects.agreeing import answers, refusal
from tests.language.dialects.test_sigma import rule


@pytest.mark.parametrize(
    ("line", "event", "expected"),
    [
        ({"A": "3"}, {"A": 3}, True),
        ({"A": "3"}, {"A": [1, 3]}, True),
        ({"A": "3"}, {"A": True}, False),
        ({"A": "-1.5"}, {"A": -1.5}, True),
        ({"A": "03"}, {"A": 3}, False),
        ({"A": "3.0"}, {"A": 3}, False),
        ({"A": "9999999999999999999"}, {"A": 1}, False),
        ({"A": "1e3"}, {"A": 1000}, False),
        ({"A|cased": "3"}, {"A": 3}, True),
        ({"A": "true"}, {"A": True}, True),
        ({"A": "False"}, {"A": False}, True),
        ({"A|cased": "True"}, {"A": True}, False),
        ({"A": True}, {"A": "TRUE"}, True),
        ({"A": False}, {"A": "true"}, False),
        ({"A": False}, {"A": 0}, False),
        ({"A|contains": "200"}, {"A": 200}, True),
        ({"A|startswith": "200"}, {"A": 404}, False),
        ({"A|endswith": "true"}, {"A": True}, True),
        ({"A": "*"}, {"A": 0}, True),
        ({"A": "*"}, {"A": False}, True),
        ({"A": "*"}, {"A": None}, False),
        ({"A": ""}, {"A": 0}, False),
        ({"A": "2?0"}, {"A": 200}, False),
        ({"A": ["3", "x*"]}, {"A": "xy"}, True),
    ],
)
def test_texts_spell_numbers_and_booleans(line: Any, event: Any, expected: bool) -> None:
    """A quoted value also matches the number or boolean of an event that it spells, and a boolean its text."""
    assert answers(rule(s=line), "sigma", event) == {expected}
    assert answers(rule("not s", s=line), "sigma", event) == {not expected}


def test_keywords_spell_numbers_and_booleans() -> None:
    assert answers(rule(s=["4688", "nothing"]), "sigma", {"a": {"id": 4688}}) == {True}
    assert True not in answers(rule(s=["4688", "nothing"]), "sigma", {"a": {"id": 46880}})
    assert answers(rule(s={"|all": ["true", "x"]}), "sigma", {"a": True, "b": "xy"}) == {True}


PLACEHOLDERS = {"admins": ["root", "adm*"], "ports": [22, 3389], "host": "web1"}


@pytest.mark.parametrize(
    ("line", "event", "expected"),
    [
        ({"A|expand": "%admins%"}, {"A": "ROOT"}, True),
        ({"A|expand": "%admins%"}, {"A": "admiral"}, True),
        ({"A|expand": "%admins%"}, {"A": "user"}, False),
        ({"A|expand": "%ports%"}, {"A": 22}, True),
        ({"A|expand": "%host%-%admins%"}, {"A": "web1-root"}, True),
        ({"A|contains|expand": ["%host%", "%ports%"]}, {"A": "at web1 now"}, True),
        ({"A|expand|contains|all": ["%admins%", "%host%"]}, {"A": "root on web1"}, True),
        ({"A|expand|contains|all": ["%admins%", "%host%"]}, {"A": "root on web2"}, False),
        ({"A|cased|expand": "%host%"}, {"A": "WEB1"}, False),
        ({"A|expand": "100%"}, {"A": "100%"}, True),
        ({"A": "%host%"}, {"A": "%host%"}, True),
    ],
)
def test_placeholders(line: Any, event: Any, expected: bool) -> None:
    """A placeholder stands for any of the values that the rule gives it, whichever modifiers there are."""
    assert answers({**rule(s=line), "placeholders": PLACEHOLDERS}, "sigma", event) == {expected}


@pytest.mark.parametrize(
    ("placeholders", "reason"),
    [
        ({"other": 1}, "expand of Sigma is not supported: the placeholder has no value"),
        ({"x": {"a": 1}}, "a string, a number or a boolean is needed"),
        ({"x": [["a"]]}, "a string, a number or a boolean is needed"),
        ([1], "placeholders needs an object"),
        ({"x": ["a"] * 2000}, "exceeds maximum"),
    ],
)
def test_placeholders_without_sound_values_are_refused(placeholders: Any, reason: str) -> None:
    line = {"A|expand": "%x%-%x%-%x%"}
    assert reason in refusal({**rule(s=line), "placeholders": placeholders}, "sigma")
