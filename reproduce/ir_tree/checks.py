"""Checks of the input of a changing IR-tree: one interval per owner and group, in range, with a finite score."""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tocsin.errors import InvalidInput
from tocsin.index.scored.intervals import HIGHEST_CODE

_OWNERS = np.iinfo(np.int32)


def domain_of(last: ArrayLike) -> NDArray[np.int64]:
    """The highest code of each group. Raises `InvalidInput` if it is not possible."""
    given = whole("last", last).astype(np.int64)
    for group in np.flatnonzero((given < 0) | (given > HIGHEST_CODE))[:1].tolist():
        raise InvalidInput(f"the highest code of group {group} is {given[group]}; it must be 0 to {HIGHEST_CODE}")
    return given


def check_interval(last: NDArray[np.int64], group: int, low: int, high: int, score: float, owner: int) -> None:
    """Raises `InvalidInput` if the interval cannot be inserted."""
    check_group(last, group)
    if low > high:
        raise InvalidInput(f"the interval is [{low}, {high}]; its first code must not be above its last: swap them")
    if low < 0 or high > last[group]:
        raise InvalidInput(
            f"the interval [{low}, {high}] reaches beyond the codes of group {group}, which are 0 to {last[group]}; "
            "cut it off there, or make a tree over more codes"
        )
    check_score(score)
    if not _OWNERS.min <= owner <= _OWNERS.max:
        raise InvalidInput(f"the owner is {owner}; it must be {_OWNERS.min} to {_OWNERS.max}")


def check_intervals(
    last: NDArray[np.int64],
    groups: NDArray[np.int64],
    lows: NDArray[np.int64],
    highs: NDArray[np.int64],
    scores: NDArray[np.float64],
    owners: NDArray[np.int64],
) -> None:
    """Raises `InvalidInput` for the first of many intervals that cannot be inserted."""
    bad = (groups < 0) | (groups >= len(last)) | (lows < 0) | (lows > highs) | ~np.isfinite(scores)
    bad |= (owners < _OWNERS.min) | (owners > _OWNERS.max)
    bad[~bad] = highs[~bad] > last[groups[~bad]]
    for i in np.flatnonzero(bad)[:1].tolist():
        check_interval(last, int(groups[i]), int(lows[i]), int(highs[i]), float(scores[i]), int(owners[i]))


def check_group(last: NDArray[np.int64], group: int) -> None:
    """Raises `InvalidInput` for an unknown group."""
    if not 0 <= group < len(last):
        raise InvalidInput(f"there is no group {group}; there are {len(last)}, numbered from 0")


def check_holder(last: NDArray[np.int64], group: int, owner: int) -> None:
    """Raises `InvalidInput` for an unknown group, or an impossible owner."""
    check_group(last, group)
    if not _OWNERS.min <= owner <= _OWNERS.max:
        refuse_unknown(group, owner)


def check_score(score: float) -> None:
    """Raises `InvalidInput` for a score that is not finite."""
    if not math.isfinite(score):
        raise InvalidInput(f"the score of an interval is {score}; it must be finite")


def check_distinct(groups: NDArray[np.int64], owners: NDArray[np.int64]) -> None:
    """Raises `InvalidInput` if an owner occurs twice in a group."""
    pairs = groups << 32 | owners & (2**32 - 1)
    order = np.argsort(pairs, kind="stable")
    for i in np.flatnonzero(pairs[order][1:] == pairs[order][:-1])[:1].tolist():
        second = order[i + 1]
        raise InvalidInput(
            f"owner {owners[second]} comes twice in group {groups[second]}; an owner has one interval in a group"
        )


def refuse_taken(group: int, owner: int) -> NoReturn:
    """Raises `InvalidInput` for an owner that has an interval already."""
    raise InvalidInput(
        f"owner {owner} has an interval in group {group} already; delete() it first, or rescore() it where only the "
        "score is another"
    )


def refuse_unknown(group: int, owner: int) -> NoReturn:
    """Raises `InvalidInput` for an owner that has no interval."""
    raise InvalidInput(f"owner {owner} has no interval in group {group}; insert() one first")


def whole(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """A column of integers. Raises `InvalidInput` for other values."""
    column = np.asarray(values)
    if column.ndim != 1 or (len(column) and column.dtype.kind not in "iu"):
        raise InvalidInput(f"{name} are {column.dtype} in {column.ndim} dimensions; give a list of whole numbers")
    return column.astype(np.int64)


def check_lengths(*columns: NDArray[np.generic]) -> None:
    """Raises `InvalidInput` for columns of different lengths."""
    if len({len(column) for column in columns}) > 1:
        raise InvalidInput(f"columns have {[len(column) for column in columns]} rows; they must have as many each")
