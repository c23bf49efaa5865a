"""Workloads of the papers: generators with the parameters of their tables, and substitutes for unavailable data.

`synthetic` follows OpIndex, section 7.1 (Zhang et al. 2014): attributes and operands drawn uniformly, or both by Zipf.
`queries` stands in for the AOL query log matched against tweets or articles, `products` for eBay's item specifics.
Their numbers of attributes, skew and lengths are those that the paper reports. `intervals` has the kinds of scored
intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import tocsin
from reproduce.changing_messages import changing_messages
from reproduce.intervals import short_intervals, zipfian_intervals
from reproduce.loads import Expressions, Load, ranges, sets
from reproduce.located import messages, similar_messages
from reproduce.rectangles import rectangles
from reproduce.sliding_messages import sliding_messages
from reproduce.zipfian import attribute_sets, weighted_sets, zipfian
from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.writer import compile_conjunctions, compile_expressions
from tocsin.kernels import codes

Random = np.random.Generator


def load_of(given: dict[str, Any], of_index: set[str]) -> Load:
    """The load of some parameters; `kind` names the generator. Raises `TypeError` for an unknown parameter.

    Parameters in `of_index` are options of an index, and the generator may not know them.
    """
    kinds: dict[str, Callable[..., Load]] = {
        "synthetic": _synthetic,
        "queries": _queries,
        "products": _products,
        "normal_form": _normal_form,
        "prefixes": _prefixes,
        "zipfian_intervals": zipfian_intervals,
        "short_intervals": short_intervals,
        "rectangles": rectangles,
        "messages": messages,
        "changing_messages": changing_messages,
        "similar_messages": similar_messages,
        "sliding_messages": sliding_messages,
    }
    kind = kinds[given["kind"]]
    dropped = (of_index - set(signature(kind).parameters)) | {"kind"}
    return _cached(kind, tuple(sorted((name, value) for name, value in given.items() if name not in dropped)))


@lru_cache(2)
def _cached(kind: Callable[..., Load], given: tuple[tuple[str, Any], ...]) -> Load:
    return kind(**dict(given))


def _synthetic(
    *,
    subscriptions: int,
    attributes: int,
    predicates: int = 8,
    event_size: int = 40,
    equal: float = 0.4,
    values: int = 50,
    zipf: float = 0.0,
    events: int = 512,
    seed: int = 1,
) -> Expressions:
    """1 to `predicates` predicates on distinct attributes, operands 1 to `values`; `equal` of them `=`."""
    random = np.random.default_rng(seed)
    starts, chosen = attribute_sets(random, random.integers(1, predicates + 1, subscriptions), attributes, zipf)
    shares = (equal, (1 - equal) / 2, (1 - equal) / 2)
    operations = np.array([codes.EQUAL, codes.LESS_OR_EQUAL, codes.GREATER_OR_EQUAL], np.uint8)
    drawn = operations[random.choice(3, len(chosen), p=shares)]
    operands = zipfian(random, len(chosen), values, zipf) + 1
    compiled = compile_conjunctions(names_of(attributes), starts, chosen, drawn, operands.astype(float))
    sizes = random.integers(min(10, event_size), event_size + 1, events)
    return Expressions(compiled, _events(random, sizes, attributes, values, zipf))


def _events(
    random: Random, sizes: NDArray[np.int64], attributes: int, values: int, zipf: float
) -> list[dict[str, Any]]:
    starts, chosen = attribute_sets(random, sizes, attributes, zipf)
    drawn = zipfian(random, len(chosen), values, zipf) + 1
    return [
        {f"a{a}": v for a, v in zip(chosen[i:j].tolist(), drawn[i:j].tolist(), strict=True)}
        for i, j in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ]


def _queries(
    *, subscriptions: int, attributes: int, interval: bool, event_size: float, events: int = 512, seed: int = 1
) -> Expressions:
    """Keyword queries of 1 to 6 words (2.3 on average), as `word = 1` or as a term frequency between two numbers."""
    random = np.random.default_rng(seed)
    lengths = random.choice(np.arange(1, 7), subscriptions, p=(0.3, 0.34, 0.2, 0.1, 0.04, 0.02))
    starts, chosen = attribute_sets(random, lengths, attributes, 1.0)
    lows = random.integers(1, 6, len(chosen)).astype(float) if interval else np.ones(len(chosen))
    highs = lows + random.integers(1, 16, len(chosen)) if interval else lows
    sizes = np.clip(random.poisson(event_size, events), 1, attributes // 2)
    event_starts, words = attribute_sets(random, sizes, attributes, 1.0)
    counts = np.minimum(random.geometric(0.4, len(words)), 20) if interval else np.ones(len(words), np.int64)
    rows = _dicts(event_starts, words, counts)
    return Expressions(ranges(names_of(attributes), starts, chosen, lows, highs), rows)


_OF_SET = 3
"""Elements of a set."""


def _products(
    *,
    subscriptions: int,
    attributes: int,
    predicates: int = 8,
    event_size: int = 15,
    operator: str = "interval",
    events: int = 512,
    seed: int = 1,
) -> Expressions:
    """Conditions on attributes drawn by the logarithm of a Zipf frequency; products draw by the frequency.

    `operator` is "interval" (half of them are `=`), "equal", or "set" (`IN` with three elements).
    """
    random = np.random.default_rng(seed)
    frequency = 1e5 / np.arange(1, attributes + 1)
    weights = np.log1p(frequency)
    starts, chosen = weighted_sets(random, random.integers(1, predicates + 1, subscriptions), weights)
    lows = random.integers(1, 51, len(chosen)).astype(float)
    highs = lows + np.where(random.random(len(chosen)) < 0.5, 0, random.integers(1, 10, len(chosen)))
    steps = random.integers(1, 6, (len(chosen), _OF_SET)) if operator == "set" else np.zeros((0, 0), np.int64)
    event_starts, had = weighted_sets(random, random.integers(3, event_size + 1, events), frequency)
    rows = _dicts(event_starts, had, random.integers(1, 61, len(had)))
    names = names_of(attributes)
    if operator == "set":
        return Expressions(sets(names, starts, chosen, lows[:, None] - 1 + np.cumsum(steps, axis=1)), rows)
    return Expressions(ranges(names, starts, chosen, lows, {"interval": highs, "equal": lows}[operator]), rows)


def _normal_form(
    *,
    subscriptions: int,
    attributes: int,
    clauses: int,
    conjunctive: bool,
    predicates: int = 4,
    event_size: int = 40,
    values: int = 50,
    events: int = 512,
    seed: int = 1,
) -> Expressions:
    """1 to `clauses` clauses of 1 to `predicates` predicates each, as in section 7.6."""
    random = np.random.default_rng(seed)
    inner, outer = (codes.OPEN_OR, codes.OPEN_AND) if conjunctive else (codes.OPEN_AND, codes.OPEN_OR)
    sizes = [
        random.integers(1, predicates + 1, count).tolist() for count in random.integers(1, clauses + 1, subscriptions)
    ]
    programs, starts, leaf = [], [0], 0
    for own in sizes:
        program: list[int] = []
        for size in own:
            program += [inner, size, *(2 * (leaf + i) for i in range(size))]
            leaf += size
        programs += [outer, len(program), *program]
        starts.append(len(programs))
    _, chosen = attribute_sets(random, np.array([sum(own) for own in sizes]), attributes, 0.0)
    operations = np.array([codes.EQUAL, codes.LESS_OR_EQUAL, codes.GREATER_OR_EQUAL], np.uint8)
    drawn = operations[random.choice(3, leaf, p=(0.4, 0.3, 0.3))]
    operands = random.integers(1, values + 1, leaf).astype(float)
    compiled = compile_conjunctions(names_of(attributes), np.arange(leaf + 1), chosen, drawn, operands)
    arrays = compiled.arrays._replace(program_starts=frozen(starts, np.int64), program=frozen(programs, np.int32))
    whole = replace(compiled, arrays=arrays)
    rows = _events(random, random.integers(10, event_size + 1, events), attributes, values, 0.0)
    return Expressions(whole, rows)


def _prefixes(
    *,
    subscriptions: int,
    attributes: int,
    strings: int,
    share: float,
    length: int,
    predicates: int = 8,
    event_size: int = 40,
    events: int = 512,
    seed: int = 1,
) -> Expressions:
    """`=` on numeric attributes, and prefixes of words on `strings` further ones: section 7.7."""
    random = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(row) for row in letters[zipfian(random, 20_000 * 12, 26, 0.6).reshape(-1, 12)]]
    texts = []
    for size in random.integers(1, predicates + 1, subscriptions).tolist():
        parts = []
        for _ in range(size):
            if random.random() < share:
                parts.append(f"s{random.integers(strings)} LIKE '{words[random.integers(len(words))][:length]}%'")
            else:
                parts.append(f"a{random.integers(attributes)} = {random.integers(1, 51)}")
        texts.append(" AND ".join(dict.fromkeys(parts)))
    rows = _events(random, random.integers(10, event_size + 1, events), attributes, 50, 0.0)
    for row in rows:
        for s in random.integers(0, strings, 4).tolist():
            row[f"s{s}"] = words[random.integers(len(words))]
    return Expressions(compile_expressions(map(tocsin.parse, texts)), rows)


def names_of(attributes: int) -> list[str]:
    """The names of the attributes."""
    return pa.array([f"a{number}" for number in range(attributes)]).to_pylist()


def _dicts(starts: NDArray[np.int64], attributes: NDArray[np.int32], values: NDArray[np.int64]) -> list[dict[str, Any]]:
    return [
        {f"a{a}": v for a, v in zip(attributes[i:j].tolist(), values[i:j].tolist(), strict=True)}
        for i, j in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ]
