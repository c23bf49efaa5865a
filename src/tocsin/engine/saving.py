"""How does an engine lie on disk? As an index folder, like a compiled one: a segment a part, with who is alive."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tocsin.columns.arrays import frozen
from tocsin.engine.merging import merged
from tocsin.engine.sources import Root, Source
from tocsin.engine.store import Store
from tocsin.index import Plan
from tocsin.segment import IndexFolder, Segment
from tocsin.segment.folder import new_version, part_name, publish, version_folder, write_part


def save_sources(folder: str | Path, store: Store, plan: Plan) -> None:
    """Write all that a store holds at this moment, and publish it at once."""
    path = Path(folder)
    version = new_version()
    (path / version_folder(version)).mkdir(parents=True)
    with store.reading() as root:
        segments = [segment for place in range(len(root.snapshots)) if len(segment := _frozen(root, place, plan))]
        for number, segment in enumerate(segments):
            write_part(path, version, number, segment)
    living = sum(segment.living() for segment in segments)
    ids = "int64" if root.kind is int else "string"
    publish(path, version, [part_name(number) for number in range(len(segments))], living, ids)


def _frozen(root: Root, place: int, plan: Plan) -> Segment:
    """A source of a root as a segment with the scores of that moment; a delta without those that are gone."""
    one = root.snapshots[place]
    holder = one.source.holder
    if isinstance(holder, Segment):
        segment, alive, numbers = holder, one.alive, np.arange(len(holder))
    else:
        segment, (new,) = merged([one], plan)
        alive, numbers = None, np.argsort(new)[len(new) - len(segment) :]  # the gone, all -1, come before them
    scores = frozen(one.version.scores[numbers], np.float64)
    return replace(segment, scores=scores, alive=alive)


def open_sources(folder: str | Path) -> list[Source]:
    """The segments of a folder, mapped."""
    return [Source(segment) for segment in IndexFolder.read(folder).segments()]
