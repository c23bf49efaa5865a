"""Input and output of records: JSON lines, CSV, Parquet, Arrow, pandas and Polars, a chunk at a time."""

from tocsin.records.bulk import Conjunctions, SparseEvents
from tocsin.records.chunks import Chunk, LinesChunk, ObjectChunk, SparseChunk, TableChunk
from tocsin.records.events import read_events
from tocsin.records.json_lines import as_records, parse_lines
from tocsin.records.several import files_of
from tocsin.records.subscription_chunk import ConjunctionColumns, SubscriptionChunk
from tocsin.records.subscription_record import Parsed, parsed_record, subscription_of
from tocsin.records.subscriptions import chunk_of, read_subscriptions
from tocsin.records.writers import open_writer, output_format

__all__ = [
    "Chunk",
    "ConjunctionColumns",
    "Conjunctions",
    "LinesChunk",
    "ObjectChunk",
    "Parsed",
    "SparseChunk",
    "SparseEvents",
    "SubscriptionChunk",
    "TableChunk",
    "as_records",
    "chunk_of",
    "files_of",
    "open_writer",
    "output_format",
    "parse_lines",
    "parsed_record",
    "read_events",
    "read_subscriptions",
    "subscription_of",
]
