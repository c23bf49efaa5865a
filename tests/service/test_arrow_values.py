"""Values of Arrow that Python or JSON lacks are read without pandas, or are errors of their row."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.service.served import Served, served
from tests.sizes import sized
from tocsin.service import arrow
from tocsin.service.problems import Problem

ARROW: Final = {"Content-Type": "application/vnd.apache.arrow.stream"}
UNSHOWN: Final = {
    "a year 12000 in seconds": pa.array([0, 316_000_000_000], pa.timestamp("s")),
    "a year before 1": pa.array([0, -(10**12)], pa.timestamp("s", "UTC")),
    "the year 10000 in a zone": pa.array([0, 253_402_300_799], pa.timestamp("s", "Asia/Tokyo")),
    "a date": pa.array([0, 3_663_000], pa.date32()),
    "a date in milliseconds": pa.array([0, 3_663_000 * 86_400_000], pa.date64()),
    "a duration": pa.array([0, 2**62], pa.duration("s")),
    "an unknown zone": pa.array([None, 1], pa.timestamp("s", "Not/AZone")),
    "an unknown zone in nanoseconds": pa.array([None, 1], pa.timestamp("ns", "Not/AZone")),
    "a year within a list": pa.array([[0], [0, 316_000_000_000]], pa.list_(pa.timestamp("s"))),
    "a zone within objects": pa.array(
        [None, [{"at": 1}]], pa.list_(pa.struct([("at", pa.timestamp("us", "Not/AZone"))]))
    ),
}
SHOWN: Final = {
    "nanoseconds": (pa.array([1_001], pa.timestamp("ns")), "1970-01-01T00:00:00.000001"),
    "nanoseconds of a zone": (pa.array([1_500], pa.timestamp("ns", "UTC")), "1970-01-01T00:00:00.000001+00:00"),
    "a time of the day": (pa.array([1_999], pa.time64("ns")), "00:00:00.000001"),
    "a duration in nanoseconds": (pa.array([1_500_000_001], pa.duration("ns")), 1.5),
    "nanoseconds within objects": (
        pa.array([[{"at": 2_001}]], pa.list_(pa.struct([("at", pa.timestamp("ns"))]))),
        [{"at": "1970-01-01T00:00:00.000002"}],
    ),
    "months, days and nanoseconds": (pa.array([pa.MonthDayNano([1, 2, 3])]), [1, 2, 3]),
    "infinity": (pa.array([float("inf")]), None),
    "infinity in a list": (pa.array([[float("-inf"), float("nan"), 1.5]]), [None, None, 1.5]),
    "bytes": (pa.array([b"\x00\xff"]), "AP8="),
}  # fmt: skip
PATHS: Final = ("/v1/events", "/v1/windows/w/messages", "/v1/subscriptions", "/v1/windows/w/subscriptions")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("alerts")) as server:
        server.destination()
        server.subscribe("all", "n = 1", destination="d").raise_for_status()
        server.client.put("/v1/windows/w", json={"size": 100, "bounds": [0, 0, 9, 9]}).raise_for_status()
        interest = {"words": ["a"], "location": [1, 1], "destination": "d"}
        server.client.put("/v1/windows/w/subscriptions/u", json=interest).raise_for_status()
        yield server


def stream_of(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def record_columns(path: str, count: int) -> dict[str, pa.Array]:
    """What records for a path need besides the values that are tried."""
    events = {"n": pa.array([1] * count)}
    messages = {"words": pa.array([["a"]] * count), "location": pa.array([[1.0, 1.0]] * count)}
    ids = {"id": pa.array([f"r{row}" for row in range(count)])}
    return {
        "/v1/events": events,
        "/v1/windows/w/messages": messages,
        "/v1/subscriptions": {**ids, "where": pa.array(["n = 2"] * count)},
        "/v1/windows/w/subscriptions": {**ids, **messages},
    }[path]


def sent(server: Served, path: str, name: str, column: pa.Array) -> Any:
    table = pa.table({**record_columns(path, len(column)), name: column})
    answer = server.client.post(path, content=stream_of(table), headers=ARROW)
    assert answer.status_code in (200, 202), (path, answer.text)
    return answer.json()


@pytest.mark.parametrize("what", UNSHOWN)
@pytest.mark.parametrize("path", PATHS)
def test_a_value_that_no_text_shows_is_an_error_of_its_row(shared: Served, path: str, what: str) -> None:
    name = "payload" if "subscriptions" in path else "v"
    report = sent(shared, path, name, UNSHOWN[what])

    assert (report["accepted"], [one["row"] for one in report["errors"]]) == (1, [1]), report
    assert report["errors"][0]["field"] == name and name in report["errors"][0]["reason"]
    for listed in ("/v1/subscriptions", "/v1/windows/w/subscriptions", "/v1/destinations/d/deliveries?limit=1000"):
        assert shared.client.get(listed).status_code == 200


@pytest.mark.parametrize("what", SHOWN)
def test_a_value_is_delivered_as_text_shows_it(shared: Served, what: str) -> None:
    column, expected = SHOWN[what]
    sent(shared, "/v1/events", "v", column)
    newest = shared.client.get("/v1/destinations/d").json()["newest"]
    (delivery,) = shared.pulled(after=newest - 1)
    assert delivery["event"].get("v") == expected

    for path in ("/v1/subscriptions", "/v1/windows/w/subscriptions"):
        report = sent(shared, path, "payload", column)
        if "infinity" in what:  # a payload is stored as it is, or not at all
            assert report["errors"][0]["field"] == "payload"
        else:
            assert shared.client.get(f"{path}/r0").json()["payload"] == expected


@pytest.mark.parametrize("what", [*UNSHOWN, *SHOWN])
def test_every_type_is_matched(shared: Served, what: str) -> None:
    column = UNSHOWN[what] if what in UNSHOWN else SHOWN[what][0]
    shared.subscribe("other", "v IS NOT NULL OR ANY(v, at > 3) OR ANY_ATTRIBUTE(element = 'x')").raise_for_status()
    table = pa.table({"n": pa.array([1] * len(column)), "v": column})
    answer = shared.client.post("/v1/match", content=stream_of(table), headers=ARROW)

    assert answer.status_code == 200
    assert pa.ipc.open_stream(answer.content).read_all()["event"].to_pylist().count(0) >= 1
    shared.client.delete("/v1/subscriptions/other")


def test_an_instant_of_a_column_is_a_time_of_a_record(shared: Served) -> None:
    column = pa.array([datetime(2199, 1, 1), None], pa.timestamp("ns", "Europe/Berlin"))
    report = sent(shared, "/v1/subscriptions", "expires_at", column)

    assert report["accepted"] == 2
    assert shared.client.get("/v1/subscriptions/r0").json()["expires_at"] == "2199-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1_500, 2_500], pa.timestamp("ns")),
        pa.array([0, 316_000_000_000_000], pa.timestamp("s")),
        pa.array([2**62, 1]),
        pa.array([3, None], pa.date32()),
        pa.array([1, 2], pa.timestamp("us", "Not/AZone")),
        pa.array([1.5, float("nan")]),
    ],
    ids=lambda column: str(column.type),
)
def test_every_time_of_a_message_has_an_answer(shared: Served, column: pa.Array) -> None:
    path = "/v1/windows/t"
    shared.client.put(path, json={"time": 60, "bounds": [0, 0, 9, 9]}).raise_for_status()
    columns = record_columns("/v1/windows/w/messages", 2)
    for table in (
        pa.table({**columns, "time": column}),
        pa.table({**columns, "location": [[2**62, 1], [1, 1]], "time": column}),
    ):
        answer = shared.client.post(f"{path}/messages", content=stream_of(table), headers=ARROW)
        assert answer.status_code == 202, answer.text
        report = answer.json()
        assert report["accepted"] + report["rejected"] == 2
    assert shared.client.delete(path).status_code == 204


def test_nanoseconds_need_no_pandas() -> None:
    program = """
import sys
class WithoutPandas:
    def find_spec(self, name, *_):
        if name == "pandas":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, WithoutPandas())
import pyarrow as pa
from tocsin.service import arrow
kinds = [pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.time64("ns"), pa.duration("ns")]
table = pa.table({str(kind): pa.array([1_001], kind) for kind in kinds})
assert arrow.texts(table)[1] == []
print(arrow.texts(table)[0][0])
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert list(json.loads(found.stdout).values()) == [
        "1970-01-01T00:00:00.000001", "1970-01-01T00:00:00.000001+00:00", "00:00:00.000001", 0.000001,
    ]  # fmt: skip


_UNITS = st.sampled_from(("s", "ms", "us", "ns"))
_ZONES = st.sampled_from((None, "UTC", "+23:59", "Asia/Tokyo", "Not/AZone", ""))
_KINDS = st.one_of(
    st.builds(pa.timestamp, _UNITS, _ZONES),
    st.builds(pa.duration, _UNITS),
    st.sampled_from((pa.date32(), pa.int64(), pa.float64())),
)
_NESTINGS = st.sampled_from(("plain", "list", "struct", "fixed"))


def nested(column: pa.Array, how: str) -> pa.Array:
    """A column whose row has the values of another one's row, somewhere inside."""
    offsets = pa.array(range(len(column) + 1), pa.int32())
    match how:
        case "list":
            return pa.ListArray.from_arrays(offsets, column)
        case "struct":
            return pa.StructArray.from_arrays([column], ["at"])
        case "fixed":
            return pa.FixedSizeListArray.from_arrays(column, 1)
    return column


@settings(max_examples=sized(60, 1000))
@given(_KINDS, _NESTINGS, st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4))
def test_each_row_is_shown_or_an_error(kind: pa.DataType, how: str, ticks: list[int]) -> None:
    """Rows do not depend on each other, and what is shown is JSON."""
    numbers = pa.array(ticks, pa.int64())
    if kind == pa.date32():
        column = numbers.cast(pa.int32(), safe=False).cast(kind)
    else:
        column = numbers.cast(kind, safe=False) if kind == pa.float64() else numbers.view(kind)
    table = pa.table({"v": nested(column, how)})
    texts, rejects = arrow.texts(table)

    alone = [arrow.texts(table.slice(row, 1)) for row in range(len(ticks))]
    assert texts == [own[0] for own, _ in alone]
    assert [one.row for one in rejects] == [row for row, (_, refused) in enumerate(alone) if refused]
    for text, record in zip(texts, arrow.records(table), strict=True):
        assert isinstance(record, Problem) or json.loads(text) == json.loads(json.dumps(record))
