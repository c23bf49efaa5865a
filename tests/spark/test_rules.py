"""Rules of other systems on Spark: a column names their language, in subscriptions and in changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tocsin import spark as tocsin_spark

pytestmark = pytest.mark.spark

RULES = [
    ("a", json.dumps({"detail": {"state": ["running"]}}), "eventbridge"),
    ("b", json.dumps({"price": {"$gt": 3}}), "mongodb"),
    ("c", "price > 3 AND NOT SOME(tags, element = 'x')", None),
    ("d", json.dumps({"price": {"$frob": 3}}), "mongodb"),
]
EVENTS = [{"detail": {"state": "running"}, "price": 1}, {"price": 9, "tags": ["y", "x"]}, {"price": 9}]


def test_compile_update_and_match(spark: Any, tmp_path: Path) -> None:
    """The index of Spark has the rules, answers as an engine does, and refuses by name."""
    frame = spark.createDataFrame(RULES, "id string, where string, language string")
    folder = str(tmp_path / "index")
    report = tocsin_spark.compile(frame, folder)
    engine = tocsin.Engine.load(folder)
    assert engine.get("a")["language"] == "eventbridge"
    assert "d" not in engine
    found = [[match.subscription for match in engine.match(event)] for event in EVENTS]
    assert found == [["a"], ["b"], ["b", "c"]]
    assert (report.accepted, report.rejected) == (3, 1)
