"""Encoding of records to batches of events, with a schema and points; shared by engine and Spark."""

from tocsin.encoding.chunks import encode_chunk
from tocsin.encoding.points import Points, checked_points, with_coordinates, without_places

__all__ = ["Points", "checked_points", "encode_chunk", "with_coordinates", "without_places"]
