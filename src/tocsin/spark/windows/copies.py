"""The partitions with copies of a subscription, by the four mechanisms of the paper.

mechanism    a subscription has copies on                                a message goes to
`hash`       the partition of its id                                     all partitions
`location`   the partition of its place                                  those of its words
`keyword`    the owners of all its words                                 the owners of its words
`prefix`     the owner of its rarest word                                those of its words

Words route to their owners, and with `location` and `prefix` also to the partitions of the subscriptions that there are
at first. A later subscription has further copies on the owners of words that do not route to its partition. In all
cases its copies receive, together, every message with one of its words. The routes never change, so this holds for the
messages in the window, too.

Paper: Wang et al. 2016 (Skype), section 7. Departs: there a prefix and a cell receive what can pass a threshold. A
message below it may be needed after an expiry, so here only a message without a common word is withheld.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.errors import InvalidInput
from tocsin.placement import HASH, LOCATION, Homes, partitions_of_leaves
from tocsin.placement.hashing import Hashes, hashes_of
from tocsin.placement.regions import leaves_under
from tocsin.spark.windows.routing import Routes, bits_of
from tocsin.window.fields import WordLists

KEYWORD: Final = "keyword"
PREFIX: Final = "prefix"
PLACEMENTS: Final = (HASH, LOCATION, KEYWORD, PREFIX)

NO_COUNTS: Final = (np.zeros(0, np.uint64), np.zeros(0, np.uint64))


class Placing(NamedTuple):
    """Places copies of subscriptions, and routes messages to them."""

    name: str
    partitions: int
    routes: Routes
    owners: Homes | None = None  # of words; by `prefix` of the rarest ones
    counts: tuple[Hashes, Hashes] = NO_COUNTS  # of words in subscriptions, for the rarest
    splits: NDArray[np.float64] = np.zeros(0)  # of the map, by location

    @property
    def is_shared(self) -> bool:
        """Whether a subscription may have several copies, of which a home merges the lists."""
        return self.routes.owners is not None and self.partitions > 1

    def copies(self, lists: WordLists, places: NDArray[np.float64], dice: NDArray[np.int64]) -> Hashes:
        """The partitions with copies of each subscription, one bit each. `dice` are hashes of the ids.

        Raises `InvalidInput` if a word has no partition: then the subscriptions are not those that were placed.
        """
        if self.name == HASH:
            return bits_of(dice % self.partitions)
        copies = np.zeros(len(lists.starts) - 1, np.uint64)
        if self.name != KEYWORD:
            homes = bits_of(self.homes(lists, places, dice))
            copies = np.where(homes & self.routes.visited(lists), homes, copies)
        return self._covered(copies, lists, dice)

    def homes(self, lists: WordLists, places: NDArray[np.float64], dice: NDArray[np.int64]) -> NDArray[np.int64]:
        """The partition of each subscription by its place, or by its rarest word; the first one without a word."""
        if self.name == LOCATION:
            leaves = leaves_under(self.splits, np.tile(places, 2))
            _, firsts = np.unique(leaves.owners, return_index=True)
            return partitions_of_leaves(leaves.leaves[firsts], self.splits, self.partitions)
        assert self.owners is not None
        homes, rarest = np.zeros(len(lists.starts) - 1, np.int64), rarest_words(lists, *self.counts)
        filled = np.flatnonzero(rarest >= 0)
        hashes = hashes_of(lists.distinct)
        homes[filled] = self.owners.of(hashes[rarest[filled]], dice[filled].view(np.uint64))
        return homes

    def _covered(self, copies: Hashes, lists: WordLists, dice: NDArray[np.int64]) -> Hashes:
        """Add copies on owners of words until each word of a subscription routes to one of its copies."""
        masks, hashes = self.routes.of_words(lists.distinct), hashes_of(lists.distinct)
        lengths = np.diff(lists.starts)
        for place in range(int(lengths.max(initial=0))):
            has = np.flatnonzero(lengths > place)
            words = lists.numbers[lists.starts[has] + place]
            lacks = (masks[words] & copies[has]) == 0
            if not lacks.any():
                continue
            if self.routes.owners is None:
                raise InvalidInput("the subscriptions changed between the call and the first micro-batch; start again")
            rows, words = has[lacks], words[lacks]
            copies[rows] |= bits_of(self.routes.owners.of(hashes[words], dice[rows].view(np.uint64)))
        return copies


def rarest_words(lists: WordLists, words: Hashes, counts: Hashes) -> NDArray[np.int64]:
    """The rarest word of each record, a place in `distinct`; -1 without words. `words` ascend."""
    rarest, hashes = np.full(len(lists.starts) - 1, -1, np.int64), hashes_of(lists.distinct)
    filled = np.flatnonzero(np.diff(lists.starts))
    if len(filled):
        known = np.zeros(len(hashes), np.uint64)
        if len(words):
            places = np.minimum(np.searchsorted(words, hashes), len(words) - 1)
            known = np.where(words[places] == hashes, counts[places], known)
        order = np.lexsort((hashes, known))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        rarest[filled] = order[np.minimum.reduceat(rank[lists.numbers], lists.starts[filled])]
    return rarest


def words_led(lists: WordLists, copies: Hashes) -> tuple[Hashes, Hashes]:
    """The words of some subscriptions, and the partitions with their copies, one bit each."""
    masks = np.zeros(len(lists.distinct), np.uint64)
    np.bitwise_or.at(masks, lists.numbers, np.repeat(copies, np.diff(lists.starts)))
    return hashes_of(lists.distinct), masks


def one_copy_each(copies: Hashes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The owner and the partition of each copy, by owner."""
    bits = (copies[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    owners, partitions = np.nonzero(bits)
    return owners, partitions
