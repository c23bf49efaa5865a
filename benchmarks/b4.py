"""B4: regions with keywords. Every structure of the family, `access`, `scan` and peers (extra `peers`).

All answer the same messages, and their answers are compared. `kernel` is a structure's own time, from an encoded batch
to sorted matches. `call` is `match_batch` of the Arrow table. The peers find boxes with their trees and then compare
words. They read the same tables, because looking up the codes of words is part of matching.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from reproduce.messages import GROUPS, MOST_KEYWORDS, UNIFORM, ZIPF, Floats, Subscriptions

import tocsin
from benchmarks.calibration import median_seconds, seconds
from benchmarks.gazetteer_workload import Gazetteer
from benchmarks.messages_workload import Load
from benchmarks.rows import Row
from tocsin.columns.events.batch import EventBatch
from tocsin.engine.matching import encode_chunk
from tocsin.index import Matcher, matcher_builder, registrations
from tocsin.records import read_events

FAMILY = (
    *("token_grid", "rt_plus_plus_tree", "rt_plus_tree", "rt_tree"),
    *("inverted_r_tree", "spatial_first", "keyword_first"),
)
MESSAGES = 2048
_FEW = 64
"""The number of messages for comparing answers, and for structures that would take `_LONG_S` for all."""
_LONG_S = 2.0

Pairs = NDArray[np.int64]
"""(M, 2) messages and subscriptions, sorted."""
Search = Callable[[pa.Table], Pairs]
Tables = dict[str, pa.Table]


def rows(subscriptions: int, events: int) -> Iterator[Row]:
    """Measure with Zipfian words, with uniform words, and with real places if available."""
    for load in (ZIPF, UNIFORM, Gazetteer()):
        try:
            held = load.subscriptions(subscriptions)
        except ImportError:
            yield Row("all", load.name, "not installed", 0.0, "", "pip install 'tocsin[peers]'")
            continue
        yield from _measure(load, held, min(events, MESSAGES))


def _measure(load: Load, held: Subscriptions, events: int) -> Iterator[Row]:
    tables = {group.name: load.messages(group, events) for group in GROUPS}
    expected: dict[str, Pairs] = {}
    known = {registration.name for registration in registrations()}
    for name in [*(name for name in FAMILY if name in known), "access", "scan"]:
        yield from _ours(name, load.name, held, tables, expected)
    for name, build in PEERS.items():
        yield from _theirs(name, build, load.name, held, tables, expected)


def _ours(name: str, load: str, held: Subscriptions, tables: Tables, expected: dict[str, Pairs]) -> Iterator[Row]:
    with tocsin.Engine(name) as engine:
        report = engine.subscribe_many(held.table())
        assert not report.errors, report.errors[0].reason
        engine.merge()
        (source,) = engine._store.segments
        matcher = source.segment.matcher
        yield _built(name, load, matcher, len(held.regions))
        for group, table in tables.items():
            _hold(expected, group, name, _answered(engine, table.slice(0, _FEW)))
            asked = _enough(table, lambda few: engine.match_batch(few, threads=1))
            yield _kernel(name, load, group, matcher, _batches(engine, asked))
            rate = len(asked) / median_seconds(lambda asked=asked: engine.match_batch(asked, threads=1).table)
            yield Row(name, load, f"{group}, call", rate, "events/s")


def _built(name: str, load: str, matcher: Matcher, count: int) -> Row:
    """The time to build such a structure, after a first build that compiles."""
    builder, compiled = matcher_builder(name, {}), matcher.expressions()
    begun = time.perf_counter()
    builder.build(compiled)
    took = time.perf_counter() - begun
    parts = {part: size / count for part, size in matcher.sizes().items()}
    note = ", ".join(f"{size:.0f} bytes of {part}" for part, size in parts.items())
    return Row(name, load, "built", took, "s", f"a subscription: {note}")


def _kernel(name: str, load: str, group: str, matcher: Matcher, batches: list[EventBatch]) -> Row:
    found = [matcher.match(batch) for batch in batches]
    events = sum(len(batch) for batch in batches)
    matches = sum(len(one.subscriptions) for one in found) / events
    candidates = sum(one.candidates_examined for one in found) / events
    rate = events / median_seconds(lambda: [matcher.match(batch) for batch in batches])
    note = f"{candidates:,.1f} candidates for {matches:,.2f} matches"
    return Row(name, load, f"{group}, kernel", rate, "events/s", note)


def _theirs(
    name: str,
    build: Callable[[Subscriptions], Search],
    load: str,
    held: Subscriptions,
    tables: Tables,
    expected: dict[str, Pairs],
) -> Iterator[Row]:
    begun = time.perf_counter()
    try:
        search = build(held)
    except ImportError:
        yield Row(name, load, "not installed", 0.0, "", "pip install 'tocsin[peers]'")
        return
    yield Row(name, load, "built", time.perf_counter() - begun, "s")
    for group, table in tables.items():
        _hold(expected, group, name, search(table.slice(0, _FEW)))
        asked = _enough(table, search)
        rate = len(asked) / median_seconds(lambda asked=asked: search(asked))  # type: ignore[misc]
        yield Row(name, load, f"{group}, call", rate, "events/s", f"{len(search(asked)) / len(asked):,.2f} matches")


def _enough(table: pa.Table, ask: Callable[[pa.Table], object]) -> pa.Table:
    """All messages, or a few if all would take too long."""
    few = table.slice(0, _FEW)
    return table if seconds(lambda: ask(few)) / _FEW * len(table) < _LONG_S else few


def _hold(expected: dict[str, Pairs], group: str, name: str, pairs: Pairs) -> None:
    """Require every answer to a group to equal the first one."""
    first = expected.setdefault(group, pairs)
    assert np.array_equal(first, pairs), f"{name} finds {len(pairs)} pairs of {group}, others {len(first)}, or others"


def _answered(engine: tocsin.Engine, table: pa.Table) -> Pairs:
    answer = engine.match_batch(table, threads=1).table
    return _sorted(answer["event"].to_numpy(), pc.cast(answer["subscription"], pa.int64()).to_numpy())


def _sorted(messages: NDArray[Any], subscriptions: NDArray[Any]) -> Pairs:
    order = np.lexsort([subscriptions, messages])
    return np.stack([messages[order], subscriptions[order]], axis=1).astype(np.int64)


def _batches(engine: tocsin.Engine, table: pa.Table) -> list[EventBatch]:
    wanted = engine._store.wanted
    return [batch for chunk in read_events(table) for batch in encode_chunk(chunk, wanted)[0]]


def _boostree(held: Subscriptions) -> Search:
    """Boost's R-tree. For each message, a row of flags by word then tests the words of candidates."""
    library: Any = importlib.import_module("boostree")
    lower, upper = (np.ascontiguousarray(held.regions[:, side]) for side in (slice(2), slice(2, 4)))
    tree = library.RTree.from_boxes(lower, upper)
    vocabulary = pc.unique(held.keywords.flatten())
    none = len(vocabulary)
    sizes = pc.list_value_length(held.keywords).to_numpy()
    needed = np.full((len(sizes), MOST_KEYWORDS), none)
    needed[np.arange(MOST_KEYWORDS) < sizes[:, None]] = pc.index_in(held.keywords.flatten(), vocabulary).to_numpy()

    def search(table: pa.Table) -> Pairs:
        sides, words = _read(table)
        found, counts = tree.intersect(sides[:, :2], sides[:, 2:])
        codes = pc.fill_null(pc.index_in(words.flatten(), vocabulary), none).to_numpy()
        starts, ends = np.cumsum(counts) - counts, words.offsets.to_numpy() - words.offsets[0].as_py()
        flags, kept = np.zeros(none + 1, bool), []
        for number, (at, count) in enumerate(
            zip(starts.astype(int).tolist(), counts.astype(int).tolist(), strict=True)
        ):
            own = codes[ends[number] : ends[number + 1]]
            flags[own] = flags[none] = True
            candidates = found[at : at + count]
            kept.append(candidates[flags[needed[candidates]].all(axis=1)])
            flags[own] = False
        return _sorted(np.repeat(np.arange(len(kept)), [len(one) for one in kept]), np.concatenate(kept))

    return search


def _shapely(held: Subscriptions) -> Search:
    """shapely's STRtree, then Python's sets."""
    library: Any = importlib.import_module("shapely")
    tree = library.STRtree(library.box(*held.regions.T))
    keywords = [frozenset(words) for words in held.keywords.to_pylist()]

    def search(table: pa.Table) -> Pairs:
        sides, words = _read(table)
        is_point = (sides[:, :2] == sides[:, 2:]).all()
        messages, found = tree.query(library.points(sides[:, :2]) if is_point else library.box(*sides.T))
        said = [frozenset(one) for one in words.to_pylist()]
        pairs = zip(messages.tolist(), found.tolist(), strict=True)
        kept = np.array([(m, s) for m, s in pairs if keywords[s] <= said[m]], np.int64).reshape(-1, 2)
        return _sorted(kept[:, 0], kept[:, 1])

    return search


def _read(table: pa.Table) -> tuple[Floats, pa.ListArray]:
    """The (M, 4) boxes of messages, including points, and their words."""
    sides = table["location"].combine_chunks().flatten().to_numpy().reshape(len(table), -1)
    both = sides if sides.shape[1] == 4 else np.concatenate([sides, sides], axis=1)
    return both, table["words"].combine_chunks()


PEERS: dict[str, Callable[[Subscriptions], Search]] = {"boostree": _boostree, "shapely": _shapely}
