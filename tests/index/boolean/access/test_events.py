"""`access` answers like `scan` on loads that strain its lists, its output room and its memory between calls."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.index.asking import Event, assert_access_is_scan, assert_alike, batch, compiled, pairs
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.writer import compile_conjunctions, compile_expressions
from tocsin.index.boolean.access import Access
from tocsin.index.boolean.access.kernels.activation import widest_activation
from tocsin.index.boolean.access.kernels.lists import SHORT
from tocsin.index.boolean.scan import Scan
from tocsin.index.elements import with_conditions
from tocsin.index.found import Room
from tocsin.kernels import codes
from tocsin.kernels.answers.ordering import DENSE
from tocsin.kernels.codes import LANES
from tocsin.kernels.programs.blocks import widest_block

VALUES: list[Any] = [-1, 0, 1, 7, 24, 24.5, 47, 48, 49, 50, 51, 199, 200, 1e9, "7", True, [7], None]
SHAPES = {
    "equality": "n = {k}",
    "at most": "n <= {k}",
    "at least": "n > {k}",
    "narrow": "n BETWEEN {k} AND {k}.5",
    "wide": "n BETWEEN {k} AND 150",
    "different": "n <> {k}",
    "equality of two": "n = {k} AND m >= 0",
    "at most of two": "n <= {k} AND m = 1",
    "at least of two": "n > {k} AND m < 3",
    "narrow of two": "n BETWEEN {k} AND {k}.5 AND m <> 9",
    "wide of two": "n BETWEEN {k} AND 150 AND NOT (m = 9)",
    "one of two types": "n = {k} AND n = '{k}'",
    "set": "n IN ({k}, 7)",
    "either": "n = {k} OR m < -{k}",
    "program under a range": "n >= {k} AND s LIKE 'a%'",
    "program under presence": "n <> {k} AND s LIKE 'a%'",
}


@pytest.mark.parametrize("count", [1, SHORT - 1, SHORT, SHORT + 1, 200])
@pytest.mark.parametrize("shape", SHAPES)
def test_lists_short_and_long(shape: str, count: int) -> None:
    """A list that is walked and a list that is searched find the same."""
    expressions = compiled(SHAPES[shape].format(k=k) for k in range(count))
    events = [{"n": n, "m": m, "s": "ab"} for n in VALUES for m in (1, -20, 9)] + [{"n": n} for n in VALUES]

    assert_access_is_scan(expressions, batch(expressions, events))


def test_lists_of_all_classes_at_once() -> None:
    """Runs of every class and width in one long list, of singles, conjunctions and programs alike."""
    rng = random.Random(7)
    texts = []
    for tail in ("", " AND m >= 1", " AND s LIKE 'a%'"):
        for k in rng.choices(range(100), k=120):
            low, high = sorted(rng.choices(range(-50, 500), k=2))
            ranges = (f"n = {k}", f"n < {k}", f"n >= {k}", f"n BETWEEN {k} AND {k + 1}", f"n BETWEEN {low} AND {high}")
            texts += [part + tail for part in (*ranges, f"NOT (n BETWEEN {low} AND {high})", f"n <> {k}")]
    expressions = compiled(texts)
    events = [{"n": n / 2, "m": n % 3, "s": "ab"[n % 2]} for n in range(-110, 1_010, 3)]

    assert_access_is_scan(expressions, batch(expressions, events))


ATOMS = (
    "n = {k}",
    "n <> {k}",
    "n > {k}",
    "n BETWEEN {k} AND {j}",
    "m <= {k}",
    "x = {k}",
    "x = 'v{k}'",
    "x = true",
    "x < DATE('2024-01-0{k}')",
    "x IS NULL",
    "x LIKE 'v%'",
    "x > 'v{k}'",
    "x IN ({k}, 'v{k}', false)",
    "CASEI(x) = 'v{k}'",
    "CASEI(s) IN ('v{k}', 'é')",
    "ACCENTI(s) = 'e{k}'",
    "CASEI(ACCENTI(s)) <= 've{k}'",
    "s = 'V{k}'",
    "s >= 'E{k}'",
    "MATCHES(CASEI(s), 'v{k}$')",
    "A_CONTAINS(l, ({k}, 'v{k}'))",
    "A_OVERLAPS(l, ({k}, 'v{j}', true))",
    "A_EQUALS(l, ({k}, {j}))",
    "A_CONTAINEDBY(l, ({k}, {j}, 'v1', 'v2'))",
    "A_OVERLAPS(l, x)",
    "A_CONTAINS(x, ('v{k}'))",
    "S_INTERSECTS(l, BBOX(0, 0, {k}, {j}))",
    "S_INTERSECTS(x, l)",
    "n + {k} > m * 2",
    "n = m",
    "n / m IS NULL",
    "(n = {k}) = (m = {j})",
    "TRUE",
)


def random_texts(rng: random.Random, count: int) -> list[str]:
    def atom() -> str:
        k, j = rng.randrange(1, 6), rng.randrange(1, 6)
        return rng.choice(["", "", "", "NOT "]) + "(" + rng.choice(ATOMS).format(k=k, j=j) + ")"

    def group(depth: int) -> str:
        parts = [group(depth - 1) if depth and rng.random() < 0.4 else atom() for _ in range(rng.randrange(1, 5))]
        return rng.choice(["", "", "NOT "]) + "(" + rng.choice([" AND ", " OR "]).join(parts) + ")"

    return [group(rng.randrange(3)) for _ in range(count)]


def random_events(rng: random.Random, count: int) -> list[Event]:
    numbers = [*range(6), 2.5, -0.0, 1e308]
    strings = ["v1", "V2", "v3x", "é", "É1", "e1", "VÉ4", "", "E5"]
    lists = [[rng.choice([1, 2, 3, "v1", "v2", True, False]) for _ in range(rng.randrange(5))] for _ in range(20)]
    places = [[1, 2], [0, 0, 3, 3], {"type": "Point", "coordinates": [1, 1]}]
    anything = [*numbers, *strings, *lists, *places, True, False, float("inf"), 2**60, "2024-01-03"]
    usual = {"n": numbers, "m": numbers, "s": strings, "x": anything, "l": [*lists, *places]}
    extra = {f"unknown{i}": i for i in range(10)}
    return [
        {
            name: rng.choice(anything if rng.random() < 0.1 else values)
            for name, values in usual.items()
            if rng.random() < 0.8
        }
        | (extra if rng.random() < 0.3 else {})
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(40))
def test_random_loads(seed: int) -> None:
    """Several types and transforms of one attribute, lists of several types, odd values, unknown attributes."""
    rng = random.Random(seed)
    expressions = compiled(random_texts(rng, rng.choice([5, 60, 400])))
    given = encode_objects(enumerate(random_events(rng, 150)), Wanted(None))

    assert_access_is_scan(expressions, given)


@pytest.mark.parametrize("room", [1, 2, 5, 63, 64, 1_000])
def test_room_that_runs_out_anywhere_loses_nothing(room: int) -> None:
    """However little room the output has, in the middle of a block or of programs, all matches come out once."""
    rng = random.Random(room)
    expressions = compiled(random_texts(rng, 150) + [f"n >= {k % 5}" for k in range(100)] + ["TRUE", "n IS NULL"])
    given = batch(expressions, random_events(rng, 200))
    expected = Scan.build(expressions).match(given)

    found = Access.build(expressions, room=Room(room, is_ample=False)).match(given)

    assert_alike(found, expected)
    assert len(found.subscriptions) > 15_000


def test_output_of_every_size_in_turn() -> None:
    """Blocks in which events match nothing, a little, and far more than the first room in turn."""
    texts = [f"n > {k}" for k in range(3_000)] + [f"n > {k} AND m = 1" for k in range(300)]
    texts += [f"n > {k} AND s LIKE 'a%'" for k in range(300)] + ["n = 1e6"] * 20_000
    expressions = compiled(texts)
    sizes = [0, 0, 1, 17, 2_000, 1_000_000, 0, 3_000]
    events = [{"n": sizes[(3 * i) % 8], "m": i % 2, "s": "a" if i % 3 else "b"} for i in range(130)]

    found = assert_access_is_scan(expressions, batch(expressions, events))

    assert len(found.subscriptions) > 400_000


def bitmap(count: int, dead: list[int]) -> NDArray[np.uint64]:
    """All alive but some."""
    bits = np.full(count // 64 + 1, ~np.uint64(0))
    for number in dead:
        bits[number // 64] &= ~(np.uint64(1) << np.uint64(number % 64))
    bits.flags.writeable = False
    return bits


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_subscriptions_that_are_gone(share: float) -> None:
    """With some subscriptions gone the answer is what it was without their matches."""
    rng = random.Random(3)
    texts = random_texts(rng, 300) + [f"n > {k % 7}" for k in range(400)] + ["TRUE", "x IS NULL"] * 5
    expressions = compiled(texts)
    dead = rng.sample(range(len(texts)), int(share * len(texts)))
    given = batch(expressions, random_events(rng, 100))

    found = assert_access_is_scan(expressions, given, bitmap(len(texts), dead))

    assert pairs(found) == [pair for pair in pairs(Access.build(expressions).match(given)) if pair[1] not in set(dead)]


def test_alive_changes_between_calls() -> None:
    """One index answers for a bitmap, for none, and for another, whichever came before."""
    expressions = compiled([f"n >= {k % 90}" for k in range(300)] + ["s LIKE 'a%' OR n = 3"] * 50)
    access = Access.build(expressions)
    given = batch(access, [{"n": n, "s": "ab"} for n in range(100)])
    first, second = bitmap(350, list(range(0, 350, 3))), bitmap(350, list(range(64, 128)))

    for alive in (first, None, second, first, bitmap(350, list(range(350))), None):
        assert_alike(access.match(given, alive), Scan.build(expressions).match(given, alive))


def test_what_is_found_by_several_keys_comes_once() -> None:
    """A cover may lead to one subscription many times; it is one match."""
    texts = [
        "n = 1 OR n = 1 OR n <= 1 OR n >= 1 OR n BETWEEN 0 AND 2",
        "n IN (1, 2, 1) OR m IN (1, 2) OR n + m = 2",
        "A_OVERLAPS(l, ('a', 'b', 1)) OR A_CONTAINS(l, ('a')) OR l IS NULL OR n = 1",
        "CASEI(s) = 'a' OR s = 'A' OR s = 'a' OR ACCENTI(s) = 'A'",
    ] * 30
    expressions = compiled(texts)
    events = [{"n": 1, "m": 1, "l": ["a", "b", 1], "s": s} for s in "aA"]

    found = assert_access_is_scan(expressions, batch(expressions, events))

    assert pairs(found) == [(event, s) for event in range(2) for s in range(120)]


def test_threads_may_share_one_index() -> None:
    """Threads with different batches get what they get alone."""
    rng = random.Random(5)
    expressions = compiled(random_texts(rng, 400) + [f"n = {k % 9} AND m > {k % 5}" for k in range(400)])
    access, scan = Access.build(expressions), Scan.build(expressions)
    batches = [batch(access, random_events(rng, 10 + 37 * i)) for i in range(8)]
    alone = [scan.match(one) for one in batches]

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(access.match, batches * 5))

    for found, expected in zip(together, alone * 5, strict=True):
        assert_alike(found, expected)
    assert all(f.candidates_examined == t.candidates_examined for f, t in zip(together, together[8:], strict=False))


@pytest.mark.parametrize("subscriptions", [0, 1, 63, 64, 65, 4_096, 4_097])
@pytest.mark.parametrize("events", [0, 1, 63, 64, 65])
def test_sizes_at_the_edges(events: int, subscriptions: int) -> None:
    """Blocks of 64 events, words of 64 subscriptions and groups of 64 words end where they end."""
    expressions = _at_the_edges(subscriptions)
    given = batch(expressions, [{"n": 2, "m": i % 3, "s": "a"} for i in range(events)])

    assert_access_is_scan(expressions, given)
    assert_access_is_scan(expressions, given, bitmap(subscriptions, list(range(0, subscriptions, 2))))


def _at_the_edges(count: int) -> CompiledExpressions:
    parts = ("n = 2", "n < 2 OR s = 'a'", "n > 1 AND m > 0", "m IS NULL")
    return compiled(parts[k % 4] if k % 64 in (0, 1, 62, 63) or k < 200 else f"n = {k}" for k in range(count))


@pytest.mark.parametrize("matches", [1, 2, 60, 4_100 // 64 // DENSE - 1, 4_100 // 64 // DENSE + 2, 4_100])
def test_few_and_many_matches_come_in_order(matches: int) -> None:
    """Whether all words are walked or only those that are set, matches come ascending, each once."""
    count = 40_000
    rng = random.Random(matches)
    chosen = set(rng.sample(range(count), matches)) | {0, count - 1}
    operands = np.array([1.0 if s in chosen else 2.0 + s for s in range(count)])
    starts, equal = np.arange(count + 1), np.full(count, codes.EQUAL, np.uint8)
    expressions = compile_conjunctions(["n"], starts, np.zeros(count, np.int32), equal, operands)
    access = Access.build(expressions)

    found = access.match(batch(access, [{"n": 1}, {"n": 5}, {}, {"n": 1}]))

    assert found.subscriptions.tolist() == sorted(chosen) + [3] * (3 not in chosen) + sorted(chosen)
    assert_alike(found, Scan.build(expressions).match(batch(access, [{"n": 1}, {"n": 5}, {}, {"n": 1}])))


def test_nothing_is_left_between_calls() -> None:
    """Small and large batches, with and without matches, answer from one index in any order as from a new one."""
    rng = random.Random(11)
    texts = random_texts(rng, 200)
    expressions = compile_expressions([])
    access, scan = Access.build(expressions), Scan.build(expressions)
    assert_alike(access.match(batch(access, [{}])), scan.match(batch(scan, [{}])))
    expressions = compiled(texts)
    access, scan = Access.build(expressions), Scan.build(expressions)

    for size in (1, 200, 0, 3, 64, 65, 1, 500, 2):
        given = batch(access, random_events(rng, size))

        assert_alike(access.match(given), scan.match(given))


def shared_lists(rng: random.Random) -> tuple[CompiledExpressions, EventBatch]:
    """Events that have the same texts, and arrays, which lie in a batch once: more is activated than it holds."""
    kinds = [
        [f"TEXT(title, 'w{n}')" for n in range(100)],
        [f"A_EQUALS(tags, ({', '.join(f'{k}' for k in range(n, 90))}, kind))" for n in range(9)],
        [f"S_INTERSECTS(p, BBOX({n}, 0, {n + 1}, 1)) AND n > {n}" for n in range(40)],
    ]
    expressions = compiled([text for own in rng.sample(kinds, rng.choice([1, 1, 3])) for text in own])
    titles = [" ".join(f"w{n}" for n in range(rng.choice([1, 30, 90]))) for _ in range(2)]
    events = [
        {"title": rng.choice(titles), "tags": [*range(5, 90), "a"], "kind": "a", "p": [0.0, 0.0, 30.0, 1.0], "n": 40}
        for _ in range(rng.choice([1, 20, 60, 150]))
    ]
    wanted = Wanted(expressions.attributes)
    return expressions, with_conditions(encode_objects(enumerate(events), wanted), wanted)


@pytest.mark.parametrize("seed", range(30))
def test_there_is_room_for_all_that_a_batch_activates(seed: int) -> None:
    """Also where nothing is counted, and where events share what they have: kernels write without looking."""
    expressions, given = shared_lists(random.Random(seed))
    access = Access.build(expressions)

    for one in (given, given.only(np.arange(1)), given):
        bound = access._binder.bind_to_walk(one)
        scratch, verifier = access._memory(one, bound)

        assert len(scratch.table.fields) >= widest_activation(access._layout.lists.fields, one.arrays, bound, LANES)
        assert len(verifier.table.block.lanes) > widest_block(one.arrays.starts, LANES)
        assert_alike(access.match(one), Scan.build(expressions).match(one))
