"""Check of the window demo: all deals scored one by one for a subscription, and all changes played back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tocsin.demo.orders import BOUNDS, Deal, Wish, words_of

Weights = Mapping[str, float]


def best(wish: Wish, deals: Sequence[Deal], weights: Weights) -> list[tuple[str, float]]:
    """The keys and scores of the best deals, best first; ties go to the later deal."""
    scored = ((score(wish, deal, weights), number) for number, deal in enumerate(deals))
    found = sorted((one for one in scored if one[0] is not None), reverse=True)
    return [(deals[number].key, float(value or 0.0)) for value, number in found[: wish.k]]


def score(wish: Wish, deal: Deal, weights: Weights) -> float | None:
    """Place and words, as `tocsin.Window` defines them; None without a common word."""
    wanted, words = words_of(wish.text), words_of(deal.text)
    common = wanted & words
    if not common:
        return None
    left, lower, right, upper = BOUNDS
    spatial = 1.0 - _length(wish.location[0] - deal.place[0], wish.location[1] - deal.place[1]) / _length(
        right - left, upper - lower
    )
    norms = math.sqrt(_squared(wanted, weights)) * math.sqrt(_squared(words, weights))
    textual = min(_squared(common, weights) / norms, 1.0)
    return wish.alpha * spatial + (1.0 - wish.alpha) * textual


def played_back(changes: pa.Table, results: pa.Table) -> bool:
    """Whether replaying all enter and exit changes from an empty window gives `results`."""
    names = ["subscription", "message"]
    pairs = [_numbered(changes[name]) for name in names]
    step = pc.if_else(pc.equal(changes["kind"].cast(pa.string()), "enter"), 1, -1)
    summed = pa.table([*(one.indices for one in pairs), step], names=[*names, "step"]).group_by(names)
    left = summed.aggregate([("step", "sum")]).filter(pc.field("step_sum") != 0)
    if left.num_rows and pc.min_max(left["step_sum"]).as_py() != {"min": 1, "max": 1}:
        return False
    there = (one.dictionary.take(left[name].combine_chunks()) for one, name in zip(pairs, names, strict=True))
    return _pairs(there) == _pairs(results[name] for name in names)


def _numbered(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Strings as dictionary codes, which take a fraction of the memory when they are summed."""
    kind = pa.dictionary(pa.int32(), pa.string())
    plain = column.dictionary_encode().unify_dictionaries()
    return pa.concat_arrays(plain.chunks) if plain.num_chunks else pa.array([], kind)


def _pairs(columns: Iterable[Any]) -> set[tuple[str, str]]:
    return set(zip(*(column.to_pylist() for column in columns), strict=True))


def _length(dx: float, dy: float) -> float:
    return math.sqrt(dx * dx + dy * dy)


def _squared(words: Iterable[str], weights: Weights) -> float:
    """The sum of the squared weights, from the smallest up, exactly as the window adds them."""
    total = 0.0
    for square in sorted(weights[word] * weights[word] for word in words):
        total += square
    return total
