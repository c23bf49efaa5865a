"""What the tests of segments share: subscriptions of every kind, and how they are written, damaged and asked."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from tocsin.columns.events.objects import encode_objects
from tocsin.engine.loading import build_from
from tocsin.index import choose
from tocsin.model.ranking import Top
from tocsin.segment import Segment, Snapshots, write_segment
from tocsin.segment.storage import segment_manifest, write_manifest

SUBSCRIPTIONS: Final = (
    {"id": "a", "where": "n = 1 AND s LIKE 'a%b_'"},
    {"id": "b", "where": "MATCHES(s, '^a') OR n + m * 2 > o - 1", "score": 2},
    {"id": "c", "where": "A_CONTAINS(l, ('x', 'y')) AND S_INTERSECTS(p, BBOX(0, 0, 1, 1))"},
    {"id": "d", "where": "(n > 1) = (s = 'a')", "score": -1.5},
    {"id": "e", "where": "s IN ('a', 'b', 'é') OR CASEI(s) = CASEI('STRASSE') OR n IN (1, 2, 3)"},
    {"id": "f", "where": "A_OVERLAPS(l, k) OR S_INTERSECTS(p, q) OR (n + 1) IS NULL"},
    {"id": "g", "where": "t > DATE('2024-01-01') AND MATCHES(CASEI(s), 'b') OR CASEI(s) LIKE CASEI('A%')"},
)
EVENTS: Final = (
    {"n": 1, "s": "abcb", "m": 3, "o": 2, "l": ["x", "y"], "p": [0.5, 0.5], "k": ["x"], "q": [0, 0, 1, 1]},
    {"s": "b", "n": 2, "m": 1, "o": 9},
    {"s": "Straße", "l": ["z"], "k": ["x"]},
    {"n": 1, "s": "axbé", "p": [9, 9], "q": [0, 0, 1, 1], "l": [], "k": []},
    {},
)


def build(records: Sequence[Mapping[str, Any]] = SUBSCRIPTIONS, index: str = "scan") -> Segment:
    segment, rejects = build_from(records, choose(index))
    assert not rejects
    return segment


def asked(snapshots: Snapshots, events: Sequence[Mapping[str, Any]] = EVENTS, k: int | None = None) -> list[tuple]:
    """(row, id, score) of each match, in the answer's order."""
    batch = encode_objects(enumerate(events), snapshots.wanted)
    found = snapshots.find(batch, None if k is None else Top(k))
    ids, scores = snapshots.ids_of(found.subscriptions), snapshots.scores_of(found.subscriptions)
    return list(zip(batch.rows[found.events].tolist(), ids.to_pylist(), scores.tolist(), strict=True))


class Damaged:
    """A segment's folder whose numbers can be changed, with checksums that fit again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_segment(build(), folder)
        self.manifest = segment_manifest(folder)

    def array(self, name: str) -> np.ndarray:
        entry = self.manifest["arrays"][name]
        data = (self.folder / "arrays.bin").read_bytes()
        kind = np.dtype(entry["dtype"])
        count = int(np.prod(entry["shape"], dtype=np.int64))
        return np.frombuffer(data, kind, count, entry["offset"]).reshape(entry["shape"]).copy()

    def put(self, name: str, array: np.ndarray) -> None:
        entry = self.manifest["arrays"][name]
        data = bytearray((self.folder / "arrays.bin").read_bytes())
        raw = array.tobytes()
        data[entry["offset"] : entry["offset"] + len(raw)] = raw
        (self.folder / "arrays.bin").write_bytes(data)
        entry["crc32"] = zlib.crc32(raw)
        self.seal()

    def seal(self) -> None:
        """Write the manifest with a checksum that fits."""
        write_manifest(self.folder / "manifest.json", self.manifest)
