"""How do an index's parts lie by a placement? What its manifest says, the keys beside each part, and copies as one.

A part with keys is asked only about events that have one of them (`tocsin.placement`), a part without about all. A
subscription may lie in several parts with keys: it counts once, and where every part is asked one copy answers.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.errors import SegmentError
from tocsin.index import Statistics
from tocsin.index.alive import bitmap, living
from tocsin.placement import LOCATION, PLACEMENTS, Homes, Placement, Router
from tocsin.segment.segment import Segment
from tocsin.segment.storage import whole_number
from tocsin.writing import aside

KEYS_FILE: Final = "keys.npz"
Hashes = NDArray[np.uint64]


class Placed(NamedTuple):
    """By which placement the parts of a version were made."""

    name: str
    partitions: int
    copies: int = 0  # of subscriptions that lie in several parts: all but the first
    splits: tuple[float, ...] = ()  # of the map, where places are keys
    places: tuple[str, ...] = ()
    file: str | None = None  # where the rest of it lies, by which further subscriptions are placed

    @classmethod
    def of(cls, placement: Placement, copies: int, file: str | None = None) -> Placed:
        """What a manifest is to say of a placement."""
        splits = tuple(placement.splits.tolist())
        return cls(placement.name, placement.partitions, copies, splits, placement.places, file)

    @classmethod
    def read(cls, entry: Mapping[str, Any] | None) -> Placed | None:
        """From a manifest; raises `ValueError`, `KeyError` or `TypeError` for what none is."""
        if entry is None:
            return None
        splits = tuple(float(split) for split in entry["splits"])
        if len(splits) & (len(splits) + 1) or not np.isfinite(splits).all():
            raise ValueError(f"{len(splits)} splits, which divide no map")
        places = tuple(str(place) for place in entry["places"])
        name, partitions = str(entry["name"]), whole_number(entry["partitions"])
        return cls(name, partitions, whole_number(entry["copies"]), splits, places, entry.get("file"))

    def entry(self) -> dict[str, Any]:
        """For a manifest."""
        return {**self._asdict(), "splits": list(self.splits), "places": list(self.places)}


def write_placement(path: Path, placement: Placement) -> None:
    """Write what a manifest does not say of a placement, whole or not at all."""
    counts = np.array([placement.everywhere, placement.most_copies], np.int64)
    homes = {} if placement.homes is None else placement.homes._asdict()
    with aside(path) as beside, beside.open("wb") as file:
        np.savez(file, counts=counts, **homes)


def read_placement(path: Path, placed: Placed, statistics: Statistics | None) -> Placement:
    """The placement that was written; raises `SegmentError` for what is damaged."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            everywhere, most_copies = stored["counts"].tolist()
            given = {name: stored[name] for name in Homes._fields if name in stored}
        homes = None if not given else Homes(**given)
        if placed.name not in PLACEMENTS or placed.partitions < 1 or everywhere < 1 or most_copies < 1:
            raise ValueError(f"{placed.partitions} partitions by {placed.name!r:.40} and {everywhere} for all events")
        if (homes is None) != (placed.name == LOCATION) or (homes is not None and not homes.lead_to(placed.partitions)):
            raise ValueError(f"its keys lead to no {placed.partitions} partitions")
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise SegmentError(f"{path} is damaged or missing: {error}. Compile the index again.") from None
    splits, about = frozen(np.array(placed.splits, np.float64), np.float64), (everywhere, most_copies, statistics)
    return Placement(placed.name, placed.partitions, *about, homes, splits, placed.places)


class Signs(NamedTuple):
    """By what events visit a part."""

    keys: Hashes  # ascending
    alike: float = 1.0  # the greatest share of its keywords that an event without any may have: `placement.most_alike`


def write_signs(folder: Path, signs: Signs) -> None:
    """Write by what events visit a part that is being written."""
    with (folder / KEYS_FILE).open("wb") as file:
        np.savez(file, keys=signs.keys, alike=np.array(signs.alike))


def read_signs(folder: Path) -> Signs | None:
    """By what events visit a part; None where all do. Raises `SegmentError` for what is damaged."""
    path = folder / KEYS_FILE
    try:
        with np.load(path, allow_pickle=False) as stored:
            keys: Hashes = stored["keys"]
            alike = float(stored["alike"]) if "alike" in stored else 1.0
    except FileNotFoundError:
        return None
    except (OSError, TypeError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise SegmentError(f"{path} is damaged: {error}. Compile the index again.") from None
    if keys.dtype != np.uint64 or keys.ndim != 1 or (keys & np.uint64(1) == 0).any() or not 0 <= alike <= 1:
        raise SegmentError(f"{path} is damaged: it is of {keys.dtype} and shape {keys.shape}. Compile the index again.")
    return Signs(frozen(keys, np.uint64), alike)


def routed_by(placed: Placed | None, signs: Sequence[Signs | None]) -> tuple[Router, tuple[float, ...]]:
    """Which parts events visit, by the signs of each; and how alike to its keywords one without any may be, of each."""
    splits, places = ((), ()) if placed is None else (placed.splits, placed.places)
    router = Router([None if one is None else one.keys for one in signs], np.array(splits, np.float64), places)
    return router, tuple(1.0 if one is None else one.alike for one in signs)


class Copies(NamedTuple):
    """Which copy of a subscription answers for all of them."""

    segments: list[Segment]  # with that one alive only
    firsts: list[NDArray[np.int64]]  # a segment, (S,) the place of that one: `segment.ordering`


def first_copies(segments: Sequence[Segment]) -> Copies:
    """The first copy of each subscription. Cost: a sort of the ids."""
    alive = [living(one.alive, len(one)) for one in segments]
    ids = pa.concat_arrays([one.arrow_ids().take(pa.array(own)) for one, own in zip(segments, alive, strict=True)])
    places = np.concatenate([own | np.int64(at << 32) for at, own in enumerate(alive)])
    order = pc.sort_indices(ids).to_numpy()
    in_order = ids.take(pa.array(order))
    is_first = np.ones(len(order), bool)
    is_first[1:] = pc.not_equal(in_order[1:], in_order[:-1]).to_numpy(zero_copy_only=False)
    firsts = np.empty(len(order), np.int64)
    firsts[order] = _least_of_runs(places[order], is_first)
    kept, of_segments, begin = [], [], 0
    for at, (segment, own) in enumerate(zip(segments, alive, strict=True)):
        theirs = firsts[begin : begin + len(own)]
        begin += len(own)
        all_theirs = np.zeros(len(segment), np.int64)
        all_theirs[own] = theirs
        mask = np.zeros(len(segment), bool)
        mask[own] = theirs == own | np.int64(at << 32)
        kept.append(replace(segment, alive=frozen(bitmap(mask), np.uint64)))
        of_segments.append(all_theirs)
    return Copies(kept, of_segments)


def _least_of_runs(numbers: NDArray[np.int64], is_first: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The least number of the run that each is in."""
    begins = np.flatnonzero(is_first)
    if not len(begins):
        return numbers
    return np.repeat(np.minimum.reduceat(numbers, begins), np.diff([*begins.tolist(), len(numbers)]))
