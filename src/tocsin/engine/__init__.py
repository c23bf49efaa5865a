"""The in-memory engine, and matching in one call.

`store` holds the sources (segments and a delta) and serialises changes. `merging` keeps the number of sources small.
`saving` writes them to disk. `matching` sends any source of events through their snapshots (`segment.snapshots`).
"""

from tocsin.engine.answer import Answer, Stats
from tocsin.engine.durable.engine import DurableEngine
from tocsin.engine.engine import Engine
from tocsin.engine.engine_stats import EngineStats
from tocsin.engine.explaining import explain
from tocsin.engine.loading import load_segments
from tocsin.engine.matches import Matches
from tocsin.engine.matching import Matched, Request, empty_table, match_chunks
from tocsin.engine.one_call import match
from tocsin.engine.sampling import sample
from tocsin.engine.weighing import idf

__all__ = [
    "Answer",
    "DurableEngine",
    "Engine",
    "EngineStats",
    "Matched",
    "Matches",
    "Request",
    "Stats",
    "empty_table",
    "explain",
    "idf",
    "load_segments",
    "match",
    "match_chunks",
    "sample",
]
