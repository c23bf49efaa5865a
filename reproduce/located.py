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
from reproduce.messages import GROUPS, Subscriptions
from reproduce.tweets import POIS, TWEETS, Tweets
from tocsin.columns.arrays import Texts, frozen, inverse
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.compiled import NOTHING, CompiledExpressions, expression_sizes, leaf_arrays
from tocsin.columns.payloads import string_payload
from tocsin.index import Chosen, Question, Registration, index_builder, matcher_builder, question_of
from tocsin.index.filtering import FilterAndRefine
from tocsin.index.spatial_text.alike import AlikeIndex
from tocsin.index.spatial_text.regions import Held
from tocsin.kernels import codes
from tocsin.model.ranking import Similar

LOADS = {load.name: load for load in (TWEETS, POIS)}


@dataclass(frozen=True, slots=True)
class Messages(Expressions):
    """Regions with keywords, and messages, for all matches."""

    def build(self, registration: Registration, options: Mapping[str, int]) -> Any:
        """The index is built once for all messages that it is asked about."""
        return _index_of(Identity(self.subscriptions), registration.name, tuple(sorted(options.items())))

    def nbytes(self, index: FilterAndRefine[Held]) -> int:  # type: ignore[override]
        """Bytes of the structure alone, without expressions, regions and tokens, which all structures share."""
        alike = expression_sizes(index.expressions())["structure"] + index.held.nbytes()
        return index.sizes()["structure"] - alike


@dataclass(frozen=True, slots=True)
class Similars(Expressions):
    """Regions with keywords, and messages, for all subscriptions that are similar enough."""

    ranking: Similar

    def build(self, registration: Registration, options: Mapping[str, int]) -> AlikeIndex:
        """The structure itself is built on first use, once for all messages, alphas and thresholds."""
        key = registration.name, tuple(sorted(options.items()))
        return _alike_of(Identity(self.subscriptions), question_of(self.ranking), *key)

    def ask(self, index: AlikeIndex, events: range) -> Ask:  # type: ignore[override]
        batch = self.batch(Wanted(self.subscriptions.attributes), events)
        return lambda: index.match(batch, self.ranking)


def messages(
    *, subscriptions: int, group: str, tokens: int = 0, words: str = "tweets", events: int = 512, seed: int = 1
) -> Messages:
    """Messages of one of `GROUPS`, with `tokens` words each unless that is 0; `words` names the load."""
    return Messages(_compiled(words, subscriptions, seed), drawn_messages(LOADS[words], group, tokens, events, seed))


def similar_messages(*, alpha: float, threshold: float, **given: Any) -> Similars:
    """The same for `Similar(alpha, threshold)`; words are weighted by idf (section 6)."""
    load = messages(**given)
    weights = _weights(given.get("words", "tweets"), given["subscriptions"], given.get("seed", 1))
    return Similars(load.subscriptions, load.rows, Similar(alpha, threshold, weights))


class Identity:
    """A key for caches: two are equal if they have the same expressions, not equal ones."""

    def __init__(self, expressions: CompiledExpressions) -> None:
        self.expressions = expressions

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.expressions is other.expressions

    def __hash__(self) -> int:
        return id(self.expressions)


@lru_cache(8)
def _index_of(subscriptions: Identity, name: str, options: tuple[tuple[str, int], ...]) -> Any:
    return matcher_builder(name, dict(options)).build(subscriptions.expressions)


@lru_cache(8)
def _alike_of(
    subscriptions: Identity, question: Question, name: str, options: tuple[tuple[str, int], ...]
) -> AlikeIndex:
    make = index_builder(question, Chosen(name, dict(options)))
    return AlikeIndex(subscriptions.expressions, make)


@lru_cache(1)
def _weights(words: str, count: int, seed: int) -> Mapping[str, float]:
    return tocsin.idf(pa.table({"words": drawn_subscriptions(words, count, seed).keywords}))


@lru_cache(1)
def _compiled(words: str, count: int, seed: int) -> CompiledExpressions:
    return compile_regions(drawn_subscriptions(words, count, seed))


@lru_cache(1)
def drawn_subscriptions(words: str, count: int, seed: int) -> Subscriptions:
    """Drawn once for all groups of messages."""
    return LOADS[words].subscriptions(count, seed)


def drawn_messages(load: Tweets, group: str, tokens: int, count: int, seed: int) -> list[dict[str, Any]]:
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
