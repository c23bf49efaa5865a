"""Workloads of regions with keywords: messages at a point or in a box, as in section 7 of Yu, Li et al. 2015.

A subscription is a box and 1 to 5 words. A message is short (6 to 20 words) or long (100 to 1000), at a point or in a
box. The paper's tweets are not available. Here places lie around cities, a tenth of them anywhere, and words are drawn
by Zipf. The size of boxes gives matches of the paper's order of magnitude. For 10 million, the paper has 142 (short
point), 243 (long point), 431 (short range) and 912 (long range); here they are 70, 440, 250 and 1,530. With independent
Zipfian words, short and long messages differ more than the paper's tweets. `UNIFORM` has words like the paper's second
set, POIs and publications.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reproduce.zipfian import Floats, attribute_sets

MOST_KEYWORDS: Final = 5
_DIGITS: Final = 6
"""Degrees are rounded to a tenth of a metre."""


class Group(NamedTuple):
    """One of the paper's four groups of messages."""

    name: str
    fewest: int
    most: int
    is_range: bool


GROUPS: Final = (
    Group("short point", 6, 20, False),
    Group("long point", 100, 1000, False),
    Group("short range", 6, 20, True),
    Group("long range", 100, 1000, True),
)


class Subscriptions(NamedTuple):
    """The regions and keywords of subscriptions. N subscriptions."""

    regions: Floats  # (N, 4) left, lower, right, upper
    keywords: pa.ListArray  # (N,) distinct strings

    def table(self) -> pa.Table:
        """The same subscriptions as a user writes them: `id` and `where`."""
        edges = [pc.cast(pa.array(side), pa.string()) for side in self.regions.T]
        box = pc.binary_join_element_wise(*edges, ", ")
        words = pc.binary_join(self.keywords, "', '")
        where = pc.binary_join_element_wise(
            "S_INTERSECTS(location, BBOX(", box, ")) AND A_CONTAINS(words, ('", words, "'))", ""
        )
        return pa.table({"id": pa.array(range(len(where)), pa.int64()), "where": where})


@dataclass(frozen=True)
class Drawn:
    """Words from a vocabulary, Zipfian or uniform (exponent 0); places around cities, boxes of random widths."""

    name: str
    vocabulary: int
    exponent: float
    cities: int = 50
    spread: float = 0.5  # of a city, in degrees
    widest: float = 0.48  # of a subscription, in degrees
    widest_message: float = 0.44
    anywhere: float = 0.1

    def subscriptions(self, count: int, seed: int = 1) -> Subscriptions:
        random = np.random.default_rng(seed)
        regions = boxes_around(random, self._places(random, count), self.widest)
        return Subscriptions(regions, self._words(random, random.integers(1, MOST_KEYWORDS + 1, count)))

    def messages(self, group: Group, count: int, seed: int = 2) -> pa.Table:
        random = np.random.default_rng([seed, [one.name for one in GROUPS].index(group.name)])
        places = self._places(random, count)
        sides = boxes_around(random, places, self.widest_message) if group.is_range else places
        return message_table(sides, self._words(random, random.integers(group.fewest, group.most + 1, count)))

    def _places(self, random: np.random.Generator, count: int) -> Floats:
        """(count, 2) longitudes and latitudes; the cities are the same for every seed."""
        cities = np.random.default_rng(self.cities).uniform([-150, -60], [150, 60], (self.cities, 2))
        places = cities[random.integers(self.cities, size=count)] + random.normal(0, self.spread, (count, 2))
        away = random.random(count) < self.anywhere
        places[away] = random.uniform([-180, -90], [180, 90], (int(away.sum()), 2))
        return np.round(places, _DIGITS)

    def _words(self, random: np.random.Generator, sizes: NDArray[np.int64]) -> pa.ListArray:
        starts, chosen = attribute_sets(random, sizes, self.vocabulary, self.exponent)
        names = pa.array([f"w{number}" for number in range(self.vocabulary)])
        return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), names.take(pa.array(chosen)))


def joined(first: Subscriptions, second: Subscriptions) -> Subscriptions:
    """Subscriptions behind others."""
    return Subscriptions(
        np.concatenate([first.regions, second.regions]), pa.concat_arrays([first.keywords, second.keywords])
    )


def boxes_around(random: np.random.Generator, places: Floats, widest: float) -> Floats:
    """(N, 4) boxes around places, with a width and height of up to `widest` degrees each."""
    reach = np.round(random.uniform(0, widest / 2, places.shape), _DIGITS)
    return np.round(np.concatenate([places - reach, places + reach], axis=1), _DIGITS)


def message_table(sides: Floats, words: pa.ListArray) -> pa.Table:
    """Messages from their (N, 2) points or (N, 4) boxes, and their words."""
    starts = np.arange(len(sides) + 1, dtype=np.int32) * sides.shape[1]
    location = pa.ListArray.from_arrays(pa.array(starts), pa.array(sides.reshape(-1)))
    return pa.table({"location": location, "words": words})


ZIPF: Final = Drawn("zipf", 100_000, 1.0)
UNIFORM: Final = Drawn("uniform", 2_000, 0.0)
"""So few words that a short message finds subscriptions (3, 250, 13, 880 of 10 million); the paper gives no number."""
