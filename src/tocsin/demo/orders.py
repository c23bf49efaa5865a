"""Messages and subscriptions of the window demo: orders of an office store as nearby deals, and people who want them.

The orders come from the package `bokeh-sampledata`, the places of their postal codes from `zipcodes`. The orders have
neither product names nor dates. A deal is described by its category, price and shipping, and deals come in file order.
The subscriptions are synthetic: a draw takes words of one order and the place of another, so frequent words and large
cities have many subscriptions. The same seed draws the same ones.
"""

from __future__ import annotations

import importlib.util
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv

from tocsin.errors import missing_extra, needing

BOUNDS: Final = (-125.0, 24.0, -66.0, 50.0)
"""The 48 states that contain all the orders."""

K: Final = 10
ALPHAS: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
SPREAD_DEGREES: Final = 0.3
"""The spread of subscribers around the middle of a postal code: about 30 km."""

_FILE: Final = "_data/SampleSuperstore.csv*"
"""Compressed or not, depending on the version of the package."""

_WORD: Final = re.compile("[a-z0-9]+")
_PRICES: Final = (5, 25, 100, 500)


@dataclass(frozen=True, slots=True)
class Deal:
    """An order as a message. `text` begins with the sub-category and category of the goods; `place` is in degrees."""

    key: str
    text: str
    city: str
    place: tuple[float, float]

    def __str__(self) -> str:
        return f"{self.text}; {self.city}"


@dataclass(frozen=True, slots=True)
class Wish:
    """A subscription: what is wanted, near which place, and the weight of the place."""

    id: str
    text: str
    city: str
    location: tuple[float, float]
    k: int
    alpha: float

    @property
    def near(self) -> str:
        """The place, in words."""
        return f"near {self.city}; the weight of the place is {self.alpha:g}"

    def __str__(self) -> str:
        return f"{self.id}: {self.text}, {self.near}"


def orders(limit: int | None = None) -> list[Deal]:
    """The orders, or the first `limit` ones, in file order, without those whose postal code is unknown.

    Raises `MissingExtra` if a package is missing.
    """
    places = _Places()
    deals = []
    for row, order in enumerate(_rows()[:limit], start=1):
        place = places.of(order["Postal Code"].zfill(5))
        if place is not None:
            city = f"{order['City']}, {order['State']}"
            deals.append(Deal(f"order-{row:04}", _told(order), city, place))
    return deals


def table(deals: Sequence[Deal]) -> pa.Table:
    """The messages in the form that a window takes, with their cities."""
    return pa.table(
        {
            "key": [deal.key for deal in deals],
            "text": [deal.text for deal in deals],
            "city": [deal.city for deal in deals],
            "location": pa.array([list(deal.place) for deal in deals], pa.list_(pa.float64())),
        }
    )


def words_of(text: str) -> set[str]:
    """The words of a deal or a wish. For these simple texts the window makes the same words."""
    return set(_WORD.findall(text.lower()))


def draw(deals: Sequence[Deal], count: int, seed: int) -> list[Wish]:
    """Draw subscriptions: the words of an order, or some of them, near the place of another order."""
    chance = random.Random(seed)
    left, lower, right, upper = BOUNDS
    wishes = []
    for number in range(count):
        like, near = chance.choice(deals), chance.choice(deals)
        kind, _, *others = like.text.split(", ")
        text = ", ".join([kind, *chance.sample(others, chance.randint(0, 2))])
        x = min(max(chance.gauss(near.place[0], SPREAD_DEGREES), left), right)
        y = min(max(chance.gauss(near.place[1], SPREAD_DEGREES), lower), upper)
        wishes.append(Wish(f"wish-{number:05}", text, near.city, (x, y), K, chance.choice(ALPHAS)))
    return wishes


def _rows() -> list[dict[str, Any]]:
    """The orders in the package's file, read without pandas and without importing the package."""
    package = importlib.util.find_spec("bokeh_sampledata")
    files = [] if package is None or package.origin is None else sorted(Path(package.origin).parent.glob(_FILE))
    if not files:
        raise missing_extra("demo", "bokeh_sampledata is not installed")
    codes = pyarrow.csv.ConvertOptions(column_types={"Postal Code": pa.string()})
    rows: list[dict[str, Any]] = pyarrow.csv.read_csv(files[0], convert_options=codes).to_pylist()
    return rows


def _told(order: dict[str, Any]) -> str:
    """The description of an order; the price is that of one piece, before the discount."""
    price = order["Sales"] / order["Quantity"] / (1 - order["Discount"])
    band = next((f"under {limit} dollars" for limit in _PRICES if price < limit), f"over {_PRICES[-1]} dollars")
    off = [f"{order['Discount'] * 100:.0f}% off"] if order["Discount"] else []
    return ", ".join([order["Sub-Category"], order["Category"], *off, band, order["Ship Mode"]])


class _Places:
    """Longitude and latitude of postal codes."""

    def __init__(self) -> None:
        with needing("demo"):
            import zipcodes
        self._find = zipcodes.matching
        self._known: dict[str, tuple[float, float] | None] = {}

    def of(self, code: str) -> tuple[float, float] | None:
        """The place of a code; None if it is unknown."""
        if code not in self._known:
            found = self._find(code)
            self._known[code] = (float(found[0]["long"]), float(found[0]["lat"])) if found else None
        return self._known[code]
