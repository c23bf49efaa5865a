"""A string that is compared with an instant is read as one; in every form, by every index, and nobody else notices."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tocsin
from tocsin.model.instants import read_instant, read_instants
from tocsin.model.readings import as_instant

ASKED = [
    {"id": "after", "where": "ts >= TIMESTAMP('2024-05-31T00:00:00Z')"},
    {"id": "in", "where": "ts IN (DATE('2024-06-01'), 'June')"},
    {"id": "like", "where": "ts LIKE '2024-06%'"},
    {"id": "not before", "where": "NOT (ts < DATE('2024-06-02'))"},
    {"id": "other", "where": "ts <> DATE('2024-06-01')"},
    {"id": "text", "where": "ts = '2024-06-01T00:00:00Z'"},
    {"id": "within", "where": "ts BETWEEN DATE('2024-06-01') AND DATE('2024-06-03') AND ts IS NOT NULL"},
]
EXPECTED: list[tuple[Any, list[str]]] = [
    ("2024-06-01T00:00:00Z", ["after", "in", "like", "text", "within"]),
    ("2024-06-01", ["after", "in", "like", "within"]),
    ("2024-06-02T02:00:00+02:00", ["after", "like", "not before", "other", "within"]),
    ("June", ["in"]),
    ("2024-06-31", ["like"]),
    (" 2024-06-01", []),
    (5, []),
    (["2024-06-01"], []),
]
EVENTS = [{"ts": value, "id": row} for row, (value, _) in enumerate(EXPECTED)]
MATCHES = [(row, name) for row, (_, names) in enumerate(EXPECTED) for name in names]


def pairs(answer: tocsin.Answer) -> list[tuple[int, str]]:
    return [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]


def lines(events: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(event) + "\n" for event in events).encode()


@pytest.mark.parametrize("index", ["auto", "scan", "access"])
def test_a_string_is_an_instant_to_who_compares_it_with_one(index: str) -> None:
    """And a string to all others: no subscription changes what another one means."""
    assert pairs(tocsin.match(ASKED, EVENTS, index=index)) == MATCHES
    assert pairs(tocsin.match(ASKED, lines(EVENTS), index=index)) == MATCHES
    for one in ASKED:
        assert pairs(tocsin.match([one], EVENTS, index=index)) == [pair for pair in MATCHES if pair[1] == one["id"]]


@pytest.mark.parametrize("index", ["opindex", "k_index", "be_tree"])
def test_the_papers_indexes_read_instants(index: str) -> None:
    asked = [one for one in ASKED if one["id"] in ("in", "text")]

    answer = pairs(tocsin.match(asked, EVENTS, index=index))

    assert answer == [pair for pair in MATCHES if pair[1] in ("in", "text")]


def test_tables_and_csv_read_instants(tmp_path: Any) -> None:
    """A column of texts, and one whose texts are timestamps already."""
    texts = [value if isinstance(value, str) else None for value, _ in EXPECTED]
    expected = [pair for pair in MATCHES if texts[pair[0]] is not None]
    assert pairs(tocsin.match(ASKED, pa.table({"ts": texts}))) == expected
    (tmp_path / "e.csv").write_text("ts,n\n" + "".join(f'"{text or "x"}",1\n' for text in texts))
    assert pairs(tocsin.match(ASKED, tmp_path / "e.csv")) == expected
    moments = pa.array(["2024-06-01T00:00:00Z"]).cast(pa.timestamp("us", "UTC"))
    assert pairs(tocsin.match(ASKED, pa.table({"ts": moments}))) == [(0, "after"), (0, "in"), (0, "within")]


def test_an_engine_reads_instants_before_and_after_merging(tmp_path: Any) -> None:
    """New subscriptions, segments, what was saved; and explain says so."""
    engine = tocsin.Engine(delta_limit=3)
    for one in ASKED:
        engine.subscribe(one["id"], one["where"])
        engine.match(EVENTS[0])

    def answers() -> list[tuple[int, str]]:
        return [(row, match.subscription) for row, event in enumerate(EVENTS) for match in engine.match(event)]

    assert answers() == MATCHES
    assert engine.explain("after", EVENTS[1]).matched
    assert not engine.explain("after", EVENTS[3]).matched
    engine.merge()
    assert answers() == MATCHES
    assert "looked for under ts >= DATE('2024-05-31')" in (engine.explain("after", EVENTS[1]).index or "")
    engine.save(tmp_path)
    assert pairs(tocsin.match(tmp_path, EVENTS)) == MATCHES


def test_relaxed_rankings_take_an_attribute_for_one_dimension() -> None:
    """Whatever its conjuncts compare it with; its weight is the attribute's, and `drop` drops it."""
    asked = [
        {"id": "a", "where": "ts > DATE('2024-01-01') AND ts LIKE '2024%' AND n = 1", "weights": {"ts": 5, "n": 2}},
        {"id": "b", "where": "ts > DATE('2024-01-01') AND n = 1", "weights": {"ts": 3}},
    ]
    events = [{"ts": "2024-06-01", "n": 1}, {"ts": "2023-06-01", "n": 1}]

    def scores(**options: Any) -> list[tuple[int, str, float]]:
        table = tocsin.match(asked, events, ranking=tocsin.Relaxed(2, **options)).table
        return [tuple(row.values()) for row in table.select(["event", "subscription", "score"]).to_pylist()]

    assert scores() == [(0, "a", 7.0), (0, "b", 4.0), (1, "a", 2.0), (1, "b", 1.0)]
    assert scores(drop=["ts"]) == [(0, "a", 2.0), (0, "b", 1.0), (1, "a", 2.0), (1, "b", 1.0)]


def test_no_event_gives_a_reading_by_its_name() -> None:
    """The name under which a reading is compiled is nobody's attribute."""
    event = {as_instant("ts"): "2024-06-01", "ts": "no"}

    assert pairs(tocsin.match(ASKED[:1], [event])) == []
    assert pairs(tocsin.match(ASKED[:1], lines([event]))) == []


def test_a_schema_has_the_last_word() -> None:
    """What it makes an instant is one, though no reading is; what it refuses is none."""
    asked = ASKED[:1]
    for source in ([{"ts": " 2024-06-01 "}], lines([{"ts": " 2024-06-01 "}])):
        assert pairs(tocsin.match(asked, source)) == []
        assert pairs(tocsin.match(asked, source, schema={"ts": "instant"})) == [(0, "after")]
    assert pairs(tocsin.match(asked, [{"ts": "2024-06-01"}], schema={"ts": "string"})) == [(0, "after")]
    assert pairs(tocsin.match(asked, [{"ts": "2024-06-01"}, {}], schema={"ts": "number"})) == []


digits = st.text("0123456789-:TtZz .+", max_size=30)
moments = st.datetimes().map(lambda moment: moment.isoformat())
zones = st.sampled_from(["", "Z", "z", "+00:00", "-23:59", "+24:00", "+5", "+05:3", "Zulu", "+0200", "-02", "+2460"])


@example(["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "0000-01-01", "2024-02-30", "2024-06-01T24:00"])
@example(["2024-06-01T00:00:60Z", "2024-06-01\n", "2024-06-01T00:00:00.1234567Z", "\u0662024-06-01"])
@given(st.lists(st.one_of(st.builds(str.__add__, moments, zones), digits, st.text(max_size=5))))
def test_many_are_read_like_one(texts: list[str]) -> None:
    """At once, in Arrow, or one by one, in Python."""
    singly = [read_instant(text) for text in texts]

    assert read_instants(pa.array(texts, pa.string())).to_pylist() == [
        None if one is None else one.microseconds for one in singly
    ]


@pytest.mark.parametrize("text", ["2024-06-01T00:00:00.123456789Z", "2024-06-01T02:00:00.1234567+02:00"])
def test_digits_beyond_microseconds_are_left_out(text: str) -> None:
    """Nanoseconds, as others write them: of events as of constants."""
    asked = [
        {"id": "same", "where": f"ts = TIMESTAMP('{text}')"},
        {"id": "cut", "where": "ts = TIMESTAMP('2024-06-01T00:00:00.123456Z')"},
        {"id": "later", "where": "ts > TIMESTAMP('2024-06-01t00:00:00.123456z')"},
        {"id": "after", "where": "ts > DATE('2024-05-31')"},
    ]
    for source in ([{"ts": text}, {"ts": "2024-06-01"}], lines([{"ts": text}, {"ts": "2024-06-01"}])):
        assert pairs(tocsin.match(asked, source)) == [(0, "after"), (0, "cut"), (0, "same"), (1, "after")]


FORMS = {
    "2024-01-01T10:00:00Z": "2024-01-01T10:00:00Z",
    "2024-01-01t10:00:00z": "2024-01-01T10:00:00Z",
    "2024-01-01 10:00": "2024-01-01T10:00:00Z",
    "2024-01-01 12:00:00.5+0200": "2024-01-01T10:00:00.5Z",
    "2024-01-01T08:00:00-02": "2024-01-01T10:00:00Z",
    "2024-01-01T10:00:00.1234567Z": "2024-01-01T10:00:00.123456Z",
    "2024-01-01T10:00:00.123456789+00:00": "2024-01-01T10:00:00.123456Z",
    "2024-01-01": "2024-01-01T00:00:00Z",
}


@pytest.mark.parametrize("text", FORMS)
def test_an_instant_is_the_same_in_every_form(text: str, tmp_path: Any) -> None:
    """A text is one instant in dicts, JSON, tables and CSV, with a schema and without, and as a constant."""
    asked = [
        {"id": "same", "where": f"ts = TIMESTAMP('{FORMS[text]}')"},
        {"id": "constant", "where": f"ts = {'DATE' if len(text) == 10 else 'TIMESTAMP'}('{text}')"},
    ]
    (tmp_path / "e.csv").write_text(f"ts\n{text}\n")
    for source in ([{"ts": text}], lines([{"ts": text}]), pa.table({"ts": [text]}), tmp_path / "e.csv"):
        for schema in (None, {"ts": "instant"}, {"ts": "instant(s)"}):
            answer = tocsin.match(asked, source, schema=schema)
            assert pairs(answer) == [(0, "constant"), (0, "same")]
            assert answer.errors == []


@pytest.mark.parametrize(("unit", "number"), [("s", 1714564800), ("ms", 1714564800000), ("us", 1714564800000000)])
def test_epoch_numbers_are_instants_where_a_schema_says_so(unit: str, number: int, tmp_path: Any) -> None:
    """Numbers, and texts of numbers, in every form; what is beyond all dates is reported."""
    asked = [{"id": "same", "where": "ts = TIMESTAMP('2024-05-01T12:00:00Z')"}]
    (tmp_path / "e.csv").write_text(f"ts\n{number}\n")
    sources = ([{"ts": number}], [{"ts": str(number)}], lines([{"ts": number}]), pa.table({"ts": [number]}))
    for source in (*sources, tmp_path / "e.csv"):
        assert pairs(tocsin.match(asked, source, schema={"ts": f"instant({unit})"})) == [(0, "same")]
    refused = tocsin.match(asked, [{"ts": 1e300}, {"ts": True}], schema={"ts": f"instant({unit})"})
    assert pairs(refused) == [] and [error.row for error in refused.errors] == [0, 1]


def test_names_that_are_asked_for_later_have_no_reading() -> None:
    """The readings of a batch are remembered by its names, of which there may be more for the next one."""
    engine = tocsin.Engine()
    engine.subscribe("since", "ts - was >= 20")
    events = [{"ts": 50, "was": row % 60, "size": row} for row in range(300)]
    expected = [(row, "since") for row in range(300) if 50 - row % 60 >= 20]
    assert pairs(engine.match_batch(events)) == expected
    engine.subscribe("size", "size > 290")
    assert pairs(engine.match_batch(events)) == sorted([*expected, *((row, "size") for row in range(291, 300))])
    texts = [{**event, "ts": "2024-06-01T00:01:00Z", "was": "2024-06-01"} for event in events]
    assert [one for one in pairs(engine.match_batch(texts)) if one[1] == "since"] == [(n, "since") for n in range(300)]
