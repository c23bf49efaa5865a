"""JSON Logic's published cases: each is answered as the table says, or refused by name."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path
from typing import Any, Final

import pytest

from tests.language.dialects.agreeing import matched

PACKAGE: Final = Path(__file__).parents[3] / "build" / "oracles" / "json-logic-engine-1.2.10.tgz"
MEMBER: Final = "package/bench/tests.json"
"""What https://jsonlogic.com/tests.json has: a list of titles, and of cases of a rule, its data and its result."""


@pytest.fixture(scope="module")
def cases() -> list[tuple[Any, Any, Any]]:
    if not PACKAGE.exists() and not os.environ.get("CI"):
        pytest.skip("the published cases are not here; with npm: sh scripts/oracles.sh")
    with tarfile.open(PACKAGE) as package:
        member = package.extractfile(MEMBER)
        assert member is not None
        return [tuple(case) for case in json.load(member) if not isinstance(case, str)]


def _is_event(data: Any) -> bool:
    """Events have names; data that is a list, or one value, is not an event. Null is an event without attributes."""
    return data is None or isinstance(data, dict)


def test_published_cases(cases: list[tuple[Any, Any, Any]]) -> None:
    """A rule matches where its result counts as true: all but null, false, 0, and an empty text or list."""
    assert len(cases) > 250
    asked = [(rule, data or {}, bool(result)) for rule, data, result in cases if _is_event(data)]

    found, refused = matched([json.dumps(rule) for rule, _, _ in asked], "jsonlogic", [data for _, data, _ in asked])

    assert [asked[number] for number, events in found.items() if (number in events) is not asked[number][2]] == []
    assert len(found) > 180
    assert all(_is_by_name(reason) for reason in refused.values()), refused


def _is_by_name(reason: str) -> bool:
    """Whether a refusal names what tocsin does not compute, or a rule that is data and not a condition."""
    return any(
        words in reason
        for words in ("is not supported", "a list is not a condition", "tocsin cannot tell", "var needs")
    )
