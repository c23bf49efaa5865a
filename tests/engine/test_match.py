"""`tocsin.match` answers like the oracle: pairs, order, ranking, lists, and what it says about itself."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.naive import match as naive
from tests.naive.match import top as naive_top
from tests.sizes import sized
from tocsin.model.expression import Expression

trees = st.lists(own.expressions(max_depth=5), min_size=1, max_size=6)
events = st.lists(st.one_of(own.python_events(), own.python_events(), own.bad_events()), max_size=8)
string_ids = st.lists(st.sampled_from(["a", "b", "B", "é", "z", "｡", "😀", "", "a b", "10", "9"]), unique=True)
integer_ids = st.lists(st.sampled_from([0, -1, 5, 10, 9, 2**63 - 1, -(2**63)]), unique=True)
ids = st.one_of(string_ids, integer_ids)


def records(names: list[Any], expressions: list[Expression], scores: list[float] | None = None) -> list[dict[str, Any]]:
    """Subscriptions as a user writes them: half as text, half as JSON."""
    made: list[dict[str, Any]] = []
    for place, (name, tree) in enumerate(zip(names, expressions, strict=False)):
        made.append({"id": name, "where": tocsin.to_json(tree) if place % 2 else tocsin.to_text(tree)})
        if scores is not None:
            made[-1]["score"] = scores[place]
    return made


def tuples(answer: tocsin.Answer) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in answer.table.to_pylist()]


def plain(batch: list[Any]) -> list[Any]:
    """Without the events whose names are no strings, and with one that can be read."""
    return [*(event for event in batch if all(type(key) is str for key in event)), {}]


@given(names=ids, expressions=trees, batch=events)
def test_matches_are_the_oracles(names, expressions, batch):
    """Rows, ids and their order are the oracle's, whatever the values; strings sort by code point."""
    batch = plain(batch)

    answer = tocsin.match(records(names, expressions), batch)

    assert tuples(answer) == naive.match(list(zip(names, expressions, strict=False)), batch)
    assert answer.subscription_errors == []
    assert answer.complete


@given(
    names=ids,
    expressions=trees,
    batch=events,
    scores=st.lists(st.sampled_from([1.0, 2.0, -1.0, 0.0, -0.0]), min_size=11, max_size=11),
    k=st.integers(1, 4),
)
def test_the_best_k_are_the_oracles(names, expressions, batch, scores, k):
    """The k highest scores of each event, ties to the lower id."""
    batch = plain(batch)
    scored = list(zip(names, expressions, scores, strict=False))

    answer = tocsin.match(records(names, expressions, scores), batch, ranking=tocsin.Top(k))

    assert tuples(answer) == naive_top(scored, batch, k)


@settings(max_examples=sized(20, 60))
@given(names=ids, expressions=trees, batch=events)
def test_lists_say_the_same_as_rows(names, expressions, batch):
    """With lists there is one row an event: its matches, an empty list, or null where it was rejected."""
    batch = plain(batch)
    subscriptions = records(names, expressions)
    rejected = {error.row for error in tocsin.match([{"id": "x", "where": "z = 1"}], batch).errors if not error.field}

    flat = tocsin.match(subscriptions, batch, ranking=tocsin.Top(2))
    listed = tocsin.match(subscriptions, batch, ranking=tocsin.Top(2), lists=True)

    rows = listed.table.to_pylist()
    assert [row["event"] for row in rows] == list(range(len(batch)))
    assert all(row["subscription"] is None and row["score"] is None for row in rows if row["event"] in rejected)
    paired = [
        (row["event"], *pair)
        for row in rows
        for pair in zip(row["subscription"] or [], row["score"] or [], strict=True)
    ]
    assert paired == tuples(flat)


@settings(max_examples=sized(30, 100))
@given(tree=own.expressions(max_depth=5), event=own.python_events())
def test_explain_agrees_with_match(tree, event):
    """`explain` says that it matched exactly where `match` finds a match."""
    subscription = {"id": "x", "where": tocsin.to_text(tree)}

    explained = tocsin.explain(subscription, event)

    assert explained.matched == (len(tocsin.match([subscription], [event])) == 1)


@settings(max_examples=sized(20, 60))
@given(names=ids, expressions=trees, batch=events, data=st.data())
def test_no_answer_depends_on_the_order_of_subscriptions(names, expressions, batch, data):
    """Any order of the same subscriptions gives the same table."""
    batch = plain(batch)
    subscriptions = records(names, expressions)
    shuffled = data.draw(st.permutations(subscriptions))

    assert tocsin.match(shuffled, batch).table == tocsin.match(subscriptions, batch).table


def test_a_rejected_event_is_null_in_lists() -> None:
    """An event without a match has an empty list, a rejected one null; both are present."""
    batch = [{"n": 2}, {"a": {"b": 1}, "a.b": 1, "n": 1}, "no event", {"n": 1}]

    answer = tocsin.match([{"id": "x", "where": "n = 1", "score": 2}], batch, ranking=tocsin.Top(1), lists=True)

    assert answer.table.to_pylist() == [
        {"event": 0, "subscription": [], "score": []},
        {"event": 1, "subscription": None, "score": None},
        {"event": 2, "subscription": None, "score": None},
        {"event": 3, "subscription": ["x"], "score": [2.0]},
    ]


def test_integers_sort_by_value_and_strings_by_code_point() -> None:
    """9 comes before 10, "10" before "9"; U+FF61 comes before an emoji, which UTF-16 would turn round."""
    numbers = [10, 9, -1, 2**63 - 1, -(2**63)]
    texts = ["9", "10", "😀", "｡", "é", "Z", "a", ""]

    by_number = tocsin.match([{"id": n, "where": "TRUE"} for n in numbers], [{}])
    by_text = tocsin.match([{"id": t, "where": "TRUE"} for t in texts], [{}])

    assert by_number.table["subscription"].to_pylist() == sorted(numbers)
    assert by_number.table.schema.field("subscription").type == pa.int64()
    assert by_text.table["subscription"].to_pylist() == sorted(texts)
    assert by_text.table.schema.field("subscription").type == pa.dictionary(pa.int32(), pa.large_string())
    assert (
        by_text.to_pandas()["subscription"].tolist() == by_text.to_polars()["subscription"].to_list() == sorted(texts)
    )


def test_ties_at_the_last_place_go_to_the_lower_id() -> None:
    """Where more subscriptions share a score than there is room for, the lowest ids are in."""
    subscriptions = [{"id": n, "where": "n = 1", "score": 1.0 if n % 2 else 2.0} for n in range(20)]

    answer = tocsin.match(subscriptions, [{"n": 1}, {"n": 2}, {"n": 1}], ranking=tocsin.Top(12))

    best = [(n, 2.0) for n in range(0, 20, 2)] + [(1, 1.0), (3, 1.0)]
    assert tuples(answer) == [(row, *pair) for row in (0, 2) for pair in best]


def test_the_default_score_is_one() -> None:
    """A subscription without a score has 1.0, beside integers and null."""
    scores = [{}, {"score": None}, {"score": 1}, {"score": 0.5}]
    subscriptions = [{"id": n, "where": "TRUE", **score} for n, score in enumerate(scores)]

    assert tuples(tocsin.match(subscriptions, [{}], ranking=tocsin.Top(9))) == [
        (0, 0, 1.0),
        (0, 1, 1.0),
        (0, 2, 1.0),
        (0, 3, 0.5),
    ]


@pytest.mark.parametrize("k", [0, -1, 1.0, "1", True, None])
def test_k_is_a_whole_number_of_at_least_one(k: Any) -> None:
    """The message says what came and what is allowed."""
    with pytest.raises(tocsin.InvalidInput, match=r"k is .* at least 1"):
        tocsin.Top(k)


def test_an_unknown_index_is_refused_with_a_hint() -> None:
    """The message lists the indexes, and the nearest name."""
    with pytest.raises(tocsin.UnknownIndex, match=r"'scann'; did you mean 'scan'.*auto, access, scan"):
        tocsin.match([], [], index="scann")


def test_stats_add_up() -> None:
    """Counts of subscriptions, events and matches, rejected events included, and pairs examined without them."""
    subscriptions = [{"id": n, "where": "n = 1"} for n in range(7)] + [{"id": "bad", "where": "n"}]
    batch = [{"n": 1}, {"n": 2}, {"a": {"b": 1}, "a.b": 1}] * 100

    answer = tocsin.match(subscriptions, batch, index="scan", threads=1)

    stats = answer.stats
    assert (stats.subscriptions, stats.events, stats.matches) == (7, 300, 700)
    assert len(answer) == answer.table.num_rows == 700
    assert stats.candidates_examined == stats.verified == 7 * 200
    assert 0 < sum(stats.phases.values()) <= stats.seconds
    assert set(stats.phases) == {"compile", "read", "encode", "match"}
    assert [len(answer.subscription_errors), len(answer.event_errors)] == [1, 100]
    assert answer.errors == answer.subscription_errors + answer.event_errors
    assert "700 matches of 300 events and 7 subscriptions, 101 errors" in repr(answer)


def test_errors_come_in_the_order_of_rows() -> None:
    """Rejects of several kinds are sorted by row within the chunk, rows counted through chunks."""
    batch: list[Any] = [{"n": 1}] * 17_000
    for row in (5, 16_390):
        batch[row] = "none"
        batch[row + 1] = {"n": 2**60}
        batch[row + 2] = {"n": {"a": 1}, "n.a": 2}

    answer = tocsin.match([{"id": 1, "where": "n = 1"}], batch)

    assert [error.row for error in answer.errors] == [5, 6, 7, 16_390, 16_391, 16_392]
    assert len(answer) == 17_000 - 6


@pytest.mark.parametrize("ranking", [None, tocsin.Top(1)])
@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize("batch", [[], b"", pa.table({"n": pa.array([], pa.float64())})])
def test_no_events_give_an_empty_table_of_the_same_schema(batch: Any, lists: bool, ranking: Any) -> None:
    """Columns and types do not depend on whether anything matched."""
    subscriptions = [{"id": 1, "where": "n = 1"}]

    nothing = tocsin.match(subscriptions, batch, lists=lists, ranking=ranking)
    something = tocsin.match(subscriptions, [{"n": 1}], lists=lists, ranking=ranking)

    assert len(nothing) == 0
    assert nothing.table.schema == something.table.schema
    assert nothing.complete
