"""What may events and subscriptions be given as? For who writes a call, and for editors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Protocol, TypeAlias

from tocsin.model.subscription import Subscription
from tocsin.records.bulk import Conjunctions, SparseEvents


class ArrowStream(Protocol):
    """Tables: of Arrow, pandas, Polars, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class LazyFrame(Protocol):
    """A data frame of Polars that is not computed yet."""

    def collect(self) -> Any: ...


class Dataset(Protocol):
    """A dataset of Arrow."""

    def count_rows(self) -> int: ...


Path: TypeAlias = str | PathLike[str]
Anything: TypeAlias = (
    bytes | bytearray | memoryview | Path | Sequence[Path] | ArrowStream | LazyFrame | Dataset | Mapping[str, Any]
)
"""JSON, files, tables, or one record."""
Events: TypeAlias = Iterable[Mapping[str, Any]] | Anything | SparseEvents
Subscriptions: TypeAlias = Iterable[Mapping[str, Any] | Subscription] | Anything | Conjunctions
