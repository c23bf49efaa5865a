"""The rate of the public call compared with its kernel: `match_batch` and the index alone, in one run.

It covers every form of events, ids of both kinds, rows and lists, and one and two threads. The kernel gets packed
batches. Times are wall time, and rounds of both alternate.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

import tocsin
from benchmarks.boolean_workload import UNI, ZIPF, Workload
from benchmarks.calibration import wall_seconds
from benchmarks.rows import Row
from tocsin.columns.events.sparse import encode_sparse

_ROUNDS = 5


def rows(subscriptions: int, events: int) -> Iterator[Row]:
    """Measure on both workloads."""
    for workload, count in ((UNI, 4 * events), (ZIPF, max(events // 8, 64))):
        for kind in ("integers", "strings"):
            with tocsin.Engine() as engine:
                engine.subscribe_many(_with_ids(workload, subscriptions, kind))
                yield from _measure(workload, engine, count, kind)


def _with_ids(workload: Workload, subscriptions: int, kind: str) -> tocsin.Conjunctions:
    table = workload.conjunctions(subscriptions).table
    ids = pa.array(range(subscriptions), pa.int64())
    ids = ids if kind == "integers" else pa.array([f"s{n:07}" for n in range(subscriptions)], pa.large_string())
    return tocsin.Conjunctions(table.set_column(table.column_names.index("id"), "id", ids))


def _measure(workload: Workload, engine: tocsin.Engine, count: int, kind: str) -> Iterator[Row]:
    sparse = workload.sparse_events(count)
    segment, wanted = engine._store.segments[0].segment, engine._store.wanted
    packed = [encode_sparse(one.names, one.values, one.rows, wanted) for one in sparse.chunks()]

    def alone() -> None:
        for batch in packed:
            segment.matcher.match(batch)

    forms: dict[str, Any] = {"sparse": sparse}
    if kind == "strings":
        dicts = list(workload.events(count // 4))
        forms["JSON lines"] = "".join(json.dumps(event) + "\n" for event in dicts).encode()
        forms["dicts"] = dicts
        if workload is ZIPF:  # a table with the 20,000 columns of the other workload is unrealistic
            forms["Arrow"] = pa.Table.from_pylist(dicts, pa.schema([(f"a{n}", pa.float64()) for n in range(1000)]))
    for form, source in forms.items():
        share = 1.0 if form == "sparse" else 0.25
        for lists in (False, True) if form == "sparse" else (False,):
            for threads in (1, 2):

                def public(source: Any = source, lists: bool = lists, threads: int = threads) -> None:
                    engine.match_batch(source, lists=lists, threads=threads)

                name = f"{form}, {kind}{', lists' if lists else ''}, {threads} thread{'s' if threads > 1 else ''}"
                yield _row(workload, name, public, alone, count, share)


def _row(
    workload: Workload, name: str, public: Callable[[], None], alone: Callable[[], None], count: int, share: float
) -> Row:
    public(), alone()
    pairs = [(wall_seconds(public), wall_seconds(alone)) for _ in range(_ROUNDS)]
    rate = share * count / statistics.median(one for one, _ in pairs)
    kernel = count / statistics.median(two for _, two in pairs)
    ratio = statistics.median(share * two / one for one, two in pairs)
    return Row(
        "public", workload.name, name, rate, "events/s", f"{ratio:.2f} of the index alone ({kernel:,.0f} events/s)"
    )
