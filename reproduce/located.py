"""Workloads for structures of regions with keywords: for all matches, or all sufficiently similar subscriptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import tocsin
from reproduce.loads import Ask, Expressions
from reproduce.messages import GROUPS, UNIFORM, ZIPF, Drawn, Subscriptions
from tocsin.columns.arrays import Texts, frozen, inverse
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.compiled import NOTHING, CompiledExpressions, expression_sizes, leaf_arrays
from tocsin.columns.payloads import string_payload
from tocsin.index import Chosen, Registration, index_builder, question_of
from tocsin.index.filtering import FilterAndRefine
from tocsin.index.spatial_text.alike import AlikeIndex
from tocsin.index.spatial_text.regions import Held
from tocsin.kernels import codes
from tocsin.model.ranking import Similar

LOADS = {load.name: load for load in (ZIPF, UNIFORM)}


@dataclass(frozen=True, slots=True)
class Messages(Expressions):
    """Regions with keywords, and messages, for all matches."""

    def nbytes(self, index: FilterAndRefine[Held]) -> int:  # type: ignore[override]
        """Bytes of the structure alone, without expressions, regions and tokens, which all structures share."""
        alike = expression_sizes(index.expressions())["structure"] + index.held.nbytes()
        return index.sizes()["structure"] - alike


@dataclass(frozen=True, slots=True)
class Similars(Expressions):
    """Regions with keywords, and messages, for all subscriptions that are similar enough."""

    ranking: Similar

    def build(self, registration: Registration, options: Mapping[str, int]) -> AlikeIndex:
        """The structure itself is built on first use."""
        make = index_builder(question_of(self.ranking), Chosen(registration.name, options))
        return AlikeIndex(self.subscriptions, make)

    def ask(self, index: AlikeIndex, events: range) -> Ask:  # type: ignore[override]
        batch = self.batch(Wanted(self.subscriptions.attributes), events)
        return lambda: index.match(batch, self.ranking)


def messages(
    *, subscriptions: int, group: str, tokens: int = 0, words: str = "zipf", events: int = 512, seed: int = 1
) -> Messages:
    """Messages of one of `GROUPS`, with `tokens` words each unless that is 0; `words` names the distribution."""
    held = drawn_subscriptions(words, subscriptions, seed)
    return Messages(compile_regions(held), drawn_messages(LOADS[words], group, tokens, events, seed))


def similar_messages(*, alpha: float, threshold: float, **given: Any) -> Similars:
    """The same for `Similar(alpha, threshold)`; words are weighted by idf (section 6)."""
    load = messages(**given)
    held = drawn_subscriptions(given.get("words", "zipf"), given["subscriptions"], given.get("seed", 1))
    weights = tocsin.idf(pa.table({"words": held.keywords}))
    return Similars(load.subscriptions, load.rows, Similar(alpha, threshold, weights))


@lru_cache(1)
def drawn_subscriptions(words: str, count: int, seed: int) -> Subscriptions:
    """Drawn once for all groups of messages."""
    return LOADS[words].subscriptions(count, seed)


def drawn_messages(load: Drawn, group: str, tokens: int, count: int, seed: int) -> list[dict[str, Any]]:
    """Messages as dicts, with `tokens` words each unless that is 0."""
    (asked,) = (one for one in GROUPS if one.name == group)
    if tokens:
        asked = asked._replace(fewest=tokens, most=tokens)
    rows: list[dict[str, Any]] = load.messages(asked, count, seed + 1).to_pylist()
    return rows


def compile_regions(held: Subscriptions) -> CompiledExpressions:
    """Conjunctions of `S_INTERSECTS(location, BBOX(...))` and `A_CONTAINS(words, (...))`, in columns. Cost: linear.

    Leaf 2 i is the box of subscription i, leaf 2 i + 1 its keywords.
    """
    count = len(held.regions)
    vocabulary, payloads = _strings(held.keywords)
    starts = held.keywords.offsets.to_numpy().astype(np.int64)
    owners = np.repeat(np.arange(count), np.diff(starts))
    leaves = leaf_arrays(
        2 * count,
        kinds=np.tile([codes.INTERSECTS, codes.ARRAY_SET], count),
        types=np.tile([codes.GEOMETRY, codes.LIST], count),
        operations=np.tile([0, codes.CONTAINS], count),
        attributes=np.tile([0, 1], count),
        others=np.repeat(np.arange(count), 2),
    )
    arrays = NOTHING.arrays._replace(
        program_starts=frozen(2 * np.arange(count + 1), np.int64),
        program=frozen(2 * np.arange(2 * count), np.int32),
        set_starts=frozen(starts, np.int64),
        set_types=frozen(np.full(len(owners), codes.STRING), np.uint8),
        set_payloads=frozen(payloads[np.lexsort((payloads, owners))], np.int64),
        boxes=frozen(held.regions, np.float64),
        **leaves,
    )
    whole = replace(NOTHING, arrays=arrays, attributes=["location", "words"], vocabulary=vocabulary)
    return whole.with_attributes(2)


def _strings(keywords: pa.ListArray) -> tuple[Texts, NDArray[np.int64]]:
    """The sorted vocabulary, and the payload of each keyword."""
    encoded = keywords.flatten().cast(pa.large_string()).dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    numbers = inverse(order)[encoded.indices.to_numpy()]
    return Texts.of_arrow(encoded.dictionary.take(order)), np.asarray(string_payload(numbers), np.int64)
