"""Clients send any source in requests that the service takes, and report each record by row and id."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
from tests.service.served import Served, served
from tests.service.test_client import Failing
from tests.service.test_client import failing as failing
from tocsin import ServiceError
from tocsin.client import uploads
from tocsin.service.limits import Limits

LIMIT = 4000
RECORDS = [{"id": f"s{n:03}", "where": f"n >= {n % 7}", "score": n / 2, "payload": {"n": n}} for n in range(120)]
EVENTS = [{"n": n % 9, "s": "ü😀"} for n in range(300)]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that takes small bodies."""
    limits = Limits(body_bytes=LIMIT, bodies_bytes=10 * LIMIT, answers_bytes=1 << 20)
    with served(tmp_path_factory.mktemp("small") / "alerts", limits) as one:
        yield one


def clear(client: tocsin.Client) -> None:
    client.unsubscribe_many([one["id"] for one in client.subscriptions()])


def sources(folder: Path, records: list[dict[str, Any]]) -> dict[str, Any]:
    """The same records in many forms."""
    lines = "".join(json.dumps(one) + "\n" for one in records)
    (folder / "r.jsonl").write_text(lines)
    (folder / "r.json").write_text(json.dumps(records))
    plain = [{name: json.dumps(v) if isinstance(v, dict) else v for name, v in one.items()} for one in records]
    table = pa.Table.from_pylist(plain)
    pq.write_table(table, folder / "r.parquet")
    pd.DataFrame(plain).to_csv(folder / "r.csv", index=False)
    return {
        "objects": records,
        "generator": (one for one in records),
        "bytes": lines.encode(),
        "table": table,
        "batches": table.to_batches(50),
        "frame": pd.DataFrame(plain),
        **{path.suffix: path for path in folder.glob("r.*")},
    }


FORMS = ("objects", "generator", "bytes", "table", "batches", "frame", ".jsonl", ".json", ".parquet", ".csv")


@pytest.mark.parametrize("form", FORMS)
def test_subscriptions_come_from_any_source_and_fit(small: Served, form: str, tmp_path: Path) -> None:
    """Each request is at most as large as the service takes; `progress` ends with everything."""
    shares: list[float | None] = []
    source = sources(tmp_path, RECORDS)[form]
    with tocsin.Client(str(small.client.base_url)) as client:
        clear(client)
        report = client.subscribe_many(source, progress=shares.append)

        assert (report.accepted, report.errors, report.warnings) == (120, [], ())
        held = [{name: one[name] for name in RECORDS[0]} for one in client.subscriptions()]
    assert held == RECORDS
    assert shares and (shares[-1] == 1 or form == "generator")


@pytest.mark.parametrize("form", FORMS)
def test_events_come_from_any_source_and_fit(small: Served, form: str, tmp_path: Path) -> None:
    source = sources(tmp_path, EVENTS)[form]
    with tocsin.Client(str(small.client.base_url)) as client:
        clear(client)
        client.subscribe("one", "n = 3 AND s = 'ü😀'", payload={"n": 1}, replace=True)
        first = client.publish({"n": 3, "s": "ü😀"})
        done = client.publish(source, key=form)
        assert (done.matches, done.errors) == (first.matches * sum(one["n"] == 3 for one in EVENTS), [])
        if form != "generator":  # again, with the same keys
            assert client.publish(sources(tmp_path, EVENTS)[form], key=form).sequence == done.sequence
        assert client.publish({"n": 3, "s": "ü😀"}).sequence == done.sequence + 1


def test_each_bad_record_has_its_row_and_id(small: Served) -> None:
    records: list[Any] = [
        {"id": "good", "where": "n = 1"},
        {"id": "nan", "where": "n = 1", "payload": {"x": float("nan")}},
        {"id": "throttle", "where": "n = 1", "throttle_s": -1},
        7,
        {"id": "wrong", "where": "n ="},
        {"id": "huge", "where": "n = 1", "payload": "x" * LIMIT},
        {"id": "unknown", "where": "n = 1", "destination": "nowhere"},
        {"id": "last", "where": "n = 1", "payload": object()},
    ]

    async def asynchronously() -> Any:
        async with tocsin.AsyncClient(str(small.client.base_url)) as client:
            return await client.subscribe_many(records, replace=True)

    with tocsin.Client(str(small.client.base_url)) as client:
        report = client.subscribe_many(records, replace=True)
        published = client.publish([{"n": 1}, {"n": float("inf")}, {"n": "x" * LIMIT}, {"n": 1}])

    assert report.accepted == 1
    assert [(one.row, one.id, one.field) for one in report.errors] == [
        (1, "nan", "payload"),
        (2, "throttle", "throttle_s"),
        (3, None, ""),
        (4, "wrong", "where"),
        (5, "huge", ""),
        (6, "unknown", "destination"),
        (7, "last", "payload"),
    ]
    assert "bytes" in report.errors[4].reason
    assert asyncio.run(asynchronously()) == report
    assert [(one.row, one.id) for one in published.errors] == [(1, None), (2, None)]


@pytest.mark.parametrize("count", [1, 100])
@pytest.mark.parametrize("replace", [False, True])
def test_duplicates_mean_the_same_everywhere(small: Served, replace: bool, count: int) -> None:
    """Also where the records of one id are in several requests."""
    client = tocsin.Client(str(small.client.base_url))
    clear(client)
    engine = tocsin.Engine()
    records = [
        {"id": id, "where": f"n = {place}"}
        for place, id in enumerate(["a", "b", *(f"x{n}" for n in range(count)), "a", "a", "c"])
    ]
    with client:
        for one in (client, engine):
            one.subscribe("c", "n > 5")
        ours, theirs = (one.subscribe_many(iter(records), replace=replace) for one in (client, engine))

        assert ours.accepted == theirs.accepted
        assert [one[:3] for one in ours.errors] == [one[:3] for one in theirs.errors]
        assert [str(one) for one in ours.warnings] == [str(one) for one in theirs.warnings]
        assert bool(ours.warnings) == replace and bool(ours.errors) != replace
        held = {one["id"]: one["where"] for one in client.subscriptions()}
    assert held == {id: engine.get(id)["where"] for id in engine}


def test_the_service_tells_of_duplicates(small: Served) -> None:
    records = [{"id": "twice", "where": f"n = {n}"} for n in range(3)]
    report = small.lines(records, "/v1/subscriptions").json()
    assert report["warnings"] == ["id: 2 records were replaced by a later one with the same id, such as 'twice'"]
    kept = small.lines(records, "/v1/subscriptions?replace=false").json()
    assert (kept["accepted"], kept["rejected"], "warnings" in kept) == (0, 3, False)


def test_requests_are_repeated_until_a_deadline_and_then_one_error_is_raised(
    failing: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tocsin.Client(failing, retry_s=0.6) as client:
        Failing.statuses[:] = [503] * 20
        with pytest.raises(ServiceError) as told:
            client.publish([{"n": 1}])
        assert told.value.status == 503 and 1 < len(Failing.came) < 12
        assert len({key for _, key in Failing.came}) == 1
        Failing.statuses[:] = [202, 0, 0, 0, 0, 0, 0, 0, 0]
        monkeypatch.setattr(uploads, "_MOST_BYTES", 1)  # each record is a request
        with pytest.raises(ServiceError, match=r"could not be reached.*; before it, 1 record was sent") as told:
            client.publish([{"n": 1}] * 2)
        assert told.value.__cause__ is None and told.value.more["sent"] == 1
    for wrong in (-1, "x", None, float("nan"), True):
        with pytest.raises(tocsin.InvalidInput, match="retry_s is"):
            tocsin.Client(failing, retry_s=wrong)  # type: ignore[arg-type]
