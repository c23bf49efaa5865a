"""In notebooks and other processes, objects say what they hold, or what to do instead."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tocsin
from tocsin.model.subscription import Reject

BOUNDS = (0, 0, 9, 9)


def filled() -> tocsin.Engine:
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": f"s{n}", "where": f"n >= {n}"} for n in range(3)])
    engine.subscribe("<b>", "speed > 1")
    return engine


class Cells(HTMLParser):
    """Collects the texts of a table, and checks that its elements are closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag in ("div", "strong", "table", "thead", "tbody", "tr", "th", "td")
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def cells(shown: Any) -> list[str]:
    return Cells(shown._repr_html_()).texts


def test_objects_show_themselves_as_html(tmp_path: Path) -> None:
    engine = filled()
    fences = tocsin.Fences(engine, key="k")
    fences.push({"k": "<i>", "n": 2})
    window = tocsin.Window(size=5, bounds=BOUNDS)
    report = engine.subscribe_many([{"id": "bad", "where": "<script>"}, *({"id": f"x{n}"} for n in range(30))])

    assert "Engine(4 subscriptions, 1 segments)" in cells(engine) and "recent changes" in cells(engine)
    assert cells(fences)[-2:] == ["<i>", "s0, s1, s2"]
    assert cells(window)[:3] == ["Window", "subscriptions", "0"]
    assert cells(report)[0] == "0 accepted, 31 rejected" and "bad" in cells(report) and cells(report)[-1] == "21 more"
    assert cells(tocsin.Report(1, [Reject(0, 1, "where", "x" * 999)]))[-1].endswith("...")
    with tocsin.Engine.open(tmp_path / "alerts") as durable:
        assert cells(durable)[0].startswith("DurableEngine(")


def test_what_cannot_be_pickled_says_what_to_do(tmp_path: Path) -> None:
    engine = filled()
    with tocsin.Engine.open(tmp_path / "alerts") as durable:
        for one, advice in (
            (engine, r"Engine cannot be pickled or copied: save it with save\(folder\), and Engine.load"),
            (durable, r"DurableEngine cannot be .*: pass its folder, and open it with Engine.open\(folder, read_only"),
            (tocsin.Fences(engine, key="k"), "Fences cannot be .*Fences.load"),
            (tocsin.Window(size=5, bounds=BOUNDS), "Window cannot be .*Window.load"),
        ):
            for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match=advice):
                    attempt(one)


def test_a_row_of_a_frame_is_an_event() -> None:
    """Missing values are absent, and numbers are those of Python."""
    frame = pd.DataFrame(
        {"n": [2, 0], "s": ["a", None], "f": [1.5, float("nan")], "t": pd.to_datetime(["2026-01-01"] * 2)}
    )
    engine = filled()
    engine.subscribe("none", "s IS NULL AND f IS NULL")
    engine.subscribe("time", "t = TIMESTAMP('2026-01-01T00:00:00Z')")
    batch = engine.match_batch(frame).table.to_pylist()

    for row, (_, event) in enumerate(frame.iterrows()):
        found = [one.subscription for one in engine.match(event)]
        assert found == [one["subscription"] for one in batch if one["event"] == row] and found
    assert [one.subscription for one in tocsin.Fences(engine, key="s").push(frame.iloc[0])]
    with pytest.raises(tocsin.RecordError, match="match_batch takes a source of events"):
        engine.match(frame)  # type: ignore[arg-type]


def test_the_answer_of_fences_says_changes() -> None:
    engine = filled()
    assert repr(tocsin.Fences(engine, key="k").push_batch([{"k": 1, "n": 0}])).startswith(
        "Answer(1 changes of 1 events"
    )
    assert repr(engine.match_batch([{"n": 0}])).startswith("Answer(1 matches of 1 events")


def test_an_older_python_is_told_the_version_that_is_needed() -> None:
    """As the package is imported; whatever the version cannot read comes after that."""
    program = (
        "import sys; sys.version_info = (3, 10, 4, 'final', 0); sys.version = '3.10.4 (x)'\n"
        "try:\n import tocsin\nexcept ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "tocsin needs Python 3.11 or newer, and this is Python 3.10.4\n"
