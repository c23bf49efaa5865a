"""Rules of Sigma, as its specification says."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import tocsin
from tests.language.dialects.agreeing import answers, refusal


def rule(condition: str = "s", **detections: Any) -> dict[str, Any]:
    return {"title": "t", "detection": {**detections, "condition": condition}}


CASES: list[tuple[Any, Any, bool]] = [
    (rule(s={"A": "x"}), {"A": "X"}, True),
    (rule(s={"A": "x*z?"}), {"A": "XyyZ1"}, True),
    (rule(s={"A": r"x\*"}), {"A": "x*"}, True),
    (rule(s={"A": r"c:\x\*.exe"}), {"A": r"C:\x*.exe"}, True),
    (rule(s={"A|cased": "x"}), {"A": "X"}, False),
    (rule(s={"A": 5}), {"A": "5"}, True),
    (rule(s={"A": 5}), {"A": 5}, True),
    (rule(s={"A": None}), {"B": 1}, True),
    (rule(s={"A": None}), {"A": [{"b": 1}]}, False),
    (rule(s={"A|exists": True}), {"A": [{"b": 1}]}, True),
    (rule(s={"A|exists": True}), {"A": [{"b": None}]}, False),
    (rule(s={"A.b": "x"}), {"A": [{"b": "y"}, {"b": ["X"]}]}, True),
    (rule(s={"A.b": "x"}), {"A.b": "x"}, True),
    (rule(s={"A.b|exists": False}), {"A": [{"b": 1}]}, False),
    (rule(s={"A.": "x"}), {"A.": "X"}, True),
    (rule(s={"A": ""}), {"A": ""}, True),
    (rule(s={"A": ""}), {}, False),
    (rule(s={"A": True}), {"A": True}, True),
    (rule(s={"A": ["x", "y"]}), {"A": ["z", "y"]}, True),
    (rule(s=[{"A": "x"}, {"B": "y"}]), {"B": "Y"}, True),
    (rule(s={"A": "x", "B": "y"}), {"B": "y"}, False),
    (rule(s={"A|contains": ["x", "y"]}), {"A": "ayb"}, True),
    (rule(s={"A|contains|all": ["x", "y"]}), {"A": "ayb"}, False),
    (rule(s={"A|startswith": "x"}), {"A": "Xy"}, True),
    (rule(s={"A|endswith": r"\cmd.exe"}), {"A": r"C:\Windows\CMD.EXE"}, True),
    (rule(s={"A|re": "^x.*y$"}), {"A": "x y"}, True),
    (rule(s={"A|re": "X"}), {"A": "x"}, False),
    (rule(s={"A|re|i": "X"}), {"A": "x"}, True),
    (rule(s={"A|cidr": "10.0.0.0/8"}), {"A": "10.9.9.9"}, True),
    (rule(s={"A|gte": 5}), {"A": 5}, True),
    (rule(s={"A|lt": 5}), {"A": "4"}, False),
    (rule(s={"A|exists": True}), {"A": ""}, True),
    (rule(s={"A|exists": False}), {"A": None}, True),
    (rule(s={"A|fieldref": "B"}), {"A": "x", "B": "X"}, True),
    (rule(s={"A|windash|contains": " -f"}), {"A": "cp /f"}, True),
    (rule(s={"A|base64offset|contains": "secret"}), {"A": base64.b64encode(b"a secret b").decode()}, True),
    (rule(s={"A|hour": 7}), {"A": "2024-05-31T07:59:00Z"}, True),
    (rule(s={"A|hour": 7}), {"A": ["2024-05-31T08:00:00Z", "x"]}, False),
    (rule("s and not f", s={"A": "x"}, f={"B": "y"}), {"A": "x"}, True),
    (rule("s and not f", s={"A": "x"}, f={"B": "y"}), {"A": "x", "B": "y"}, False),
    (rule("1 of s*", s1={"A": "x"}, s2={"B": "y"}), {"B": "y"}, True),
    (rule("all of s*", s1={"A": "x"}, s2={"B": "y"}), {"B": "y"}, False),
    (rule("1 of them", s1={"A": "x"}, other={"B": "y"}), {"B": "y"}, True),
    (rule("s1 or (s2 and not s1)", s1={"A": "x"}, s2={"B": "y"}), {"B": "y"}, True),
    (rule(s=["mimikatz", "evil*tool"]), {"log": {"line": ["ran an EVIL little tool"]}}, True),
    (rule(s=["mimikatz"]), {"line": "mimi"}, False),
]


@pytest.mark.parametrize(("given", "event", "expected"), CASES)
def test_rules(given: Any, event: Any, expected: bool) -> None:
    assert answers(given, "sigma", event) == {expected}


YAML = r"""
title: Shell from an office program
id: 5f1abf38-0000-0000-0000-000000000001
logsource: {category: process_creation, product: windows}
detection:
  selection:
    ParentImage|endswith: ['\winword.exe', '\excel.exe']
    Image|endswith: '\cmd.exe'
  filter:
    User|startswith: 'NT AUTHORITY'
  condition: selection and not filter
level: high
"""


def test_explanations_speak_of_the_rule() -> None:
    """A rule may come as YAML. Each field is explained with its modifiers and values."""
    engine = tocsin.Engine()
    engine.subscribe("office", YAML, language="sigma")
    event = {"ParentImage": r"C:\Office\WINWORD.EXE", "Image": r"C:\Windows\calc.exe"}
    told = engine.explain("office", event)
    assert [one.predicate for one in told.held] == [
        r'ParentImage|endswith: ["\\winword.exe", "\\excel.exe"]',
        'NOT User|startswith: "NT AUTHORITY"',
    ]
    assert [one.predicate for one in told.failed] == [r'Image|endswith: "\\cmd.exe"']
    assert engine.match({**event, "Image": r"c:\cmd.exe"})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (rule(s={"A|expand": "%x%"}), "expand of Sigma is not supported"),
        (rule(s={"A|minute": 3}), "minute of Sigma is not supported"),
        (rule(s={"A|frob": 3}), "Unknown modifier 'frob'"),
        (rule("s and x", s={"A": 3}), "Detection 'x' not defined"),
        (rule("s and", s={"A": 3}), "at detection"),
        ({"title": "t", "correlation": {}}, "at correlation: correlation needs an object that is not empty"),
        ({"title": "t"}, "at detection: detection needs an object"),
        ("title: [", "this is not YAML"),
        ("a: 1\n---\nb: 2\n", "these 2 documents are not"),
        (rule(["s", "not s"], s={"A": 1}), "several conditions"),
        (rule(s={"A|re": "(?<=x)y"}), "at detection: Regular expression"),
        (rule(s={"A|fieldref|startswith": "B"}), "fieldref"),
        ([], "a rule is one YAML document"),
        ([None], "a rule is one YAML document"),
        ("x", "a rule is a map"),
    ],
)
def test_refusals_name_the_place(given: Any, reason: str) -> None:
    assert reason in refusal(given, "sigma")
