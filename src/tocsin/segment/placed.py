"""The placement of an index's parts: its entry in the manifest, the routing keys of each part, and copies.

A part with keys is matched only against events with one of these keys (`tocsin.placement`); a part without keys against
all. A subscription may be in several parts with keys. It counts once, and if every part is asked, one copy answers.
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
    """The placement by which the parts of a version were made."""

    name: str
    partitions: int
    copies: int = 0  # copies of subscriptions in several parts, without the first ones
    splits: tuple[float, ...] = ()  # of the map, if keys are places
    places: tuple[str, ...] = ()
    file: str | None = None  # path of the file that places further subscriptions

    @classmethod
    def of(cls, placement: Placement, copies: int, file: str | None = None) -> Placed:
        """The manifest entry of a placement."""
        splits = tuple(placement.splits.tolist())
        return cls(placement.name, placement.partitions, copies, splits, placement.places, file)

    @classmethod
    def read(cls, entry: Mapping[str, Any] | None) -> Placed | None:
        """Parse a manifest entry; raises `ValueError`, `KeyError` or `TypeError` if it is invalid."""
        if entry is None:
            return None
        splits = tuple(float(split) for split in entry["splits"])
        if len(splits) & (len(splits) + 1) or not np.isfinite(splits).all():
            raise ValueError(f"{len(splits)} splits, which do not divide a map")
        places = tuple(str(place) for place in entry["places"])
        name, partitions = str(entry["name"]), whole_number(entry["partitions"])
        return cls(name, partitions, whole_number(entry["copies"]), splits, places, entry.get("file"))

    def entry(self) -> dict[str, Any]:
        """The entry for a manifest."""
        return {**self._asdict(), "splits": list(self.splits), "places": list(self.places)}


def write_placement(path: Path, placement: Placement) -> None:
    """Write the parts of a placement that are not in the manifest, atomically."""
    counts = np.array([placement.everywhere, placement.most_copies], np.int64)
    homes = {} if placement.homes is None else placement.homes._asdict()
    with aside(path) as beside, beside.open("wb") as file:
        np.savez(file, counts=counts, **homes)


def read_placement(path: Path, placed: Placed, statistics: Statistics | None) -> Placement:
    """Read a placement; raises `SegmentError` if it is damaged."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            everywhere, most_copies = stored["counts"].tolist()
            given = {name: stored[name] for name in Homes._fields if name in stored}
        homes = None if not given else Homes(**given)
        if placed.name not in PLACEMENTS or placed.partitions < 1 or everywhere < 1 or most_copies < 1:
            raise ValueError(f"{placed.partitions} partitions by {placed.name!r:.40} and {everywhere} for all events")
        if (homes is None) != (placed.name == LOCATION) or (homes is not None and not homes.lead_to(placed.partitions)):
            raise ValueError(f"its keys do not lead to {placed.partitions} partitions")
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise SegmentError(f"{path} is damaged or missing: {error}. Compile the index again.") from None
    splits, about = frozen(np.array(placed.splits, np.float64), np.float64), (everywhere, most_copies, statistics)
    return Placement(placed.name, placed.partitions, *about, homes, splits, placed.places)


class Signs(NamedTuple):
    """The routing keys of a part."""

    keys: Hashes  # ascending
    alike: float = 1.0  # most of a subscription's keywords in an event without its keys: `placement.most_alike`


def write_signs(folder: Path, signs: Signs) -> None:
    """Write the routing keys of a part that is being written."""
    with (folder / KEYS_FILE).open("wb") as file:
        np.savez(file, keys=signs.keys, alike=np.array(signs.alike))


def read_signs(folder: Path) -> Signs | None:
    """Read the routing keys of a part; None if it receives every event. Raises `SegmentError` if they are damaged."""
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
    """A router to parts by their keys, and `placement.most_alike` of each part."""
    splits, places = ((), ()) if placed is None else (placed.splits, placed.places)
    router = Router([None if one is None else one.keys for one in signs], np.array(splits, np.float64), places)
    return router, tuple(1.0 if one is None else one.alike for one in signs)


class Copies(NamedTuple):
    """The first copy of each subscription, which answers for all copies."""

    segments: list[Segment]  # with only the first copies live
    firsts: list[NDArray[np.int64]]  # per segment, (S,) the place of the first copy: `segment.ordering`


def first_copies(segments: Sequence[Segment]) -> Copies:
    """The first copy of each subscription. Cost: sorting the ids."""
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
    """For each number, the least one in its run."""
    begins = np.flatnonzero(is_first)
    if not len(begins):
        return numbers
    return np.repeat(np.minimum.reduceat(numbers, begins), np.diff([*begins.tolist(), len(numbers)]))
