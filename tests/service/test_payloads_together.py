"""All payloads and conditions of a tenant together have a limit, which what is removed makes room for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.service.served import Served, served
from tests.waiting import awaited
from tocsin.service.limits import Limits

KB = 1 << 10
INTEREST = {"words": ["a"], "location": [1, 1]}


def used(server: Served) -> int:
    lines = server.client.get("/metrics").text.splitlines()
    return int(float(next(line for line in lines if line.startswith("tocsin_payloads_bytes ")).split()[1]))


def is_full(answer: Any) -> bool:
    if answer.status_code != 429:
        return False
    assert answer.json()["limit"] == "payloads_mb" and "kB" not in answer.json()["detail"]
    return True


def test_payloads_have_a_limit_together(tmp_path: Path) -> None:
    """One by one, in bulk and in windows; a restart knows what is there, and what is removed makes room."""
    limits, payload = Limits(payloads_bytes=100 * KB), "x" * 20 * KB
    with served(tmp_path, limits) as server:
        server.client.put("/v1/windows/w", json={"size": 10, "bounds": [0, 0, 9, 9]})
        for id in ("a", "b"):
            assert server.subscribe(id, "n = 1", payload=payload).is_success
        path = "/v1/windows/w/subscriptions/c"
        assert server.client.put(path, json={**INTEREST, "payload": payload}).is_success
        bulk = [{"id": f"t{number}", "where": f"n = {number}", "payload": payload} for number in range(2)]
        assert is_full(server.lines(bulk, "/v1/subscriptions"))
        assert server.lines(bulk[:1], "/v1/subscriptions").json()["accepted"] == 1
        assert is_full(server.subscribe("d", "n = 1", payload=payload))
        assert is_full(server.client.put(path[:-1] + "e", json={**INTEREST, "payload": payload}))
        assert is_full(server.subscribe("d", f"n IN ({', '.join(map(str, range(5000)))})"))
        assert server.subscribe("d", "n = 1").is_success and len(server.service.engine) == 4
    with served(tmp_path, limits) as server:
        assert 80 * KB < used(server) < 85 * KB and is_full(server.subscribe("e", "n = 1", payload=payload))
        server.client.delete("/v1/subscriptions/a")
        server.client.delete(path)
        awaited(lambda: used(server) < 50 * KB)
        assert server.subscribe("e", "n = 1", payload=payload).is_success


texts = st.text("aé\N{CHART WITH UPWARDS TREND}", max_size=40)


@given(payloads=st.lists(st.none() | texts, min_size=1, max_size=30), removed=st.sets(st.integers(0, 29)))
def test_the_sizes_of_payloads_are_known_without_reading_them(payloads: list[str | None], removed: set[int]) -> None:
    """In the delta and in segments, without what is removed."""
    engine = tocsin.Engine()
    for number, payload in enumerate(payloads):
        engine.subscribe(number, "n = 1", payload=payload)
    removed = {number for number in removed if number < len(payloads)}
    for _ in range(2):
        left = [one for number, one in enumerate(payloads) if number not in removed and one is not None]
        for number in removed & set(engine):
            engine.unsubscribe(number)
        with engine._reading() as snapshots:
            whole = snapshots.text_bytes()
        sizes = sum(len(json.dumps(one, ensure_ascii=False).encode()) for one in left)
        assert sizes <= whole <= sizes + 10 * len(payloads)
        engine.merge()
