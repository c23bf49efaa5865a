"""Versions by semver.org's own rules of precedence, as nested tuples."""

from __future__ import annotations

import re
from functools import total_ordering

_OFFICIAL = re.compile(
    r"^(?P<major>0|[1-9]\d*)\.(?P<minor>0|[1-9]\d*)\.(?P<patch>0|[1-9]\d*)"
    r"(?:-(?P<prerelease>(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+(?P<buildmetadata>[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?\Z",
    re.ASCII,
)
"""The expression that semver.org suggests."""


@total_ordering
class Version:
    """A version; those that differ in build metadata alone are equal."""

    def __init__(self, numbers: tuple[int, ...], before: str | None) -> None:
        parts = () if before is None else tuple(map(_part, before.split(".")))
        self.key = (numbers, before is None, parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.key == other.key

    def __lt__(self, other: Version) -> bool:
        return self.key < other.key

    __hash__ = None  # type: ignore[assignment]


def _part(text: str) -> tuple[int, int, str]:
    return (0, int(text), "") if text.isdigit() else (1, 0, text)


def version(text: object) -> Version | None:
    """A version; null for what is none."""
    found = _OFFICIAL.match(text) if isinstance(text, str) else None
    if found is None:
        return None
    return Version(tuple(int(found[name]) for name in ("major", "minor", "patch")), found["prerelease"])
