"""Outlines of an index: enough to route events to its parts without mapping them.

Each part has, beside it, the attributes of its subscriptions in `attributes.json`, and its routing keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from tocsin.columns.events.wanted import Wanted
from tocsin.errors import SegmentError
from tocsin.index import Part, Plan
from tocsin.language.strings import FOLDING
from tocsin.model.readings import attribute_of, reading_of
from tocsin.placement import Router
from tocsin.segment.assembling import assemble
from tocsin.segment.folder import IndexFolder
from tocsin.segment.placed import Signs, read_signs, routed_by
from tocsin.segment.refolding import folded_otherwise
from tocsin.segment.segment import Segment
from tocsin.segment.storage import (
    open_segment,
    read_manifest,
    segment_manifest,
    stored_bytes,
    write_manifest,
)

ATTRIBUTES: Final = "attributes.json"
_FORMAT: Final = "tocsin attributes"
_VERSION: Final = 1
_ASSEMBLED: Final = 5_000


@dataclass(frozen=True, slots=True)
class Outline:
    """A version of an index without its subscriptions. P parts."""

    folder: IndexFolder
    wanted: Wanted  # attributes of all parts; conditions on places only if they route to a part
    router: Router
    alike: tuple[float, ...]  # (P,) `placement.most_alike` of each part


def write_attributes(folder: Path, segment: Segment) -> None:
    """Write the attributes of a part's subscriptions beside it."""
    about = {"format": _FORMAT, "version": _VERSION, "attributes": list(segment.matcher.attributes)}
    write_manifest(folder / ATTRIBUTES, about)


@lru_cache(maxsize=4)
def outline_of(folder: IndexFolder) -> Outline:
    """The outline of a version, cached for a few versions; raises `SegmentError` if it is damaged."""
    paths = [folder.part_folder(number, whole=False) for number in range(len(folder.parts))]
    router, alike = routed_by(folder.placed, [_signs(path) for path in paths])
    names = list(dict.fromkeys(name for path in paths for name in _attributes(path)))
    return Outline(folder, Wanted(_to_be_sent_by(names, router)), router, alike)


def _signs(path: Path) -> Signs | None:
    """The routing keys of a part. None (all events) if its texts were folded differently, since its keys were, too."""
    signs = read_signs(path)
    if signs is None or segment_manifest(path).get("folding") == FOLDING:
        return signs
    return None if folded_otherwise(open_segment(path)) else signs


def _to_be_sent_by(names: list[str], router: Router) -> list[str]:
    """The attributes to send: a condition on places that routes to no part is replaced by its place."""
    asked = [name for name in names if reading_of(name).is_of_place]
    led = router.leads(asked)
    left_out = {name for name, leads in zip(asked, led.tolist(), strict=True) if not leads}
    return [attribute_of(name) if name in left_out else name for name in names]


def _attributes(path: Path) -> list[str]:
    """The attributes of a part's subscriptions. Older parts have no such file; they are opened instead."""
    if not (path / ATTRIBUTES).exists():
        return list(open_segment(path).matcher.attributes)
    names = read_manifest(path / ATTRIBUTES, _FORMAT, _VERSION).get("attributes")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SegmentError(f"{path / ATTRIBUTES} is damaged: it names no attributes. Compile the index again.")
    return names


def bytes_each(part: Part, plan: Plan) -> float:
    """Index bytes per subscription, measured on a segment of a few thousand of these."""
    some = part.only(np.arange(min(len(part), _ASSEMBLED)))
    return stored_bytes(assemble(some, plan)) / max(len(some), 1)


def bytes_of(folder: IndexFolder) -> int:
    """The bytes on disk of a version's parts, which workers memory-map.

    A missing part counts as zero; opening it reports the error.
    """
    return sum(folder.bytes_of(number) for number in range(len(folder.parts)))
