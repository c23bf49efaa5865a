"""Which key comes twice in a JSON object? Readers keep one or the other, so we keep neither."""

from __future__ import annotations

from typing import Any


class DuplicateKey(ValueError):
    """An object has a key twice."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"the key {key[:60]!r} comes twice in one object")


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, as `json` asks for it by `object_pairs_hook`; raises `DuplicateKey`."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise DuplicateKey(first_twice(pairs))
    return made


def first_twice(pairs: list[tuple[str, Any]]) -> str:
    """The first key that comes a second time. Cost: linear."""
    seen: set[str] = set()
    return next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
