"""Regions with keywords, and messages, that the tests of segments draw: of two places, strings and numbers."""

from __future__ import annotations

import random
from typing import Any

WORDS = [f"w{number}" for number in range(20)]


def region(dice: random.Random) -> str:
    """What a subscription asks: a box around a place, one to three keywords, and at times more."""
    x, y = dice.uniform(0, 8), dice.uniform(0, 8)
    box = f"S_INTERSECTS({dice.choice('pq')}, BBOX({x:.2f}, {y:.2f}, {x + 3:.2f}, {y + 3:.2f}))"
    words = ", ".join(f"'{word}'" for word in dice.sample(WORDS, dice.randint(1, 3)))
    numbers = f" AND A_CONTAINS(m, ({dice.randint(0, 5)}))" if dice.random() < 0.2 else ""
    more = " AND n > 3" if dice.random() < 0.2 else ""
    return f"{box} AND A_CONTAINS(l, ({words})){numbers}{more}"


def message(dice: random.Random) -> dict[str, Any]:
    """An event that several of them may match."""
    return {
        **{place: [dice.uniform(0, 10), dice.uniform(0, 10)] for place in "pq"},
        "l": dice.sample([*WORDS, "unasked"], dice.randint(1, 12)),
        "m": dice.sample(range(7), 3),
        "n": dice.randint(0, 9),
    }
