"""Regions with keywords that have the pair statistics of section 7 of Yu, Li et al. 2015, and the paper's four groups.

Places gather in cities. A word is a common one, drawn by Zipf, or one of its city's own. The first word of a
subscription is its city's. A long message is a concatenation of tweets, of which only the first is of its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reproduce.messages import GROUPS, MOST_KEYWORDS, Group, Subscriptions, boxes_around, message_table
from reproduce.zipfian import Floats, distinct_sets, zipfian

_MAP: Final = (-125.0, 25.0, -67.0, 49.0)
"""Degrees, left, lower, right, upper."""
_TWEET: Final = 20
"""Words of each tweet in a long message."""
_LOCATED: Final = 13 / 60
"""The share of tweets with a place, of which the map is a part; others have the words of cities elsewhere."""

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Tweets:
    """Places around cities, and words of which a share is common to all cities."""

    name: str
    vocabulary: int  # common words
    exponent: float
    common: float  # the share of common words behind the first of a subscription
    common_in_messages: float
    local_vocabulary: int = 0  # words of each city
    local_exponent: float = 0.0
    cities: int = 400
    city_exponent: float = 0.5
    spread: float = 0.2  # of a city, in degrees
    widest: float = 1.0  # of a subscription, in degrees
    widest_message: float = 28.0

    def subscriptions(self, count: int, seed: int = 1) -> Subscriptions:
        random = np.random.default_rng(seed)
        cities = zipfian(random, count, self.cities, self.city_exponent)
        regions = boxes_around(random, self._places(random, cities), self.widest)
        sizes = random.integers(1, MOST_KEYWORDS + 1, count)
        firsts = np.cumsum(sizes) - sizes
        is_local = random.random(int(sizes.sum())) >= self.common
        is_local[firsts] = True
        return Subscriptions(regions, self._words(random, sizes, np.repeat(cities, sizes), is_local))

    def messages(self, group: Group, count: int, seed: int = 2) -> pa.Table:
        random = np.random.default_rng([seed, [known.name for known in GROUPS].index(group.name)])
        cities = zipfian(random, count, self.cities, self.city_exponent)
        places = self._places(random, cities)
        sides = boxes_around(random, places, self.widest_message) if group.is_range else places
        sizes = random.integers(group.fewest, group.most + 1, count)
        is_local = random.random(int(sizes.sum())) >= self.common_in_messages
        return message_table(sides, self._words(random, sizes, self._sources(random, cities, sizes), is_local))

    def _places(self, random: np.random.Generator, cities: Numbers) -> Floats:
        """(N, 2) longitudes and latitudes; the cities are the same for every seed."""
        centres = np.random.default_rng(self.cities).uniform(_MAP[:2], _MAP[2:], (self.cities, 2))
        return centres[cities] + random.normal(0, self.spread, (len(cities), 2))

    def _sources(self, random: np.random.Generator, cities: Numbers, sizes: Numbers) -> Numbers:
        """(T,) the city of each word of messages: of each `_TWEET` words one city, of the first ones the message's."""
        starts = np.cumsum(sizes) - sizes
        tweets = -(-sizes // _TWEET)
        first_tweets = np.cumsum(tweets) - tweets
        sources = zipfian(random, int(tweets.sum()), self.cities, self.city_exponent)
        sources[random.random(len(sources)) >= _LOCATED] += self.cities
        sources[first_tweets] = cities
        turns = np.arange(int(sizes.sum())) - np.repeat(starts, sizes)
        return sources[np.repeat(first_tweets, sizes) + turns // _TWEET]

    def _words(
        self, random: np.random.Generator, sizes: Numbers, cities: Numbers, is_local: NDArray[np.bool_]
    ) -> pa.ListArray:
        """Distinct words, each common or of a city."""
        is_local = is_local & (self.local_vocabulary > 0)

        def draw(slots: Numbers) -> Numbers:
            common = zipfian(random, len(slots), self.vocabulary, self.exponent)
            if not self.local_vocabulary:
                return common
            local = zipfian(random, len(slots), self.local_vocabulary, self.local_exponent)
            return np.where(is_local[slots], self.vocabulary + cities[slots] * self.local_vocabulary + local, common)

        starts, chosen = distinct_sets(sizes, draw)
        names = pc.binary_join_element_wise("w", pc.cast(pa.array(chosen), pa.string()), "")
        return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), names)


TWEETS: Final = Tweets("tweets", 100_000, 1.0, 0.24, 0.095, local_vocabulary=1000, local_exponent=0.65)
POIS: Final = Tweets("pois", 16_000, 0.0, 1.0, 1.0)
