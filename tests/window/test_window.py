"""What a window takes, what it refuses, and what it says of itself."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tocsin import InvalidInput, RecordError, Window

BOUNDS = (0, 0, 4, 3)
PLACE = (1, 1)
_FAR = 10**400
_MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "words": st.sampled_from([["a"], ["b", "a"], [], ["a", 1], "a", 5]),
        "text": st.sampled_from(["a b", 5]),
        "location": st.sampled_from([[1, 1], [3, 3], [9, 9], [_FAR, 1], "here"]),
        "time": st.sampled_from([1, 2, 30, _FAR, "soon", None]),
        "key": st.sampled_from(["k", "l", 5, None, _FAR, 1.5]),
    },
)


def window(**others: Any) -> Window:
    return Window(**{"size": 10, "bounds": BOUNDS, **others})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"size": None}, "a window needs size, a number of messages, or time"),
        ({"size": 0}, "size is 0; it must be a number of messages"),
        ({"time": -1}, "time is -1; it must be a number of seconds above 0"),
        ({"bounds": (0, 0, 1)}, "bounds are .*; give four numbers"),
        ({"bounds": (1, 0, 0, 1)}, "xmin and ymin are at most xmax and ymax"),
        ({"weights": {"a": 0}}, "the weight of 'a' is 0; words weigh numbers from"),
        ({"index": "block"}, "no index is named 'block'; did you mean 'blocks'?"),
        ({"index": "blocks(lat=1)"}, "'lat=1' is not an option of blocks; its options .* are late=2048, first=1024"),
        ({"index": "access"}, "no index is named 'access'. There are: blocks, "),
    ],
)
def test_a_window_that_cannot_be(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        window(**given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"words": []}, "words: there is none; a subscription needs at least one word"),
        ({"words": None}, "words: they are missing; give a list of strings, or a text"),
        ({"words": "abc"}, "words: they are 'abc'; give a list of strings"),
        ({"words": ["a", 1]}, "words: 1 is not a word"),
        ({"words": ["\ud800"]}, "words: .* is not valid Unicode"),
        ({"text": "a"}, "words: give words or a text, not both"),
        ({"location": (5, 1)}, r"location: \(5, 1\) is outside the bounds"),
        ({"location": (float("nan"), 1)}, "location: .* is outside the bounds"),
        ({"location": [1]}, "location: it is .*; give two numbers"),
        ({"k": 0}, "k: it is 0; it must be an integer from 1"),
        ({"alpha": 1}, "alpha: it is 1; it must be a number from 0 to less than 1"),
        ({"id": None}, "id: the subscription has no id"),
        ({"id": 1.5}, "id: an id is a string or an integer"),
    ],
)
def test_a_subscription_that_cannot_be(given: dict[str, Any], told: str) -> None:
    """One by one it raises; among others it is reported, and the rest is taken."""
    record = {"id": "s", "words": ["a"], "location": PLACE, **given}
    one = window()
    with pytest.raises(RecordError, match=told):
        one.subscribe(record.pop("id"), **record)

    record = {"id": "s", "words": ["a"], "location": PLACE, **given}
    report = one.subscribe_many([record, {"id": "t", "words": ["a"], "location": [1, 1]}])
    assert (report.accepted, len(report.errors), report.errors[0].row) == (1, 1, 0)
    assert list(one) == ["t"]


def test_ids_are_of_one_type_and_taken_once() -> None:
    one = window()
    one.subscribe("s", words=["a"], location=PLACE)
    with pytest.raises(tocsin.DuplicateSubscription, match="give replace=True"):
        one.subscribe("s", words=["a"], location=PLACE)
    with pytest.raises(RecordError, match="1 is of another type than the ids before, which are strings"):
        one.subscribe(1, words=["a"], location=PLACE)
    report = one.subscribe_many([{"id": i, "words": ["a"], "location": PLACE} for i in ("t", "t", 3)])

    assert [reject.row for reject in report.errors] == [1, 2]
    assert "s" in one and 1 not in one and len(one) == 2
    with pytest.raises(tocsin.UnknownSubscription, match="there is no subscription 'x'"):
        one.unsubscribe("x")
    with pytest.raises(RecordError, match="row 0"):
        one.subscribe_many([{"id": "s"}], strict=True)
    with pytest.raises(InvalidInput, match="a subscription has no column 'word'"):
        one.subscribe_many(pa.table({"id": ["u"], "word": ["a"]}))


def test_who_is_to_be_replaced_stays_where_a_strict_batch_is_refused() -> None:
    one = window()
    one.subscribe("s", words=["a"], location=PLACE)
    one.push(words=["a"], location=PLACE)
    coming = [{"id": "s", "words": ["b"], "location": PLACE}, {"id": "t"}]
    with pytest.raises(RecordError, match="row 1: it is missing"):
        one.subscribe_many(coming, replace=True, strict=True)

    assert len(one.results("s")) == 1
    assert one.subscribe_many(coming, replace=True).accepted == 1
    assert one.results("s") == []


def test_a_bad_message_changes_nothing_and_is_reported() -> None:
    """In a batch by its row; it takes no number."""
    one = window()
    one.subscribe("s", words=["a"], location=PLACE, k=5)
    with pytest.raises(RecordError, match="location: it is missing"):
        one.push(words=["a"], location=None)

    good = {"words": ["a", "b"], "location": [1, 1]}
    answer = one.push_batch([good, {"words": ["a"]}, {"location": [1, 1]}, {**good, "location": [9, 9]}, good])

    assert [(reject.row, reject.field) for reject in answer.errors] == [(1, "location"), (2, "words"), (3, "location")]
    assert [(row["event"], row["message"]) for row in answer] == [(0, 0), (4, 1)]
    assert answer.stats.messages == 2
    with pytest.raises(RecordError, match="row 0"):
        one.push_batch([{}], strict=True)


@pytest.mark.parametrize("form", ["dicts", "lines", "arrow", "polars", "parquet", "text", "dictionary"])
def test_messages_come_in_any_form(form: str, tmp_path: Path) -> None:
    """With the same answer."""
    records = [
        {"words": ["a", "b", "a"], "location": [1.0, 1.0], "key": "x"},
        {"words": ["c"], "location": [0.0, 0.0], "key": "y"},
    ]
    table = pa.Table.from_pylist(records)
    source: Any = records
    if form == "lines":
        source = b"".join(json.dumps(one).encode() + b"\n" for one in records)
    elif form == "polars":
        source = pytest.importorskip("polars").from_arrow(table)
    elif form == "parquet":
        pa.parquet.write_table(table, tmp_path / "m.parquet")
        source = tmp_path / "m.parquet"
    elif form == "text":
        source = table.drop_columns("words").append_column("text", pa.array(["A b, a!", "C"]))
    elif form == "dictionary":
        encoded = pa.ListArray.from_arrays(pa.array([0, 3, 4]), pa.array(["a", "b", "a", "c"]).dictionary_encode())
        source = table.set_column(0, "words", encoded)
    elif form == "arrow":
        source = table
    one = window()
    one.subscribe(7, words=["b"], location=PLACE, k=1, alpha=0.5)

    answer = one.push_batch(source)

    assert [tuple(row.values())[:4] for row in answer] == [(0, 7, "x", "enter")]
    assert pa.table(answer).schema.names == ["event", "subscription", "message", "kind", "score"]
    assert answer.to_pandas()["subscription"].tolist() == [7]
    assert one.results(7) == [("x", 0.5 + 0.5 / np.sqrt(2))]


def test_words_are_made_of_texts_as_the_window_says() -> None:
    one = window(text="keep_accents")
    one.subscribe("s", text="Café", location=PLACE)

    assert one.push(text="cafe", location=PLACE) == []
    assert [change.message for change in one.push(text="CAFÉ!", location=PLACE)] == [1]


def test_times_are_seconds_or_instants() -> None:
    """A window of time needs them in order; time may pass without a message."""
    one = window(size=None, time=timedelta(minutes=1))
    one.subscribe("s", words=["a"], location=PLACE)
    one.push(words=["a"], location=PLACE, time=datetime(2024, 6, 1, tzinfo=UTC))
    one.push(words=["a"], location=PLACE, time="2024-06-01T00:00:30Z")
    with pytest.raises(RecordError, match=r"time: .* is before"):
        one.push(words=["a"], location=PLACE, time=0)
    with pytest.raises(RecordError, match="time: it is None; give a number of seconds"):
        one.push(words=["a"], location=PLACE)

    assert [change.message for change in one.advance("2024-06-01T00:01:00Z")] == [0]
    assert [message for message, _ in one.results("s")] == [1]
    with pytest.raises(InvalidInput, match="the latest so far"):
        one.advance(0)
    with pytest.raises(InvalidInput, match="only a window with time= can be advanced"):
        window().advance(0)


def test_all_messages_have_a_key_or_none_has() -> None:
    one = window()
    one.push(words=["a"], location=PLACE, key=5)
    with pytest.raises(RecordError, match="key: it is None, but the messages before have integers for keys"):
        one.push(words=["a"], location=PLACE)
    with pytest.raises(RecordError, match="key: it is 'x'"):
        one.push(words=["a"], location=PLACE, key="x")
    one.subscribe("s", words=["a"], location=PLACE, k=1)

    assert one.results("s") == [(5, 1.0)]


def test_why_a_message_is_or_is_not_among_the_best() -> None:
    one = window(size=4)
    one.subscribe("s", words=["a", "b"], location=(0, 0), k=1, alpha=0.5)
    one.push(words=["a"], location=(4, 3))
    one.push(words=["a", "b"], location=(0, 0))
    one.push(words=["c"], location=(0, 0))

    best, worse, other = (one.explain("s", message) for message in (1, 0, 2))

    assert (best.rank, best.common, worse.rank, other.score) == (1, ("a", "b"), None, None)
    assert "is among the best of 's': it is number 1 of 1" in str(best)
    assert f"it has {worse.score:.6g}, but the last of the best 1 has 1" in str(worse)
    assert "no word in common; the subscription asks for a, b" in str(other)
    with pytest.raises(InvalidInput, match="message 3 is not in the window"):
        one.explain("s", 3)


def test_an_explanation_has_the_score_that_a_window_has(tmp_path: Path) -> None:
    """To the last bit, of every message of the window, before and after it was saved."""
    rng = np.random.default_rng(1)
    weights = {word: float(weight) for word, weight in zip("abcdef", rng.random(6) + 0.1, strict=True)}
    one = window(size=50, weights=weights)
    for n in range(20):
        own = list(rng.choice(list("abcdef"), rng.integers(1, 5), replace=False))
        one.subscribe(n, words=own, location=rng.random(2).tolist(), k=50, alpha=float(rng.random()))
    for _ in range(70):
        one.push(words=list(rng.choice(list("abcdefgh"), 3)), location=rng.random(2).tolist())
    one.save(tmp_path / "w")
    again = Window.load(tmp_path / "w")

    for name in one:
        results = one.results(name)
        assert results == again.results(name)
        assert results == [(message, one.explain(name, message).score) for message, _ in results]
    assert one.results_table() == again.results_table()
    assert one.push(words=["a"], location=PLACE) == again.push(words=["a"], location=PLACE)


def test_a_folder_that_is_damaged(tmp_path: Path) -> None:
    """Is refused; saving again replaces what was there."""
    one = window()
    one.subscribe("s", words=["a"], location=PLACE)
    one.save(tmp_path)
    one.unsubscribe("s")
    one.save(tmp_path)
    assert len(Window.load(tmp_path)) == 0
    assert len(list(tmp_path.iterdir())) == 3

    next(tmp_path.glob("messages-*")).write_bytes(b"ARROW1")
    with pytest.raises(tocsin.SegmentError, match=r"is damaged: .*\. Save the window again"):
        Window.load(tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(tocsin.SegmentError, match="is not a tocsin window"):
        Window.load(tmp_path)


def test_a_long_run_stays_as_small_as_it_was() -> None:
    """With new words, keys and subscriptions all the time."""
    one = window(size=20, index="blocks(late=5, first=10)")
    sizes = []
    for n in range(12_000):
        one.push(words=[f"w{n}", f"w{n // 7}", "a"], location=PLACE, key=f"k{n}")
        if n % 4 == 0:
            one.subscribe(f"s{n}", words=["a", *(f"w{n // 7 + i}" for i in range(8))], location=PLACE, k=2)
            if n >= 40:
                one.unsubscribe(f"s{n - 40}")
        if n in (6_000, 11_999):
            sizes.append(sum(one.sizes().values()))

    assert len(one) == 10
    assert sizes[1] <= 1.5 * sizes[0]
    assert len(one._vocabulary) < 30_000


@given(st.lists(_MESSAGES, max_size=8), st.booleans())
def test_messages_pushed_one_by_one_change_what_a_batch_changes(messages: list, has_time: bool) -> None:
    alone, together = (window(time=10 if has_time else None, size=3) for _ in range(2))
    for one in (alone, together):
        one.subscribe_many([{"id": word, "words": [word], "location": PLACE, "k": 2} for word in ("a", "b")])
    told, refused = [], []
    for row, message in enumerate(messages):
        try:
            told += [(row, *change) for change in alone.push(**{"location": None, **message})]
        except RecordError as error:
            refused.append((row, error.field))
    answer = together.push_batch(messages)
    columns = ("event", "subscription", "message", "kind", "score")
    assert told == [tuple(change[name] for name in columns) for change in answer.table.to_pylist()]
    assert refused == [(reject.row, reject.field) for reject in answer.errors]


def test_a_refused_message_decides_neither_the_time_nor_the_kind_of_keys() -> None:
    own = window(time=10)
    answer = own.push_batch(
        [
            {"words": ["a"], "location": PLACE, "time": 1, "key": "k"},
            {"words": ["a"], "location": PLACE, "time": 9, "key": 5},
            {"words": ["a"], "location": PLACE, "time": 2, "key": "l"},
        ]
    )
    assert [(error.row, error.field) for error in answer.errors] == [(1, "key")]
    with pytest.raises(RecordError, match="words: they are 5"):
        own.push(words=5, location=PLACE, time=3, key="m")


@pytest.mark.parametrize("index", ["blocks", "k_max(times=1)", "k_skyband(modelled=0)"])
def test_a_buffer_takes_no_more_room_than_the_window_has_messages(index: str) -> None:
    """However large k is; and then nothing is searched for again, because every message is kept."""
    window = tocsin.Window(size=100, bounds=(0, 0, 10, 10), index=index)
    window.subscribe("small", words=["a"], location=(1, 1), k=100)
    small = window.sizes()["buffers"]
    window.subscribe("large", words=["a"], location=(1, 1), k=1_000_000)

    assert window.sizes()["buffers"] <= 3 * small
    for _ in range(250):
        window.push(words=["a"], location=(2, 2))
    assert window.results("large") == window.results("small")
    assert [message for message, _ in window.results("large")] == list(range(249, 149, -1))
    window.unsubscribe("small")
    before = window.stats.reevaluations
    for _ in range(50):
        window.push(words=["a"], location=(2, 2))
    assert window.stats.reevaluations == before


def test_the_memory_that_subscriptions_would_take_is_what_they_take() -> None:
    for options in ({}, {"threads": 2}, {"index": "blocks(policy=skyband)"}):
        one = window(size=100_000, **options)
        before, ks = sum(one.sizes().values()), {f"u{number}": 5_000 for number in range(40)}
        told = one.bytes_for(ks)
        one.subscribe_many([{"id": id, "words": ["a"], "location": [1, 1], "k": k} for id, k in ks.items()])

        assert 0.5 * told < sum(one.sizes().values()) - before < 2 * told
        assert one.bytes_for(ks) == one.bytes_for({"u1": 1}) == 0 < one.bytes_for({"u1": 5_001})
        one.unsubscribe("u1")
        assert one.bytes_for({"new": 5_000, "newer": 5_000}) < 1.5 * told / 40
