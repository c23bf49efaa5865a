"""Rejection of JSON objects that repeat a key. Readers disagree on which value to keep, so tocsin keeps neither."""

from __future__ import annotations

from typing import Any


class DuplicateKey(ValueError):
    """A JSON object repeats a key."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"the key {key[:60]!r} comes twice in one object")


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object; an `object_pairs_hook` for `json`. Raises `DuplicateKey`."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise DuplicateKey(first_twice(pairs))
    return made


def first_twice(pairs: list[tuple[str, Any]]) -> str:
    """The first key that is repeated. Cost: linear."""
    seen: set[str] = set()
    return next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
