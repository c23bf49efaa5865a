"""What users want to get: a key of the event, the payload, the document, rows one by one, a table in a notebook."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
from tocsin.cli.main import main
from tocsin.model.subscription import Hit

ASKED = [
    {"id": "a", "where": "price > 5", "payload": {"to": "ann"}, "score": 2},
    {"id": "b", "where": "price > 7"},
]
EVENTS: list[dict[str, Any]] = [
    {"price": 6, "of": {"order": "x"}},
    {"price": 1, "of": {"order": "y"}},
    {"price": 8, "of": {"order": None}},
    {"price": 9},
]
LINES = "".join(json.dumps(event) + "\n" for event in EVENTS).encode()
KEYS = [(0, "x", "a"), (2, None, "a"), (2, None, "b"), (3, None, "a"), (3, None, "b")]


def rows(answer: tocsin.Answer) -> list[tuple[Any, ...]]:
    return [(row["event"], row["event_key"], row["subscription"]) for row in answer]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_key_of_the_event_stands_beside_its_row(threads: int, tmp_path: Path) -> None:
    """From dicts, JSON lines, tables and Parquet, of which else only what is asked for is read."""
    table = pa.table({"price": [6, 1, 8, 9], "of": pa.array([{"order": "x"}, {"order": "y"}, {"order": None}, None])})
    pq.write_table(table, tmp_path / "e.parquet")
    for source in (EVENTS, LINES, table, tmp_path / "e.parquet"):
        assert rows(tocsin.match(ASKED, source, event_key="of.order", threads=threads)) == KEYS
    engine = tocsin.Engine()
    engine.subscribe_many(ASKED)
    assert rows(engine.match_batch(EVENTS, event_key="of.order")) == KEYS
    ranked = tocsin.match(ASKED, EVENTS, event_key="price", ranking=tocsin.Top(1))
    assert ranked.table.to_pylist()[0] == {"event": 0, "event_key": 6, "subscription": "a", "score": 2.0}
    lists = tocsin.match(ASKED, EVENTS, event_key="price", lists=True)
    assert lists.table["event_key"].to_pylist() == [6, 1, 8, 9]


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([1, 2.5, None], [1.0, 2.5, None]),
        ([1, "x", None], ["1", "x", None]),
        ([True, False, True], [True, False, True]),
        ([True, 1, "x"], ["true", "1", "x"]),
        ([{"a": 1}, [1], "x"], ['{"a": 1}', "[1]", "x"]),
        ([2**70, 1, 2], [str(2**70), "1", "2"]),
        ([None, None, None], [None, None, None]),
    ],
)
def test_keys_have_one_type(values: list[Any], keys: list[Any]) -> None:
    """Their own where they share one; of several they are texts. In one chunk, and over several."""
    for repeated in (1, 9000):
        events = [{"price": 6, "k": value} for value in values for _ in range(repeated)]
        answer = tocsin.match(ASKED[:1], events, event_key="k", threads=2)
        assert answer.table["event_key"].to_pylist() == [key for key in keys for _ in range(repeated)]


def test_no_match_and_no_event_have_the_column(tmp_path: Path) -> None:
    for events in ([{"price": 1}], []):
        names = tocsin.match(ASKED, events, event_key="k").table.column_names
        assert names == ["event", "event_key", "subscription"]
    with pytest.raises(tocsin.InvalidInput, match="event_key is 5; it names an attribute"):
        tocsin.match(ASKED, EVENTS, event_key=5)  # type: ignore[arg-type]


def test_payloads_come_with_matches() -> None:
    """As JSON in a table, as objects with a single event's; from the delta and from segments."""
    expected = [(0, '{"to": "ann"}'), (2, '{"to": "ann"}'), (2, None), (3, '{"to": "ann"}'), (3, None)]
    engine = tocsin.Engine()
    for one in ASKED:
        engine.subscribe(one["id"], one["where"], payload=one.get("payload"))

    def told(answer: tocsin.Answer) -> list[tuple[int, Any]]:
        texts = [(row["event"], row["payload"]) for row in answer]
        return [(event, text and json.dumps(json.loads(text))) for event, text in texts]

    for _ in range(2):
        assert told(engine.match_batch(EVENTS, payload=True)) == expected
        hits = engine.match(EVENTS[2], payload=True)
        assert [(hit.subscription, hit.payload) for hit in hits] == [("a", {"to": "ann"}), ("b", None)]
        assert hits[0].payload == {"to": "ann"}
        engine.merge()
    assert told(tocsin.match(ASKED, EVENTS, payload=True)) == expected
    lists = tocsin.match(ASKED, EVENTS, payload=True, lists=True).table["payload"].to_pylist()
    assert [[text is None for text in own] for own in lists] == [[False], [], [False, True], [False, True]]


def test_a_hit_is_a_match() -> None:
    """It equals one, and travels with its payload."""
    hit = Hit("a", 2.0, {"payload": {"to": "ann"}})

    assert hit == tocsin.Match("a", 2.0) == ("a", 2.0)
    assert pickle.loads(pickle.dumps(hit)).payload == {"to": "ann"}
    assert repr(hit) == "Match(subscription='a', score=2.0, payload={'to': 'ann'})"


def test_documents_are_read_again(tmp_path: Path) -> None:
    """Those that matched, each with its matches."""
    (tmp_path / "e.jsonl").write_bytes(b"{bad\n" + LINES)
    pq.write_table(pa.table({"price": [6, 1, 8, 9]}), tmp_path / "e.parquet")
    for source, shift in ((EVENTS, 0), (tmp_path / "e.jsonl", 1), (tmp_path / "e.parquet", 0)):
        answer = tocsin.match(ASKED, source)
        told = [(one["price"], [row["subscription"] for row in matches]) for one, matches in answer.documents(source)]
        assert told == [(6, ["a"]), (8, ["a", "b"]), (9, ["a", "b"])]
        assert next(iter(answer))["event"] == shift
    with pytest.raises(tocsin.InvalidInput, match="leave lists=True out"):
        next(tocsin.match(ASKED, EVENTS, lists=True).documents(EVENTS))


def test_errors_of_events_have_their_keys(tmp_path: Path) -> None:
    """As ids, from every form, where the key could be read: also of events that were not served."""
    (tmp_path / "e.jsonl").write_text(
        '{"k": "x", "price": 1e999}\n{"k": 7, "price": 6}\n{"k": 7, "price"\n{"k": "z", "n": {"k": 1}, "n.k": 2}\n'
    )
    (tmp_path / "e.csv").write_text("k,price\n17,6\n18,six\n19\n20,6\n")
    asked = [*ASKED, {"id": "c", "where": "n.k = 1"}]
    objects = [{"k": 2.5, "price": 1 << 60}, {"price": 1 << 60}, "none", {"k": True, "price": 1 << 60}]
    table = pa.table({"k": ["a", "b"], "price": [6.0, float("inf")]})

    def told(events: Any, **options: Any) -> list[tuple[int, object, str]]:
        answer = tocsin.match(asked, events, event_key="k", **options)
        return [(one.row, one.id, one.field) for one in answer.event_errors]

    assert told(tmp_path / "e.jsonl", threads=2) == [(0, "x", "price"), (2, None, ""), (3, "z", "n.k")]
    assert told(tmp_path / "e.csv", schema={"price": "number"}) == [(1, "18", "price"), (2, None, "")]
    assert told(objects) == [(0, "2.5", "price"), (1, None, "price"), (2, None, ""), (3, "true", "price")]
    assert told(table) == [(1, "b", "price")]
    assert [one.id for one in tocsin.match(asked, objects).event_errors] == [None] * 4


def test_notebooks_show_tables_and_colours() -> None:
    """Text from records is escaped."""
    answer = tocsin.match([{"id": "<b>", "where": "price > 5"}], [{"price": 6}] * 30)

    html = answer._repr_html_()

    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert html.count("<tr>") == 21
    assert "and 10 more rows" in html
    shown = tocsin.explain("price > 5 AND s = '<i>'", {"price": 6})._repr_html_()
    assert '<span style="color:#1a7f37">' in shown
    assert "&lt;i&gt;" in shown


def test_commands_write_keys_and_payloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_text("".join(json.dumps(one) + "\n" for one in ASKED))
    Path("e.jsonl").write_bytes(LINES)

    assert main(["match", "s.jsonl", "e.jsonl", "--event-key", "price", "--payload", "--out", "out.jsonl"]) == 0

    written = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert written[0] == {"event": 0, "event_key": "6", "subscription": "a", "payload": '{"to": "ann"}'}
    assert len(written) == 5
