"""Indexes published by packages, as entry points of the group `tocsin.indexes`: a name and a registration.

    [project.entry-points."tocsin.indexes"]
    my_index = "my_package:MY_INDEX"

Both the papers' structures in tocsin and third-party indexes are published this way. Entry points are read if a name is
not a built-in index's, and to list all indexes. No module of tocsin imports the published packages.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tocsin.errors import UnknownIndex
from tocsin.index.protocols import Registration

GROUP: Final = "tocsin.indexes"


@cache
def _published() -> Mapping[str, tuple[EntryPoint, ...]]:
    """The entry points by name. A name with several entry points is ambiguous, and `published` refuses it."""
    found: dict[str, list[EntryPoint]] = defaultdict(list)
    for one in entry_points(group=GROUP):
        found[one.name].append(one)
    return {name: tuple(several) for name, several in sorted(found.items())}


def published_names() -> list[str]:
    """The published names, in order. Cost: reads the metadata of all packages, once a process."""
    return list(_published())


@cache
def published(name: str) -> Registration | None:
    """The registration published under a name, or None.

    Raises `UnknownIndex` if several packages publish it, if it cannot be loaded, or if it is not a `Registration` of
    that name.
    """
    several = _published().get(name, ())
    if len(several) > 1:
        who = " and ".join(sorted(_package(one) for one in several))
        raise UnknownIndex(f"the index {name!r} is published by {who}; uninstall one of them, or rename its index")
    if not several:
        return None
    (one,) = several
    try:
        loaded = one.load()
    except Exception as error:  # a package's import may raise anything
        raise UnknownIndex(f"the index {name!r} of {_package(one)} cannot be loaded: {error!r:.200}") from error
    if not isinstance(loaded, Registration) or loaded.name != name:
        what = f"its entry point {one.value} is {loaded!r:.80}, not a Registration of that name"
        raise UnknownIndex(f"the index {name!r} of {_package(one)} cannot be loaded: {what}")
    return loaded


def all_published(built_in: Collection[str]) -> list[Registration]:
    """All published registrations, by package and name. Warns of any that fails to load or has a built-in name."""
    found = []
    for name, several in _published().items():
        try:
            if name in built_in:
                raise UnknownIndex(f"the index {name!r} of {_package(several[0])} has the name of a built-in one")
            registration = published(name)
        except UnknownIndex as error:
            warnings.warn(f"{error}; tocsin ignores it", stacklevel=2)
            continue
        if registration is not None:
            found.append((several[0].value.partition(":")[0], registration))
    return [registration for _, registration in sorted(found, key=lambda one: (one[0], one[1].name))]


def packages(built_in: Collection[str]) -> dict[Path, list[Registration]]:
    """Published registrations by the folder of each package. All of tocsin's papers count as one package."""
    found: dict[Path, list[Registration]] = defaultdict(list)
    for registration in all_published(built_in):
        (one,) = _published()[registration.name]
        module = one.value.partition(":")[0].split(".")
        spec = find_spec(".".join(module[:2]) if module[0] == __package__.partition(".")[0] else module[0])
        if spec is not None and spec.origin is not None:
            found[Path(spec.origin).parent].append(registration)
    return found


def _package(one: EntryPoint) -> str:
    return f"{one.dist.name} {one.dist.version}" if one.dist is not None else one.value
