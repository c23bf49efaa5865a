"""What each method of an engine does, refuses and says; nothing that is refused changes anything."""

from __future__ import annotations

import inspect
import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tocsin
from tests.engine.samples import EVENTS, OTHER_KIND, SUBSCRIPTIONS, of, pairs, small_engine, state


@pytest.fixture
def engine() -> Any:
    return small_engine()


def test_the_parameters_are_a_contract() -> None:
    """Names and kinds of parameters: what is optional goes by keyword."""
    expected = {
        "__init__": "index * statistics delta_limit texts",
        "subscribe": "id where * language by score payload weights replace",
        "subscribe_many": "source * replace strict progress payload_columns",
        "unsubscribe": "id",
        "rescore": "id score",
        "match": "event * ranking payload named only now",
        "match_batch": "events * ranking lists strict schema threads progress delimiter points event_key payload "
        "named only now",
        "warnings": "events * schema delimiter points",
        "explain": "id event * ranking schema points now",
        "payload": "id",
        "get": "id",
        "subscriptions": "* only",
        "subscription_table": "* only",
        "unsubscribe_many": "ids * only dry_run",
        "export": "path",
        "save": "folder",
    }
    for method, names in expected.items():
        parameters = list(inspect.signature(getattr(tocsin.Engine, method)).parameters.values())[1:]
        positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        keyword = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        assert " ".join([*positional, *(["*", *keyword] if keyword else [])]) == names


def test_an_empty_engine_answers_nothing() -> None:
    """No subscription, no match, in every form; and bad events are bad all the same."""
    engine = tocsin.Engine()

    assert list(engine.match({"n": 1})) == list(engine.match({}, ranking=tocsin.Top(3))) == []
    assert engine.match_batch(EVENTS).table.to_pylist() == []
    assert engine.match_batch([{}, "bad"], lists=True).table["subscription"].to_pylist() == [[], None]
    assert (len(engine), engine.stats.subscriptions, "low" in engine, 1 in engine) == (0, 0, False, False)
    assert engine.subscribe_many([]) == tocsin.Report(0, [])
    engine.merge()
    assert engine.stats.delta == 0
    with pytest.raises(tocsin.RecordError):
        engine.match("bad")


def test_matches_come_by_id_or_by_score(engine: Any) -> None:
    """Without a ranking by id; ranked by score, descending, ties to the lower id; each with its score."""
    engine.subscribe("also", "n < 3", score=2)

    assert pairs(engine.match({"n": 1})) == [("also", 2.0), ("low", 2.0), ("text", -1.0)]
    assert pairs(engine.match({"n": 1}, ranking=tocsin.Top(9))) == [("also", 2.0), ("low", 2.0), ("text", -1.0)]
    assert pairs(engine.match({"n": 1}, ranking=tocsin.Top(1))) == [("also", 2.0)]
    assert pairs(engine.match({"s": "a"}, ranking=tocsin.Top(9))) == [("none", 1.0), ("text", -1.0)]


def test_matches_are_a_sequence(engine: Any) -> None:
    """They have a length, places from both ends, slices, order and membership, and are `tocsin.Match`."""
    matches = engine.match({"n": 1})

    assert isinstance(matches, Sequence)
    assert len(matches) == 2
    assert matches[0] == matches[-2] == tocsin.Match("low", 2.0) == ("low", 2.0)
    assert type(matches[0]) is tocsin.Match
    assert list(matches[1:]) == list(matches)[1:] == [tocsin.Match("text", -1.0)]
    assert ("low", 2.0) in matches
    assert "low" in repr(matches)
    assert not engine.match({"n": 7})
    with pytest.raises(IndexError):
        matches[2]


def test_an_expression_may_be_text_or_json(engine: Any) -> None:
    """Both say the same, and a new one counts from the next match on."""
    engine.subscribe("one", "n > 8 AND s = 'a'")
    engine.subscribe("two", tocsin.to_json(tocsin.parse("n > 8 AND s = 'a'")), weights={"n": 2.0})

    assert pairs(engine.match({"n": 9, "s": "a"})) == [("one", 1.0), ("text", -1.0), ("two", 1.0)]


@pytest.mark.parametrize(
    ("arguments", "fields", "message"),
    [
        (("x", "n = AND"), {}, "line 1, column 5"),
        (("x", ""), {}, "empty"),
        (("x", None), {}, "expression"),
        (("x", 5), {}, "not an int"),
        (("x", {"op": "nosuch", "args": []}), {}, "nosuch"),
        (("x", "n = 1"), {"score": "2"}, "a number, not '2'"),
        (("x", "n = 1"), {"score": True}, "a number, not True"),
        (("x", "n = 1"), {"score": float("nan")}, "not finite"),
        (("x", "n = 1"), {"weights": {"n": -1}}, "-1"),
        ((None, "n = 1"), {}, "id"),
        ((1.5, "n = 1"), {}, "not a float"),
        ((True, "n = 1"), {}, "bool"),
        (("\ud800", "n = 1"), {}, "surrogate"),
        ((3, "n = 1"), {}, OTHER_KIND),
        (("low", "n = AND"), {"replace": True}, "line 1, column 5"),
        (("low", "n = 1"), {"replace": True, "score": float("inf")}, "not finite"),
    ],
)
def test_a_bad_subscription_is_refused(engine: Any, arguments: tuple, fields: dict, message: str) -> None:
    """The message says what came; nothing else changes."""
    before = state(engine)

    with pytest.raises(tocsin.InvalidInput, match=message):
        engine.subscribe(*arguments, **fields)

    assert state(engine) == before


def test_an_id_that_is_taken_is_refused(engine: Any) -> None:
    """The message names the id and the way out; the first one stays."""
    before = state(engine)

    with pytest.raises(tocsin.DuplicateSubscription, match=r"'low'.*replace"):
        engine.subscribe("low", "TRUE", score=9, payload="new")

    assert state(engine) == before


@pytest.mark.parametrize("merged", [False, True])
def test_replacing_replaces_everything(engine: Any, merged: bool) -> None:
    """Expression, score and payload are the new one's, the defaults where it gives none; nothing of the old is left."""
    if merged:
        engine.merge()

    engine.subscribe("low", "n > 8", replace=True)
    engine.subscribe("text", "n > 8", score=3, payload=[1], replace=True)
    engine.subscribe("new", "n > 8", replace=True)

    assert pairs(engine.match({"n": 9})) == [("low", 1.0), ("new", 1.0), ("text", 3.0)]
    assert pairs(engine.match({"n": 1})) == []
    assert [engine.payload(name) for name in ("low", "text", "new")] == [None, [1], None]
    assert len(engine) == 4


@pytest.mark.parametrize("merged", [False, True])
def test_every_change_is_seen_by_the_next_match(engine: Any, merged: bool) -> None:
    """Unsubscribing, subscribing again and rescoring, in the delta or in a segment."""
    if merged:
        engine.merge()

    engine.unsubscribe("low")
    assert (pairs(engine.match({"n": 1})), "low" in engine, len(engine)) == ([("text", -1.0)], False, 2)
    engine.rescore("text", 5)
    assert pairs(engine.match({"n": 1})) == [("text", 5.0)]
    engine.subscribe("low", "n = 1")
    assert pairs(engine.match({"n": 1}, ranking=tocsin.Top(9))) == [("text", 5.0), ("low", 1.0)]
    assert engine.payload("low") is None
    engine.rescore("text", -0.0)
    engine.rescore("low", 0.0)
    assert pairs(engine.match({"n": 1}, ranking=tocsin.Top(1))) == [("low", 0.0)]
    engine.merge()
    assert pairs(engine.match({"n": 1}, ranking=tocsin.Top(9))) == [("low", 0.0), ("text", 0.0)]


@pytest.mark.parametrize("name", ["nobody", "", "low ", 0, None, True, 1.5, ("low",)])
@pytest.mark.parametrize("method", ["unsubscribe", "rescore", "payload", "explain"])
def test_an_unknown_id_is_a_key_error(engine: Any, method: str, name: Any) -> None:
    """The message names it, in plain words; no value that is no id is in an engine."""
    rest = {"rescore": (1.0,), "explain": ({"n": 1},)}.get(method, ())
    before = state(engine)

    with pytest.raises(tocsin.UnknownSubscription) as caught:
        getattr(engine, method)(name, *rest)

    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, tocsin.TocsinError)
    assert repr(name) in str(caught.value)
    assert str(caught.value)[0] not in "\"'"
    assert name not in engine
    assert state(engine) == before


def test_a_boolean_is_not_the_id_one() -> None:
    """True and 1.0 are no ids, though Python holds them equal to 1."""
    engine = tocsin.Engine()
    engine.subscribe(1, "TRUE")

    for name in (True, 1.0):
        assert name not in engine
        with pytest.raises(tocsin.UnknownSubscription):
            engine.unsubscribe(name)
    assert 1 in engine


@pytest.mark.parametrize("score", ["1", True, float("nan"), float("-inf"), 10**400, [1]])
def test_a_bad_score_is_refused(engine: Any, score: Any) -> None:
    """A score is a finite number; the old one stays."""
    before = state(engine)

    with pytest.raises(tocsin.InvalidInput, match="score"):
        engine.rescore("low", score)

    assert state(engine) == before


@pytest.mark.parametrize(("first", "other"), [("a", 1), (1, "a"), (0, ""), ("1", 1)])
def test_the_first_id_decides_the_kind(first: Any, other: Any) -> None:
    """An id of the other kind is refused, alone and among others; a refused one decides nothing."""
    engine = tocsin.Engine()
    with pytest.raises(tocsin.InvalidInput):
        engine.subscribe(other, "n =")
    engine.subscribe(first, "TRUE")

    with pytest.raises(tocsin.RecordError, match=OTHER_KIND):
        engine.subscribe(other, "TRUE")
    report = engine.subscribe_many(of([other]))

    assert report.accepted == 0
    assert [(r.row, r.id, r.field) for r in report.errors] == [(0, other, "id")]
    assert pairs(engine.match({})) == [(first, 1.0)]
    assert other not in engine


@pytest.mark.parametrize(
    "ids",
    [
        [2**53, 2**53 + 1, 2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, 0, -1, 9, 10],
        ["é", "e\u0301", "z", "Z", "｡", "😀", "", " ", "a", "a\x00", "a\x00b", "10", "9", "x" * 10_000],
    ],
)
def test_ids_are_exact_and_ordered(ids: list[Any], tmp_path: Path) -> None:
    """Integers up to 64 bits by value, strings by code point, whatever way they take."""
    engine = tocsin.Engine(delta_limit=4)
    for place, name in enumerate(ids):
        engine.subscribe(name, "n = 1", payload=place)

    merged = [m.subscription for m in engine.match({"n": 1})]
    engine.merge()
    engine.save(tmp_path)
    loaded = tocsin.Engine.load(tmp_path)

    assert merged == [m.subscription for m in engine.match({"n": 1})] == sorted(ids)
    assert loaded.match_batch([{"n": 1}], ranking=tocsin.Top(99)).table["subscription"].to_pylist() == sorted(ids)
    assert [loaded.payload(name) for name in ids] == list(range(len(ids)))
    with pytest.raises(tocsin.InvalidInput, match=r"64 bits|kind"):
        loaded.subscribe(2**63, "TRUE")


@pytest.mark.parametrize("event", ["text", None, 5, {"a": {"b": 1}, "a.b": 1}, {1: "a"}, [{"n": 1}]])
def test_a_bad_event_is_an_error_alone_and_a_reject_in_a_batch(engine: Any, event: Any) -> None:
    """`match` and `explain` raise, `match_batch` serves the others, or raises when strict."""
    with pytest.raises(tocsin.RecordError):
        engine.match(event)
    with pytest.raises(tocsin.RecordError):
        engine.explain("low", event)
    answer = engine.match_batch([{"n": 9, "s": "a"}, event, {"n": 9, "s": "a"}], lists=True)

    assert answer.table["subscription"].to_pylist() == [["text"], None, ["text"]]
    assert [reject.row for reject in answer.event_errors] == [1]
    with pytest.raises(tocsin.RecordError, match="event 1"):
        engine.match_batch([{}, event], strict=True)


def test_a_value_of_no_type_does_not_spoil_an_event(engine: Any) -> None:
    """An infinity is present and of no type, alone as in a batch, where it is reported."""
    event = {"n": float("inf"), "s": "a"}

    assert pairs(engine.match(event)) == [("text", -1.0)]
    answer = engine.match_batch([event])
    assert answer.table["subscription"].to_pylist() == ["text"]
    assert [(reject.row, reject.field) for reject in answer.event_errors] == [(0, "n")]


@pytest.mark.parametrize("ranking", [None, tocsin.Top(1), tocsin.Top(9)])
@pytest.mark.parametrize("lists", [False, True])
def test_a_batch_is_answered_like_tocsin_match(engine: Any, ranking: tocsin.Top | None, lists: bool) -> None:
    """The same table, errors and counts for objects, lines, tables and nothing."""
    events = [*EVENTS, "bad"]
    text = "".join(json.dumps(event) + "\n" for event in events).encode()
    for source in (events, text, pa.Table.from_pylist(list(EVENTS)), EVENTS[0], []):
        expected = tocsin.match(SUBSCRIPTIONS, source, ranking=ranking, lists=lists)

        answer = engine.match_batch(source, ranking=ranking, lists=lists)

        assert answer.table == expected.table
        assert (answer.errors, answer.complete) == (expected.errors, True)
        assert answer.stats.subscriptions == 3
        assert (answer.stats.events, answer.stats.matches) == (expected.stats.events, expected.stats.matches)


def test_a_schema_types_the_columns_of_a_csv(engine: Any, tmp_path: Path) -> None:
    """As `tocsin.match` takes it."""
    (tmp_path / "events.csv").write_text("n,s\n1,a\n9,b\n")

    answer = engine.match_batch(tmp_path / "events.csv", schema={"n": "string"})

    assert answer.table["subscription"].to_pylist() == ["text"]


@pytest.mark.parametrize("ranking", [3, "top", tocsin.Top])
def test_a_ranking_that_is_none_is_refused(engine: Any, ranking: Any) -> None:
    """The message says what may be given."""
    for ask in (lambda: engine.match({}, ranking=ranking), lambda: engine.match_batch([{}], ranking=ranking)):
        with pytest.raises(tocsin.InvalidInput, match=r"tocsin\.Top\(k\)"):
            ask()


def test_explain_is_told_as_by_tocsin_explain(engine: Any) -> None:
    """Of the expression as it is now, whatever form it came in."""
    engine.merge()
    engine.subscribe("low", {"op": "<", "args": [{"property": "n"}, 5]}, replace=True)

    for event in EVENTS:
        assert str(engine.explain("low", event)) == str(tocsin.explain("n < 5", event))
    assert engine.explain("none", {}).matched


@pytest.mark.parametrize("index", ["auto", "scan", "access", "opindex"])
@pytest.mark.parametrize("delta_limit", [1, 7, 8192])
def test_a_merge_makes_one_segment_and_changes_no_answer(index: str, delta_limit: int) -> None:
    """Before, between and after, alone and in batches; merging again does nothing."""
    engine = tocsin.Engine(index, delta_limit=delta_limit)
    for number in range(100):
        engine.subscribe(number, f"n > {number % 10}", score=number % 3)
    for number in range(0, 100, 4):
        engine.unsubscribe(number)
        engine.rescore(number + 1, 7)
    before = engine.match_batch([{"n": n} for n in range(11)], ranking=tocsin.Top(20)).table.to_pylist()

    for _ in range(2):
        engine.merge()

        assert engine.match_batch([{"n": n} for n in range(11)], ranking=tocsin.Top(20)).table.to_pylist() == before
        assert (engine.stats.subscriptions, engine.stats.delta, len(engine.stats.segments)) == (75, 0, 1)
    assert engine.stats.plan.index in ("scan", "access") if index == "auto" else engine.stats.plan.index == index
    assert engine.stats.plan.reason


def test_an_unknown_index_is_refused_with_a_hint() -> None:
    """At once, with the names that there are."""
    with pytest.raises(tocsin.UnknownIndex, match=r"'scann'; did you mean 'scan'.*auto"):
        tocsin.Engine("scann")


@pytest.mark.parametrize("limit", [-1, 1.5, "8", True])
def test_a_delta_limit_is_a_whole_number(limit: Any) -> None:
    """The message says what came."""
    with pytest.raises(tocsin.InvalidInput, match="delta_limit"):
        tocsin.Engine(delta_limit=limit)


def test_an_engine_is_closed_at_the_end_of_with() -> None:
    """`with` gives the engine itself; closing again is no error."""
    with tocsin.Engine(delta_limit=1) as engine:
        assert engine.subscribe_many(of(range(50))).accepted == 50
        assert len(engine.match({})) == 50

    engine.close()


def test_a_report_is_two_values_and_its_warnings() -> None:
    report = tocsin.Engine().subscribe_many([{"id": 1, "where": "a = 1", "colour": "red"}])
    accepted, errors = report
    assert (accepted, errors) == (1, []) == report
    assert [one.attribute for one in report.warnings] == ["colour"]
    again = pickle.loads(pickle.dumps(report))
    assert (again, again.warnings) == (report, report.warnings)
