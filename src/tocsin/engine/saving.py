"""Engines on disk: an index folder like a compiled one, with one part per segment, and which subscriptions are live."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from tocsin.engine.sources import SegmentSource
from tocsin.engine.store import Store
from tocsin.errors import InvalidInput
from tocsin.index import Plan
from tocsin.model.texts import Text
from tocsin.segment import Publication, current_segments
from tocsin.segment.folder import IndexFolder


def save_sources(folder: str | Path, store: Store, plan: Plan, texts: Mapping[str, Text]) -> None:
    """Write the current state of a store, and publish it atomically."""
    with Publication(folder) as new:
        with store.reading() as snapshots:
            segments = [segment for one in snapshots if len(one) and len(segment := one.as_segment(plan))]
            parts = [new.write(number, segment) for number, segment in enumerate(segments)]
            ids = "int64" if pa.types.is_integer(snapshots.id_type) else "string"
        living = sum(segment.living() for segment in segments)
        new.publish(parts, living, ids, texts, statistics=new.write_statistics(plan.statistics))


def open_sources(folder: str | Path) -> list[SegmentSource]:
    """The segments of a folder, memory-mapped."""
    return [SegmentSource(segment) for segment in current_segments(folder)]


def texts_of(folder: str | Path, texts: Mapping[str, Text]) -> dict[str, Text]:
    """The text attributes saved in a folder, and further ones; raises `InvalidInput` if they contradict."""
    saved = IndexFolder.read(folder).texts
    for name, how in texts.items():
        if saved.get(name, how) != how:
            raise InvalidInput(
                f"texts gives {name!r} the type {str(how)!r}, but {folder} was saved with {str(saved[name])!r}; "
                "leave it out, or load the subscriptions from their file into a new engine"
            )
    return {**saved, **texts}
