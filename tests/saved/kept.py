"""What the release before wrote here, kept to be opened: `python -m tests.saved.kept` of a checkout of it makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import tocsin

FOLDER: Final = Path(__file__).parent
TEXTS: Final = [
    "name = 'ann' AND price < 5",
    "name IN ('ann', 'bob') AND price NOT IN (1, 2)",
    "name LIKE 'a%'",
    "MATCHES(name, '^a.*n$')",
    "CASEI(name) = CASEI('ANN')",
    "A_CONTAINS(tags, ('t', 2))",
    "price * 2 + low > 10",
    "low < price",
    "NOT (price > 3 OR name IS NULL)",
    "seen > TIMESTAMP('2024-01-01T00:00:00Z')",
    "S_INTERSECTS(place, BBOX(0, 0, 2, 2)) AND price > 1",
    "S_WITHIN(place, POLYGON((0 0, 3 0, 0 3, 0 0)))",
    "DISTANCE_M(place, POINT(1 1)) <= 500",
    "TEXT(title, 'cafe \"au lait\"')",
    "ANY(items, sku = 's' AND q > 1)",
    "ACCENTI(city) = ACCENTI('Łódź')",
    "TEXT(title, 'smørrebrød')",
    "ANY(items, ACCENTI(sku) LIKE ACCENTI('ø%'))",
]
LATER_REFUSED: Final = "name LIKE 'a\\b'"
MEANT: Final = "name = 'ab'"
"""A backslash before a letter was left out, until it was refused."""
EVENTS: Final[list[dict[str, Any]]] = [
    {"name": "ann", "price": 4, "low": 3, "tags": ["t", 2], "place": [1, 1], "seen": "2024-06-01T00:00:00Z"},
    {"name": "bob", "price": 9, "title": "Café au lait, et smørrebrød", "items": [{"sku": "s", "q": 2}]},
    {"city": "Lodz", "title": "smorrebrod", "items": [{"sku": "ost", "q": 1}]},
    {"city": "Łódź", "place": [2.5, 0.2], "price": 2, "name": "Ann"},
    {"name": "ab", "price": 3},
]
BOUNDS: Final = (0.0, 0.0, 10.0, 10.0)
ASKED: Final = [
    {"id": f"u{n}", "words": [f"w{n % 5}", f"w{n % 3}"], "location": (n % 10, n // 2), "k": 1 + n % 3, "alpha": 0.4}
    for n in range(18)
]
MESSAGES: Final = [
    {"words": [f"w{n % 4}", f"w{n % 7}"], "location": (n * 7 % 10, n * 3 % 10), "key": n} for n in range(60)
]


def records() -> list[dict[str, Any]]:
    given = [{"id": n, "where": text, "score": n + 0.5, "payload": {"n": n}} for n, text in enumerate(TEXTS)]
    return [*given, {"id": len(TEXTS), "where": LATER_REFUSED, "score": 100.0}]


def window() -> tocsin.Window:
    made = tocsin.Window(20, bounds=BOUNDS)
    made.subscribe_many(ASKED)
    made.push_batch(MESSAGES[:40])
    return made


def write_store(folder: Path) -> None:
    """A durable engine and its fences, as the release whose stores have version 1 writes them."""
    with tocsin.Engine.open(folder) as engine:
        engine.subscribe("s1", "n = 1", payload={"to": 1})
        engine.subscribe("s2", "n >= 1", score=2.0)
        engine.subscribe("gone", "n = 1")
        engine.unsubscribe("gone")
        fences = tocsin.Fences.open(folder, engine, key="car")
        engine.subscribe("city", "S_INTERSECTS(at, BBOX(0, 0, 10, 10))")
        fences.push({"car": 7, "at": [5, 5]})


if __name__ == "__main__":
    engine = tocsin.Engine()
    engine.subscribe_many(records(), strict=True)
    engine.save(FOLDER / "engine")
    window().save(FOLDER / "window")
