"""Random conditions and events for contract tests, from small pools, so that conditions are often TRUE."""

from __future__ import annotations

from random import Random
from typing import Any, Final

_NUMBERS: Final = (0, 1, 2, 3, 4, 5, -1, 2.5, 1e12)
_STRINGS: Final = ("", "a", "b", "ab", "abc", "Ab", "b'c", "ä")
_WORDS: Final = ("k", "l", "m")
_INSTANTS: Final = ("2026-01-01T00:00:00Z", "2026-06-01T12:30:00Z", "2027-01-01T00:00:00Z")
_NAMES: Final = {"a": _NUMBERS, "b": _NUMBERS, "c": _NUMBERS, "s": _STRINGS, "t": _STRINGS}
_OPERATORS: Final = ("=", "=", "=", "<>", "<", "<=", ">", ">=")
_DEPTH: Final = 3
REGION: Final = "S_INTERSECTS(p, BBOX(0, 0, 9, 9)) AND A_CONTAINS(l, ('k'))"
"""A condition for indexes that hold nothing else."""


def conditions(random: Random, count: int) -> list[str]:
    """Conditions in CQL2, a third of them conjunctions of comparisons, and a tenth with a region and keywords."""
    return [_condition(random, random.random()) for _ in range(count)]


def _condition(random: Random, kind: float) -> str:
    if kind < 0.1:
        return f"{REGION} AND {_tree(random, 1)}"
    if kind < 0.45:
        return " AND ".join(_comparison(random) for _ in range(random.randint(1, 4)))
    return _tree(random, random.randint(0, _DEPTH))


def _tree(random: Random, depth: int) -> str:
    if depth == 0:
        return _atom(random)
    kind = random.random()
    if kind < 0.2:
        return f"NOT ({_tree(random, depth - 1)})"
    parts = [f"({_tree(random, depth - 1)})" for _ in range(random.randint(2, 3))]
    return (" AND " if kind < 0.6 else " OR ").join(parts)


def _comparison(random: Random) -> str:
    """A comparison of an attribute with constants."""
    name = random.choice(list(_NAMES))
    first, second = (_written(random.choice(_NAMES[name])) for _ in range(2))
    kind = random.random()
    if kind < 0.2:
        return f"{name} {random.choice(('IN', 'NOT IN'))} ({first}, {second})"
    if kind < 0.4 and name not in ("s", "t"):
        return f"{name} {random.choice(('BETWEEN', 'BETWEEN', 'NOT BETWEEN'))} {first} AND {second}"
    return f"{name} {random.choice(_OPERATORS)} {first}"


def _atom(random: Random) -> str:
    """A condition of any kind."""
    if random.random() < 0.5:
        return _comparison(random)
    number, text, word = random.choice(_NUMBERS), random.choice(_STRINGS), random.choice(_WORDS)
    box = f"BBOX({random.randint(-5, 0)}, {random.randint(-5, 0)}, {random.randint(1, 9)}, {random.randint(1, 9)})"
    return random.choice(
        (
            f"{random.choice(list(_NAMES))} IS {random.choice(('', 'NOT '))}NULL",
            f"s LIKE {_written(text + '%')}",
            f"t LIKE {_written('%' + text)}",
            f"CASEI(s) = CASEI({_written(text)})",
            "a < b",
            f"a + b >= {number}",
            "f = TRUE",
            "f",
            f"A_CONTAINS(l, ('{word}'))",
            f"A_OVERLAPS(l, ('{word}', 'n'))",
            f"ANY(l, element = '{word}')",
            f"S_INTERSECTS(p, {box})",
            f"T_AFTER(d, TIMESTAMP('{random.choice(_INSTANTS)}'))",
            f"d = TIMESTAMP('{random.choice(_INSTANTS)}')",
            "TRUE",
            "FALSE",
        )
    )


def _written(value: object) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def events(random: Random, count: int) -> list[dict[str, Any]]:
    """Events of which each has some of the attributes, a few with a value of another type."""
    return [_event(random) for _ in range(count)]


def _event(random: Random) -> dict[str, Any]:
    event: dict[str, Any] = {}
    for name, pool in _NAMES.items():
        if random.random() < 0.7:
            event[name] = random.choice(pool if random.random() < 0.9 else (None, True, "1", 1, "a"))
    if random.random() < 0.5:
        event["f"] = random.random() < 0.5
    if random.random() < 0.5:
        event["d"] = random.choice(_INSTANTS)
    if random.random() < 0.7:
        event["l"] = random.sample(_WORDS, random.randint(0, 3))
    if random.random() < 0.7:
        event["p"] = [random.randint(-6, 9), random.randint(-6, 9)]
    return event
