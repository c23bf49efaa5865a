"""Many subscriptions are taken at once, from any source; what is bad costs only itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pytest

import tocsin
from tests.engine.samples import SUBSCRIPTIONS, of, pairs, small_engine, state


@pytest.fixture
def engine() -> Any:
    return small_engine()


def lines(path: Path) -> Path:
    path = path / "subscriptions.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in SUBSCRIPTIONS))
    return path


SOURCES: Final[dict[str, Callable[[Path], Any]]] = {
    "tuple of dicts": lambda _: SUBSCRIPTIONS,
    "iterator": lambda _: iter(SUBSCRIPTIONS),
    "JSON lines": lambda path: lines(path).read_bytes(),
    "path": lines,
    "table": lambda _: pa.Table.from_pylist(list(SUBSCRIPTIONS)),
    "pandas": lambda _: pd.DataFrame(list(SUBSCRIPTIONS)),
}


@pytest.mark.parametrize("form", SOURCES)
def test_many_subscriptions_come_in_any_form(form: str, engine: Any, tmp_path: Path) -> None:
    """The engine is then as if each had been subscribed by itself."""
    many = tocsin.Engine()

    assert many.subscribe_many(SOURCES[form](tmp_path)) == tocsin.Report(3, [])

    assert state(many) == state(engine)


def test_conjunctions_are_subscribed_in_bulk(engine: Any) -> None:
    """`tocsin.Conjunctions` are one more form, beside what is there."""
    predicates = [[{"attribute": "n", "op": "<", "value": 5.0}], [{"attribute": "n", "op": ">", "value": 0.0}] * 2]

    report = engine.subscribe_many(
        tocsin.Conjunctions(pa.table({"id": ["b", "low"], "predicates": predicates, "score": [0.5, 7.0]})), replace=True
    )

    assert report == tocsin.Report(2, [])
    assert pairs(engine.match({"n": 9})) == [("low", 7.0)]
    assert pairs(engine.match({"n": 1})) == [("b", 0.5), ("low", 7.0), ("text", -1.0)]


def test_a_bad_record_costs_only_itself(engine: Any) -> None:
    """What is bad, taken, or of the other kind is reported with its row, id and field, and the rest is taken."""
    records = [*of(["a", "low", 7]), {"id": "bad", "where": "n ="}, "no record", *of(["b", "a"], score=2)]

    report = engine.subscribe_many(records)

    assert report.accepted == 2
    assert [(r.row, r.id, r.field) for r in report.errors] == [
        (1, "low", "id"),
        (2, 7, "id"),
        (3, "bad", "where"),
        (4, None, ""),
        (6, "a", "id"),
    ]
    assert "'low' exists already" in report.errors[0].reason
    assert pairs(engine.match({"n": 9})) == [("a", 1.0), ("b", 2.0)]


def test_of_several_with_one_id_the_first_is_kept_or_with_replace_the_last() -> None:
    """Only records that can be taken count."""
    bad = {"id": "a", "where": "n ="}
    source = [bad, *of(["a"], score=1), *of(["a"], score=2), *of(["b"], score=3), bad]
    kept, replaced = tocsin.Engine(), tocsin.Engine()
    replaced.subscribe("a", "n = 1", payload="old")

    rows = [reject.row for reject in kept.subscribe_many(source).errors]
    replaced.subscribe_many(source, replace=True)

    assert rows == [0, 2, 4]
    assert pairs(kept.match({})) == [("a", 1.0), ("b", 3.0)]
    assert pairs(replaced.match({})) == [("a", 2.0), ("b", 3.0)]
    assert replaced.payload("a") is None


@pytest.mark.parametrize("bad", [{"id": "x", "where": "n ="}, *of(["low", 7])])
def test_strict_stops_at_the_first_bad_record(engine: Any, bad: dict[str, Any]) -> None:
    """The error names the row, and nothing from there on is taken."""
    with pytest.raises(tocsin.RecordError, match="subscription 1: "):
        engine.subscribe_many([*of(["a"]), bad, *of(["b"])], strict=True)

    assert "b" not in engine
    assert ("x" in engine, 7 in engine, len(engine)) == (False, False, 3 + ("a" in engine))


@pytest.mark.parametrize("source", [5, pa.table({"id": ["x"]}), None])
def test_a_source_that_cannot_be_read_is_refused_as_a_whole(engine: Any, source: Any) -> None:
    """As `tocsin.match` does; nothing changes."""
    before = state(engine)

    with pytest.raises(tocsin.InvalidInput, match="subscriptions"):
        engine.subscribe_many(source)

    assert state(engine) == before
