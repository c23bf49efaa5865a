"""Comparison with a database that is asked each alert: DuckDB on the same table, one query for each sampled alert.

For comparison, tocsin takes all alerts at once in this process: `Engine.subscribe_many`, then one `match_batch`. For
the sampled alerts both must count the same flights.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tocsin.demo.alerts import Alert
from tocsin.engine import Engine, sample
from tocsin.errors import needing

SAMPLED: Final = 100
_SEED: Final = 7
_BOX: Final = re.compile(r"S_INTERSECTS\(dest_location, BBOX\((\S+), (\S+), (\S+), (\S+)\)\)")


@dataclass(frozen=True, slots=True)
class OneByOne:
    """All alerts at once, and a sample of them one by one. Seconds of wall time."""

    alerts: int
    flights: int
    together_s: float  # adding the alerts, and matching all flights
    matching_s: float  # the matching alone
    sampled: int
    sampled_s: float
    differ: int  # sampled alerts with different counts in the database

    @property
    def all_s(self) -> float:
        """The estimated time of one query for each alert."""
        return self.sampled_s / max(self.sampled, 1) * self.alerts

    def text(self) -> str:
        """One line for users."""
        same = "the same counts" if self.differ == 0 else f"{self.differ} COUNTS DIFFER"
        return (
            f"{self.all_s:,.0f} s with one query for each alert in DuckDB ({self.sampled:,} sampled, {same}); "
            f"{self.together_s:.1f} s with tocsin in one process, {self.matching_s:.1f} s of that for matching"
        )


def condition(where: str) -> str:
    """The CQL2 text of an alert as a condition in DuckDB's SQL."""
    inside = r"(dest_location[1] BETWEEN \1 AND \3 AND dest_location[2] BETWEEN \2 AND \4)"
    return _BOX.sub(inside, where)


def compare(flights: pa.Table, alerts: Sequence[Alert], sampled: int = SAMPLED) -> OneByOne:
    """Match all alerts at once, then some one by one. Raises `MissingExtra` if DuckDB is missing."""
    with needing("demo"):
        import duckdb
    begun = time.perf_counter()
    with Engine(statistics=sample(flights.slice(0, 10_000))) as engine:
        engine.subscribe_many(alerts)
        taken_in = time.perf_counter()
        found = engine.match_batch(flights).table["subscription"]
        done = time.perf_counter()
    counted = pc.value_counts(found.combine_chunks())
    counts = dict(zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True))
    chosen = random.Random(_SEED).sample(list(alerts), min(sampled, len(alerts)))
    with duckdb.connect() as database:
        seconds, asked = _ask(database, flights, chosen)
    differ = sum(asked[one["id"]] != counts.get(one["id"], 0) for one in chosen)
    return OneByOne(len(alerts), len(flights), done - begun, done - taken_in, len(chosen), seconds, differ)


def _ask(database: Any, flights: pa.Table, alerts: Sequence[Alert]) -> tuple[float, dict[str, int]]:
    """Count each alert's flights in a table of the database.

    Returns the seconds taken by the queries, and the counts.
    """
    database.register("arriving", flights)
    database.execute("CREATE TABLE flights AS SELECT * FROM arriving")
    begun = time.perf_counter()
    counts = {
        one["id"]: database.execute(f"SELECT count(*) FROM flights WHERE {condition(one['where'])}").fetchone()[0]
        for one in alerts
    }
    return time.perf_counter() - begun, counts
