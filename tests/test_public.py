"""The public names, the tree of errors, and that errors survive the way between processes."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import tocsin
from tests.waiting import HANG_S
from tocsin import errors

NAMES = [
    "Answer",
    "AsyncClient",
    "AsyncServedWindow",
    "Change",
    "Client",
    "Conjunctions",
    "DeliveredChange",
    "Delivery",
    "DryRun",
    "DuplicateSubscription",
    "DurableEngine",
    "DurableFences",
    "DurableWindow",
    "Engine",
    "EngineStats",
    "ExpressionError",
    "FenceChange",
    "FenceChanges",
    "Fences",
    "HalfChanged",
    "InvalidInput",
    "LeftOut",
    "Match",
    "Matches",
    "MissingExtra",
    "Monitor",
    "MonitorChange",
    "MonitorChanges",
    "MonitorExplanation",
    "Published",
    "Pushed",
    "Range",
    "RecordError",
    "Reject",
    "Relaxed",
    "Removal",
    "Report",
    "SegmentError",
    "ServedWindow",
    "ServiceError",
    "Similar",
    "SparseEvents",
    "Statistics",
    "Stats",
    "StoreError",
    "Subscription",
    "Text",
    "TocsinError",
    "Top",
    "UnknownIndex",
    "UnknownSubscription",
    "UnsuitableIndex",
    "UnsupportedError",
    "Window",
    "WindowAnswer",
    "WindowExplanation",
    "WindowStats",
    "convert",
    "explain",
    "idf",
    "match",
    "parse",
    "parse_json",
    "quote",
    "sample",
    "to_json",
    "to_text",
]
SPARK_NAMES = [
    *("CompileReport", "Metrics", "PlacementReport", "UpdateReport", "WriteReport", "compile", "follow"),
    *("local_session", "match", "match_parquet", "match_to_parquet", "merge", "plan", "read_kafka", "statistics"),
    *("update", "upload", "warm", "window", "write_kafka"),
]
NAMES_FOR_INDEXES = [
    *("ALL_MATCHES", "ANY_EXPRESSION", "Alive", "Arrays", "Best", "Builder", "CandidateIndex", "Checked"),
    *(
        "CompiledExpressions",
        "EventBatch",
        "Found",
        "Matcher",
        "Needs",
        "Registration",
        "Statistics",
        "Values",
        "check",
    ),
]
TREE = {
    "TocsinError": Exception,
    "InvalidInput": errors.TocsinError,
    "ExpressionError": errors.InvalidInput,
    "UnsupportedError": errors.ExpressionError,
    "RecordError": errors.InvalidInput,
    "DuplicateSubscription": errors.InvalidInput,
    "UnknownIndex": errors.InvalidInput,
    "UnsuitableIndex": errors.InvalidInput,
    "UnknownSubscription": errors.TocsinError,
    "HalfChanged": errors.TocsinError,
    "LeftOut": errors.TocsinError,
    "SegmentError": errors.TocsinError,
    "ServiceError": errors.TocsinError,
    "StoreError": errors.TocsinError,
    "MissingExtra": errors.TocsinError,
}
EXAMPLES = [
    errors.TocsinError("root"),
    errors.InvalidInput("bad"),
    errors.ExpressionError("no value", "n = \nAND", 5),
    errors.ExpressionError("no place"),
    errors.UnsupportedError("not yet", "T_AFTER(a, b)", 0),
    errors.RecordError("the id is taken", "id"),
    errors.RecordError("no object"),
    errors.DuplicateSubscription("taken"),
    errors.UnknownIndex("none such"),
    errors.UnsuitableIndex("a range has no end", 7),
    errors.UnsuitableIndex("a range has no end", 7, "s7"),
    errors.HalfChanged("interrupted"),
    errors.LeftOut("too large"),
    errors.SegmentError("damaged"),
    errors.StoreError("full"),
    errors.ServiceError(410, "gone", "not kept", {"earliest": 7}),
    errors.MissingExtra("no pyspark"),
]


def test_the_exported_names() -> None:
    """What `tocsin` exports is a contract."""
    assert sorted(tocsin.__all__) == NAMES
    assert all(hasattr(tocsin, name) for name in NAMES)


def test_the_exported_names_of_spark() -> None:
    """What `tocsin.spark` exports is a contract."""
    spark = importlib.import_module("tocsin.spark")

    assert sorted(spark.__all__) == SPARK_NAMES
    assert all(callable(getattr(spark, name)) for name in SPARK_NAMES)


def test_the_exported_names_for_indexes() -> None:
    """What `tocsin.indexes` exports is a contract, which `import tocsin` does not load."""
    indexes = importlib.import_module("tocsin.indexes")

    assert sorted(indexes.__all__) == NAMES_FOR_INDEXES
    assert tocsin.indexes is indexes


def test_the_keywords_of_match() -> None:
    """The parameters of `match` are a contract; all but the two sources go by keyword."""
    parameters = inspect.signature(tocsin.match).parameters

    assert list(parameters) == [
        "subscriptions",
        "events",
        "ranking",
        "index",
        "lists",
        "strict",
        "schema",
        "threads",
        "progress",
        "delimiter",
        "points",
        "event_key",
        "payload",
        "named",
        "payload_columns",
        "now",
    ]
    kinds = [parameter.kind for parameter in parameters.values()]
    assert kinds == [inspect.Parameter.POSITIONAL_OR_KEYWORD] * 2 + [inspect.Parameter.KEYWORD_ONLY] * 14


def test_the_tree_of_errors() -> None:
    """Every error has its place in the tree, and there is no other."""
    found = {
        name: kind.__bases__[0]
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, Exception)
    }

    assert found == TREE


@pytest.mark.parametrize("name", TREE)
def test_an_error_about_a_callers_value_is_a_value_error(name: str) -> None:
    """ValueError catches what the caller gave wrong, ImportError what is not installed, and nothing else does."""
    kind = getattr(errors, name)

    assert issubclass(kind, ValueError) == issubclass(kind, errors.InvalidInput)
    assert issubclass(kind, ImportError) == (name == "MissingExtra")


@pytest.mark.parametrize("way", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_what_one_event_matches_travels(way: Callable[[Any], Any]) -> None:
    """With payloads, and what was wrong with the event."""
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": f"s{n}", "where": f"n > {n}", "payload": {"to": n}} for n in range(4)])
    found = engine.match({"n": 2, "m": 2**60}, payload=True)

    twin = way(found)

    assert (list(twin), twin[-1], twin[:1], twin.errors) == (list(found), found[-1], found[:1], found.errors)
    assert [one.payload for one in twin] == [{"to": 0}, {"to": 1}]
    assert isinstance(twin, type(found))
    assert way(twin) == found


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("way", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_errors_survive_pickling_and_copying(error: errors.TocsinError, way) -> None:
    """Type, message and attributes come back, as Spark and process pools need."""
    twin = way(error)

    assert type(twin) is type(error)
    assert str(twin) == str(error)
    assert vars(twin) == vars(error)


def test_values_survive_pickling() -> None:
    """So do rejects, matches, rankings, explanations and answers."""
    answer = tocsin.match([{"id": "a", "where": "n = 1"}, {"id": "b"}], [{"n": 1}], ranking=tocsin.Top(1))
    twin = pickle.loads(pickle.dumps(answer))

    assert twin.table == answer.table
    assert twin.errors == answer.errors
    assert twin.stats == answer.stats
    explanation = tocsin.explain("n = 1", {"n": 2})
    assert str(pickle.loads(pickle.dumps(explanation))) == str(explanation)


def test_importing_tocsin_needs_no_extra() -> None:
    """`import tocsin` alone pulls in neither Spark nor Polars nor Matplotlib."""
    code = "import sys, tocsin; print([m for m in ('pyspark', 'polars', 'matplotlib') if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG_S, check=True)

    assert done.stdout.strip() == "[]"


def test_an_engine_needs_no_client_and_no_pandas() -> None:
    """asyncio and httpx are for clients; pyarrow imports pandas with a process's first array, for tables."""
    code = """if True:
        import sys, tocsin

        engine = tocsin.Engine()
        engine.subscribe("a", "price < 5 AND title LIKE 'red%' AND TEXT(title, 'shoes')")
        found = engine.match({"price": 3, "title": "red shoes"})
        print([one.subscription for one in found], [m for m in ("asyncio", "httpx", "pandas") if m in sys.modules])
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG_S, check=True)

    assert done.stdout.strip() == "['a'] []"


def test_what_a_task_does_needs_no_pyspark() -> None:
    """Workers' code is imported where PySpark is not installed, too."""
    modules = ("answering", "visits", "workers", "windows.answering", "windows.keeping")
    lines = ["import sys", "sys.modules['pyspark'] = None", *(f"import tocsin.spark.{name}" for name in modules)]

    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True, timeout=HANG_S)
