"""The ways of an event and of a subscription that ARCHITECTURE.md tells are those that they go."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import pytest

import tocsin

SOURCE: Final = Path(tocsin.__file__).parent
PAGE: Final = (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text("utf-8")
FLOOR: Final = ("kernels/", "columns/arrays.py", "columns/payloads.py", "columns/expressions/growing.py")
FAMILY: Final = re.compile(r"(language/operators/|language/templates/|columns/expressions/recipes/)\w+\.py")
"""Operators count as one, as do templates and recipes: which of their files are entered is up to the expression."""
EVENTS: Final = [{"price": number, "city": f"c{(number - 1) % 7}"} for number in range(40)]
"""Each but the first is matched by a subscription of its city with a lower price."""


def turns(call: Callable[[], Any], within: str | None = None) -> Counter[str]:
    """How often a call enters each file from another one, in the order of the first visit, without the floor.

    Only within a function, where one is named. What is merely looked up of an object, as its length is, is no visit.
    """
    files: Counter[str] = Counter()
    inside = within is None

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal inside
        if frame.f_code.co_name == within and event in ("call", "return"):
            inside = event == "call"
        name = frame.f_code.co_filename
        if not inside or event != "call" or not name.startswith(f"{SOURCE}/"):
            return
        caller = frame.f_back.f_code.co_filename if frame.f_back else ""
        if caller != name and not is_look(frame.f_code):
            files[FAMILY.sub(r"\1", name.removeprefix(f"{SOURCE}/"))] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return Counter({name: count for name, count in files.items() if not name.startswith(FLOOR)})


def is_look(code: CodeType) -> bool:
    """Whether a function is a property, a length or a default of a field."""
    if code.co_name.startswith("<") or code.co_name == "__len__":
        return True
    path = Path(code.co_filename).relative_to(SOURCE.parent).with_suffix("")
    found: Any = sys.modules.get(".".join(path.parts))
    for part in code.co_qualname.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return isinstance(found, property)


def passed(call: Callable[[], Any], within: str | None = None) -> list[str]:
    """The files that a call enters, in the order of the first visit."""
    return list(turns(call, within))


TELLS_OF_KERNELS = sys.version_info < (3, 12)
"""Whether Numba tells a profiler of compiled functions as Python tells of its own."""


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def listed(title: str) -> Iterator[tuple[str, bool]]:
    """The files of a numbered list, and whether each is marked."""
    for name, mark in re.findall(r"^\d+\. `([\w/]+(?:\.py|/))`( \*)?", section(title), re.MULTILINE):
        if TELLS_OF_KERNELS or "/kernels/" not in name:
            yield name, bool(mark)


@pytest.fixture(scope="module")
def engine() -> tocsin.Engine:
    """Some subscriptions of one form in a segment, of which much was asked already."""
    engine = tocsin.Engine()
    engine.subscribe_many({"id": f"s{n}", "where": f"price > {n} AND city = 'c{n % 7}'"} for n in range(3000))
    engine.merge()
    for event in EVENTS[:3]:  # the second binds their form
        engine.match(event)
    engine.match_batch(EVENTS)
    return engine


def test_the_way_of_an_event(engine: tocsin.Engine) -> None:
    """Of one that matches; the page says which files have more than one turn, and none has more than four."""
    way = turns(lambda: [match.subscription for match in engine.match(EVENTS[3])])

    told = section("The path of an event").split("Some are entered more than once")[1].split("\n\n")[0]
    assert list(way) == [name for name, _ in listed("The path of an event")]
    assert {name for name, count in way.items() if count > 1} == set(re.findall(r"`([\w/]+\.py)`", told))
    assert len(way) <= 15
    assert max(way.values()) <= 4


def test_the_way_of_a_source(engine: tocsin.Engine) -> None:
    """What the page names beyond the path of an event."""
    way = passed(lambda: engine.match_batch(EVENTS).table)

    told = " ".join(section("The path of an event").split())
    told = told.split("`match_batch` answers")[1].split("A source that may mean")[0]
    assert set(way).difference(name for name, _ in listed("The path of an event")) == set(
        re.findall(r"`([\w/]+\.py)`", told)
    )
    assert len(way) <= 21
    assert len(passed(lambda: engine.match_batch(EVENTS), within="_match_piece")) <= 15


def test_the_way_of_a_subscription(engine: tocsin.Engine) -> None:
    """Of a new form, then of a known one."""
    for number in range(2):
        engine.subscribe(f"first {number}", "price > 3 AND city = 'c'")
        engine._store.keep_up()

    def made(id: str, where: str) -> None:
        engine.subscribe(id, where)
        engine._store.keep_up()  # as a match does

    new = passed(lambda: made("new", "price > 3 AND city = 'c' AND NOT speed < 4"))
    known = passed(lambda: made("known", "price > 5 AND city = 'd'"))

    way = list(listed("The path of a subscription"))
    assert new == [name for name, _ in way]
    assert set(known) == {name for name, is_marked in way if is_marked}
    assert len(new) <= 20
