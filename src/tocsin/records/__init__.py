"""How do records come in and answers go out? JSON lines, CSV, Parquet, Arrow, pandas and Polars, a chunk at a time."""

from tocsin.records.bulk import Conjunctions, SparseEvents
from tocsin.records.chunks import Chunk, LinesChunk, ObjectChunk, SparseChunk, TableChunk
from tocsin.records.events import read_events
from tocsin.records.json_lines import as_records, parse_lines
from tocsin.records.subscription_record import subscription_of
from tocsin.records.subscriptions import read_subscriptions
from tocsin.records.writers import open_writer

__all__ = [
    "Chunk",
    "Conjunctions",
    "LinesChunk",
    "ObjectChunk",
    "SparseChunk",
    "SparseEvents",
    "TableChunk",
    "as_records",
    "open_writer",
    "parse_lines",
    "read_events",
    "read_subscriptions",
    "subscription_of",
]
