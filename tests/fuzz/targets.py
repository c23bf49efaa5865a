"""What is fuzzed? Each target does something with an input, and has some to begin with. `TocsinError` is an answer."""

from __future__ import annotations

import io
import json
import random
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tocsin
from tests.columns.events.test_json_lines import agrees
from tests.fuzz.mutating import mutated
from tests.fuzz.rules import mutated_rule, rule_seeds, try_rule
from tests.naive.flatten import flatten
from tests.naive.truth import truth
from tests.segment.samples import EVENTS, SUBSCRIPTIONS, asked, build
from tocsin.language import parse_any
from tocsin.segment import open_index, write_index
from tocsin.service import arrow, bodies
from tocsin.service.problems import Problem


class Target(NamedTuple):
    """`tried` is given an input, and raises where something is wrong with tocsin."""

    tried: Callable[[bytes], None]
    seeds: Callable[[], Sequence[bytes]]
    mutated: Callable[[random.Random, Sequence[bytes]], bytes] = mutated


EXPRESSIONS: Final = [
    *(str(record["where"]) for record in SUBSCRIPTIONS),
    'a.b BETWEEN -1.5 AND 2e3 AND "odd name" IS NOT NULL',
    "NOT (x <> 5 OR CASEI(ACCENTI(s)) LIKE CASEI('%é\\_')) AND flag",
    "ts IN (DATE('2024-05-31'), TIMESTAMP('2024-05-31T08:15:00Z')) OR (n + m) * 2 ^ 2 DIV 3 > -o % 4",
    "S_INTERSECTS(p, POINT(1 2)) AND A_CONTAINEDBY(l, ('x', 3, TRUE))",
    "ANY(x, d > 3 AND NOT ANY(l, element LIKE 'a%')) OR ANY(l, element = 1) IS NULL",
    "T_DURING(t, INTERVAL('2024-05-01', '..')) AND NOT T_MEETS(INTERVAL(a, b), INTERVAL('..', c))",
    "S_WITHIN(p, POLYGON((0 0, 4 0, 4 4, 0 0), (1 0.5, 2 0.5, 2 1, 1 0.5))) OR S_TOUCHES(LINESTRING(0 0, 1 1), q)",
    "TEXT(s, 'a b') OR NOT TEXT(l, '\"a b\" c', 'plain') AND TEXT(s, 'é')",
    "DISTANCE_M(p, POINT(13.4 52.5)) <= 500 OR NOT 1e3 > DISTANCE_M(POINT(-179.9 0), p) AND x < 2 AND y < 3",
]
ASKED: Final = [{"id": str(number), "where": where} for number, where in enumerate(EXPRESSIONS)]
LINES: Final = [json.dumps(event).encode() for event in EVENTS] + [
    b'{"n": 1.5e3, "s": "\\u00e9\\ud83d\\ude00", "l": [1, "x", null], "p": {"type": "Point", "coordinates": [0, 1]}}',
    b'{"a": {"b": -0.0, "c": {}}, "t": "2024-06-01T00:00:00Z", "q": [0, 0, 1, 1], "x": []}',
]
TABLE: Final = pa.table({"n": [1.0, None, 3.5], "s": ["a", "b", None], "t": pa.array([1, 2, 3], pa.timestamp("us"))})


def try_text(data: bytes) -> None:
    """A text is refused, or its canonical form and its JSON say the same."""
    text = data.decode("utf-8", "surrogateescape")
    tree = tocsin.parse(text)
    again = tocsin.parse(tocsin.to_text(tree))
    assert tocsin.to_text(again) == tocsin.to_text(tree)
    assert tocsin.to_text(tocsin.parse_json(tocsin.to_json(tree))) == tocsin.to_text(tree)


def try_json_form(data: bytes) -> None:
    """CQL2 JSON, as text and decoded."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        parse_any("{" + text.lstrip().removeprefix("{"))
    finally:
        try:
            decoded = json.loads(text)
        except (ValueError, RecursionError):
            decoded = {}
        tocsin.parse_json(decoded)


def try_subscription(data: bytes) -> None:
    """What an engine takes it matches like the oracle, before and after merging; what it refuses leaves no trace."""
    text = data.decode("utf-8", "surrogateescape")
    engine = tocsin.Engine()
    engine.subscribe("kept", "n = 1")
    try:
        engine.subscribe("tried", text)
    except tocsin.TocsinError:
        assert len(engine) == 1
        raise
    tree = parse_any(text)
    for event in EVENTS:
        expected = truth(tree, flatten(event)[0]) is True
        assert ("tried" in [match.subscription for match in engine.match(event)]) == expected
    engine.merge()
    assert "tried" in engine


def try_json_lines(data: bytes) -> None:
    """The kernel reads what the standard parser reads; a bad line costs itself."""
    agrees(data.split(b"\n"))
    answer = tocsin.match(ASKED, data)
    assert answer.stats.events >= len({reject.row for reject in answer.event_errors})


def try_csv(data: bytes) -> None:
    with _InFile(data, ".csv") as path:
        tocsin.match(ASKED, path)


def try_arrow(data: bytes) -> None:
    with _InFile(data, ".arrow") as path:
        tocsin.match(ASKED, path)


def try_parquet(data: bytes) -> None:
    with _InFile(data, ".parquet") as path:
        tocsin.match(ASKED, path)


def try_records(data: bytes) -> None:
    """Subscriptions as JSON lines, good and bad."""
    tocsin.match(data, EVENTS)


def try_manifest(data: bytes) -> None:
    """A manifest says what it said, or the index does not open."""
    with tempfile.TemporaryDirectory() as folder:
        written = write_index(Path(folder), build())
        number = data[0] % 2 if data else 0
        paths = (Path(folder) / "manifest.json", Path(folder) / f"version-{written.version}/part-00000/manifest.json")
        paths[number].write_bytes(data[1:].replace(b"VERSION", written.version.encode()))
        assert asked(open_index(folder)) == _expected()


def try_service_lines(data: bytes) -> None:
    """Lines that the service stores are JSON that every reader reads, and each is stored or refused by itself."""
    lines = bodies.Lines(data)
    chunk = lines.sound_chunk(0, len(lines))
    refused = {one.row for one in getattr(chunk, "rejects", ())}
    for row, text in enumerate(lines.texts()):
        try:
            record = bodies.json_object(text)
        except Problem as problem:
            assert problem.status in (400, 422)
            continue  # matching refuses it, if the door did not
        assert row not in refused
        json.dumps(record, allow_nan=False).encode()


def try_service_arrow(data: bytes) -> None:
    """A stream is refused, or each row is a text of JSON or a reject, and all rows are matched."""
    table = arrow.read_table(data)
    texts, rejects = arrow.texts(table)
    assert len(texts) == len(table) >= len(rejects)
    for text in texts:
        json.loads(text, parse_constant=_not_json)
    assert sum(not isinstance(one, Problem) for one in arrow.records(table)) == len(table) - len(rejects)
    tocsin.match(ASKED, table)


def _not_json(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@cache
def _expected() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return asked(write_index(Path(folder), build()).open())


class _InFile:
    """The bytes as a file."""

    def __init__(self, data: bytes, ending: str) -> None:
        self._file = tempfile.NamedTemporaryFile(suffix=ending)  # noqa: SIM115
        self._file.write(data)
        self._file.flush()

    def __enter__(self) -> str:
        return self._file.name

    def __exit__(self, *_: object) -> None:
        self._file.close()


SERVED_LINES: Final = [
    b'{"n": ' + b"9" * 400 + b', "s": "\\ud83d\\ude00"}',
    b'{"n": 1e308, "s": "\\ud800\\udc00"}\n{"n": ' + b"[" * 64 + b"]" * 64 + b"}",
    b'{"n": -1.5E+99, "s": "\\\\ud800"}\r\n{"s": "\xe2\x80\xa8"}',
]


def served_streams() -> list[bytes]:
    """Arrow streams with values that Python or JSON lacks."""
    moments = [
        pa.array([0, 2**62], pa.timestamp(unit, zone))
        for unit, zone in (("s", None), ("ns", "UTC"), ("us", "Not/AZone"))
    ]
    nested = pa.array([[{"a": 1}], None], pa.list_(pa.struct([("a", pa.timestamp("ns"))])))
    others = [pa.array([1, 2**62], pa.duration("s")), pa.array([1, 2], pa.time64("ns")), pa.array([b"x", b"\xff"])]
    columns = {f"c{place}": column for place, column in enumerate([*moments, nested, *others])}
    streams = []
    for table in (TABLE, pa.table(columns), pa.table({"n": [float("inf"), 1.0], "s": ["a", "é"]})):
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        streams.append(sink.getvalue())
    return streams


def _texts() -> list[bytes]:
    return [text.encode() for text in EXPRESSIONS]


def _json_forms() -> list[bytes]:
    return [json.dumps(tocsin.to_json(tocsin.parse(text))).encode() for text in EXPRESSIONS]


def _lines() -> list[bytes]:
    return [*LINES, b"\n".join(LINES), b"[" + b",\n".join(LINES) + b"]"]


def _csv() -> list[bytes]:
    return [
        b'n,s,t\n1,a,2024-06-01\n2.5,"b ""c"" ,d",\n,NA,2024-06-01T00:00:00Z\n',
        b"n;s;l\r\n1;a;x\r\nfive;;y\r\n",
        b"\xef\xbb\xbfn\tb\n1\ttrue\n2\tfalse\n",
    ]


def _arrow() -> list[bytes]:
    file, stream = io.BytesIO(), io.BytesIO()
    with pa.ipc.new_file(file, TABLE.schema) as writer:
        writer.write_table(TABLE)
    with pa.ipc.new_stream(stream, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return [file.getvalue(), stream.getvalue()]


def _parquet() -> list[bytes]:
    file = io.BytesIO()
    pq.write_table(TABLE, file)
    return [file.getvalue()]


def _records() -> list[bytes]:
    records = (*SUBSCRIPTIONS, {"id": 1, "where": "n = 1", "score": 2, "payload": {"to": []}, "weights": {"n": 3}})
    return [b"\n".join(json.dumps(record).encode() for record in records)]


def _manifests() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        written = write_index(Path(folder), build())
        outer = (Path(folder) / "manifest.json").read_bytes()
        inner = (Path(folder) / f"version-{written.version}/part-00000/manifest.json").read_bytes()
        name = written.version.encode()
        return [b"\x00" + outer.replace(name, b"VERSION"), b"\x01" + inner.replace(name, b"VERSION")]


TARGETS: Final[dict[str, Target]] = {
    "text": Target(try_text, _texts),
    "json_form": Target(try_json_form, _json_forms),
    "subscription": Target(try_subscription, lambda: [*_texts(), *_json_forms()]),
    "json_lines": Target(try_json_lines, _lines),
    "csv": Target(try_csv, _csv),
    "arrow": Target(try_arrow, _arrow),
    "parquet": Target(try_parquet, _parquet),
    "records": Target(try_records, _records),
    "manifest": Target(try_manifest, _manifests),
    "service_lines": Target(try_service_lines, lambda: [*_lines(), *SERVED_LINES]),
    "rules": Target(try_rule, rule_seeds, mutated_rule),
    "service_arrow": Target(try_service_arrow, served_streams),
}
np.seterr(all="ignore")
