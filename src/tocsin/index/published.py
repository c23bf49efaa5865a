"""Which indexes do packages publish? Entry points of the group `tocsin.indexes`: a name, and where its registration is.

    [project.entry-points."tocsin.indexes"]
    my_index = "my_package:MY_INDEX"

So come the papers' structures with tocsin, and anybody's. They are read where no built-in index has a name, and where
all are listed; nothing of tocsin imports them.
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
    """The entry points by name: where there are several of one name, none of them counts."""
    found: dict[str, list[EntryPoint]] = defaultdict(list)
    for one in entry_points(group=GROUP):
        found[one.name].append(one)
    return {name: tuple(several) for name, several in sorted(found.items())}


def published_names() -> list[str]:
    """The names that packages publish, in order. Cost: a look at the metadata of all packages, once a process."""
    return list(_published())


@cache
def published(name: str) -> Registration | None:
    """What a package registers under a name, None where none does.

    Raises `UnknownIndex` where several do, and where it cannot be loaded or is something else.
    """
    several = _published().get(name, ())
    if len(several) > 1:
        who = " and ".join(sorted(_package(one) for one in several))
        raise UnknownIndex(f"the index {name!r} is published by {who}; one of these must go, or take another name")
    if not several:
        return None
    (one,) = several
    try:
        loaded = one.load()
    except Exception as error:  # whatever a package does
        raise UnknownIndex(f"the index {name!r} of {_package(one)} cannot be loaded: {error!r:.200}") from error
    if not isinstance(loaded, Registration) or loaded.name != name:
        what = f"its entry point {one.value} is {loaded!r:.80}, and no Registration of that name"
        raise UnknownIndex(f"the index {name!r} of {_package(one)} cannot be loaded: {what}")
    return loaded


def all_published(built_in: Collection[str]) -> list[Registration]:
    """What packages register, by package and name. Warns of what cannot be loaded, or has a built-in name."""
    found = []
    for name, several in _published().items():
        try:
            if name in built_in:
                raise UnknownIndex(f"the index {name!r} of {_package(several[0])} has the name of a built-in one")
            registration = published(name)
        except UnknownIndex as error:
            warnings.warn(f"{error}; it is left out", stacklevel=2)
            continue
        if registration is not None:
            found.append((several[0].value.partition(":")[0], registration))
    return [registration for _, registration in sorted(found, key=lambda one: (one[0], one[1].name))]


def packages(built_in: Collection[str]) -> dict[Path, list[Registration]]:
    """What packages register, by the folder of each package; the papers are one."""
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
