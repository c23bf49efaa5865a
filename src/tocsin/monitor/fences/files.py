"""Fences on disk as JSON lines: the options, the rules and the place of every object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple

from tocsin.errors import InvalidInput, SegmentError
from tocsin.model.fence import FenceRules, Followed, ObjectKey, Stay, Visits
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
            file.write(json.dumps([key, *state_of(visits)]) + "\n")
        for key, latest in others.items():
            file.write(json.dumps([key, latest]) + "\n")


def read_fences(path: str | Path) -> tuple[dict[str, Any], dict[ObjectKey, Visits], dict[ObjectKey, float]]:
    """The options, the objects inside subscriptions, and the times of other objects; raises `SegmentError`."""
    objects: dict[ObjectKey, Visits] = {}
    others: dict[ObjectKey, float] = {}
    lines = _parsed(path)
    head: _Head = next(lines)[1]
    for number, content in lines:
        with _as_damage(path, number):
            key, *rest = content
            if number > 1 + head.objects + head.others:
                raise ValueError
            if len(objects) < head.objects:
                objects[key] = visits_of(rest)
            else:
                (others[key],) = map(float, rest)
    if (len(objects), len(others)) != (head.objects, head.others):
        raise _damaged(path, 2 + len(objects) + len(others))
    return head.options, objects, others


def state_of(visits: Visits) -> list[Any]:
    """The state of an object as JSON has it: its latest time, its stays and its place."""
    stays = [[one, *asdict(stay).values()] for one, stay in visits.stays.items()]
    return [visits.last, stays, visits.at]


def visits_of(state: list[Any]) -> Visits:
    """The inverse of `state_of`."""
    last, stays, at = state
    own = {one: Stay(*values) for one, *values in stays}
    return Visits(own, last, at and (float(at[0]), float(at[1])))


def read_options(path: str | Path) -> dict[str, Any]:
    """The options alone; raises `SegmentError`."""
    head: _Head = next(_parsed(path))[1]
    return head.options


class _Head(NamedTuple):
    options: dict[str, Any]
    objects: int
    others: int


def _parsed(path: str | Path) -> Iterator[tuple[int, Any]]:
    """The head, then the content of each further line, with the numbers of the lines."""
    number = 0
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, 1):
                with _as_damage(path, number):
                    parsed = json.loads(line)
                    content = _head(parsed, path) if number == 1 else parsed
                yield number, content
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror or error}") from None
    if number == 0:
        raise _damaged(path, 1)


def _head(parsed: Any, path: str | Path) -> _Head:
    version = parsed["tocsin fences"]
    if version not in _READ:
        raise SegmentError(
            f"{path} is a state of fences of version {version!r:.20}, and this release reads "
            f"{' and '.join(map(str, _READ))}; use the release that wrote it, or delete it to begin anew"
        )
    followed, rules = parsed["followed"], parsed["rules"]
    Followed(**followed), FenceRules(**rules)  # raise an error for a name or a value that is not valid
    return _Head({**followed, **rules}, int(parsed["objects"]), int(parsed.get("others", 0)))


@contextmanager
def _as_damage(path: str | Path, number: int) -> Iterator[None]:
    """Convert what the content of a damaged line raises."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _damaged(path, number) from None


def _damaged(path: str | Path, number: int) -> SegmentError:
    return SegmentError(f"{path} is not a complete state of fences (line {number}); delete it to begin anew")
