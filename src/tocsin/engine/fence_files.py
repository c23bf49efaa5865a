"""Fences on disk as JSON lines: the options, the rules and the place of every object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tocsin.errors import InvalidInput, SegmentError
from tocsin.model.fence import ObjectKey, Stay, Visits
from tocsin.writing import aside, raising_invalid_input

_VERSION: Final = 3
_READ: Final = (2, 3)
"""Version 2 has no times of objects that are in no subscription."""


def write_fences(
    path: str | Path,
    followed: Mapping[str, Any],
    rules: Mapping[str, Any],
    objects: Mapping[ObjectKey, Visits],
    others: Mapping[ObjectKey, float],
) -> None:
    """Write everything atomically."""
    with raising_invalid_input(path), aside(path) as beside, beside.open("w", encoding="utf-8") as file:
        head = {"tocsin fences": _VERSION, "followed": followed, "rules": rules}
        file.write(json.dumps({**head, "objects": len(objects), "others": len(others)}) + "\n")
        for key, visits in objects.items():
            stays = [[one, *asdict(stay).values()] for one, stay in visits.stays.items()]
            file.write(json.dumps([key, visits.last, stays, visits.at]) + "\n")
        for key, latest in others.items():
            file.write(json.dumps([key, latest]) + "\n")


def read_fences(path: str | Path) -> tuple[dict[str, Any], dict[ObjectKey, Visits], dict[ObjectKey, float]]:
    """The options, the objects inside subscriptions, and the times of other objects; raises `SegmentError`."""
    objects: dict[ObjectKey, Visits] = {}
    others: dict[ObjectKey, float] = {}
    try:
        with Path(path).open(encoding="utf-8") as file:
            head = json.loads(file.readline())
            if head["tocsin fences"] not in _READ:
                raise ValueError(f"version {head['tocsin fences']}")
            options = {**head["followed"], **head["rules"]}
            for line in file:
                key, *rest = json.loads(line)
                if len(objects) < head["objects"]:
                    last, stays, at = rest
                    own = {one: Stay(*values) for one, *values in stays}
                    objects[key] = Visits(own, last, at and (float(at[0]), float(at[1])))
                else:
                    (others[key],) = map(float, rest)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise SegmentError(f"{path} does not hold fences of this version: {error!r:.80}. Save them again.") from None
    expected = head["objects"], head.get("others", 0)
    if (len(objects), len(others)) != expected:
        held, wanted = len(objects) + len(others), sum(expected)
        raise SegmentError(f"{path} holds {held} of {wanted} objects. Save them again.")
    return options, objects, others
