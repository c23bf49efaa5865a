"""How do records come in and answers go out? JSON lines, CSV, Parquet, Arrow, pandas and Polars, a chunk at a time."""

from tocsin.records.chunks import Chunk, LinesChunk, ObjectChunk, TableChunk
from tocsin.records.events import read_events
from tocsin.records.json_lines import parse_lines
from tocsin.records.subscriptions import read_subscriptions, subscription_of
from tocsin.records.writers import open_writer

__all__ = [
    "Chunk",
    "LinesChunk",
    "ObjectChunk",
    "TableChunk",
    "open_writer",
    "parse_lines",
    "read_events",
    "read_subscriptions",
    "subscription_of",
]
