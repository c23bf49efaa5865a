"""How tiles are laid, and that compacting writes what has a flag, with the processor's instruction and without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.asking import assert_alike, batch, compiled, pairs
from tocsin.index.boolean.scan import Scan
from tocsin.index.rectangles.tiles import TilesBuilder
from tocsin.index.rectangles.tiles.grids import FEWEST_TILES, TILES_A_RECTANGLE, choose_grids
from tocsin.index.rectangles.tiles.index import BATCH
from tocsin.index.rectangles.tiles.kernels import BITS
from tocsin.jit.compiling import stores
from tocsin.jit.decorators import kernel
from tocsin.kernels.compacting import AT_ONCE, write_flagged


@kernel
def compacted(numbers, flags, out, at):
    """For Python."""
    return write_flagged(numbers, flags, out, at)


def check_compacting(flags: list[bool], at: int) -> None:
    numbers = np.arange(len(flags), dtype=np.int32) * 3 - 7
    marks = np.array(flags, np.uint8)
    out = np.full(at + len(flags) + AT_ONCE, -99, np.int32)

    count = compacted(numbers, marks, out, at)

    assert count == sum(flags)
    assert out[at : at + count].tolist() == numbers[marks == 1].tolist()
    assert (out[:at] == -99).all()


@given(st.lists(st.booleans(), max_size=100), st.integers(0, 20))
def test_what_has_a_flag_is_written(flags, at):
    """In order, from a place on; nothing before it is touched."""
    check_compacting(flags, at)


@pytest.mark.skipif("x86-64-v3" not in stores.levels(), reason="levels are x86-64's")
def test_without_the_instruction_the_same_is_written(tmp_path):
    """A process that compiles for processors that have none."""
    code = (
        "from tests.index.rectangles.test_tiles import check_compacting\n"
        "for length in range(40):\n"
        "    for at in (0, 3):\n"
        "        check_compacting([(n * n + length) % 3 > 0 for n in range(length)], at)\n"
    )
    level = "x86-64-v3"
    own = {**stores.environment_of(level), "NUMBA_CACHE_DIR": str(tmp_path)}
    root = Path(__file__).parents[3]

    ran = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **own}, cwd=root, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stderr


rectangles_strategy = st.lists(
    st.tuples(st.integers(0, 4000), st.integers(0, 4000), st.integers(0, 4000), st.integers(0, 4000)),
    min_size=1,
    max_size=60,
)


@given(rectangles_strategy)
def test_every_rectangle_is_in_one_grid(drawn):
    """Of not too many tiles, and of tiles no larger than the map."""
    rectangles = np.array([[min(a, b), min(c, d), max(a, b), max(c, d)] for a, b, c, d in drawn], np.int32)

    grids = choose_grids(rectangles, (4001, 4001))

    assert sorted(place for grid in grids for place in grid.places.tolist()) == list(range(len(drawn)))
    for grid in grids:
        tiles = ((4000 >> grid.shift_x) + 1) * ((4000 >> grid.shift_y) + 1)
        assert tiles <= max(TILES_A_RECTANGLE * len(grid.places), FEWEST_TILES)


def test_flat_and_tall_rectangles_have_grids_of_their_own():
    """Tiles that suit both would be met by many; and what is found in two grids comes in order."""
    flat = [f"x BETWEEN {n % 3} AND 995 AND y BETWEEN {n % 900} AND {n % 900 + 1}" for n in range(3000)]
    tall = [f"x BETWEEN {n % 900} AND {n % 900 + 1} AND y BETWEEN {n % 3} AND 995" for n in range(3000)]
    texts = [text for two in zip(flat, tall, strict=True) for text in two]
    matcher = TilesBuilder().build(compiled(texts))
    events = batch(matcher, [{"x": n % 900 + 0.5, "y": n * 7 % 900} for n in range(200)])

    found = matcher.match(events)

    assert len(matcher.structure.shifts_x) == 2
    assert len(matcher.structure.owners) < 12 * len(texts)
    assert found.candidates_examined == len(found.subscriptions)
    assert_alike(found, Scan.build(compiled(texts)).match(events))


def test_a_box_that_lies_over_many_tiles_finds_each_once():
    """Where it has more tiles than there are rectangles, these are compared; else each is stamped."""
    texts = [f"S_INTERSECTS(p, BBOX({n % 100}, {n // 100}, {n % 100 + 3}, {n // 100 + 3}))" for n in range(5000)]
    matcher = TilesBuilder().build(compiled(texts))
    for corner in (4, 60, 200):
        found = matcher.match(batch(matcher, [{"p": [2.5, 2.5, corner, corner]}] * 3))
        expected = [
            n
            for n in range(5000)
            if n % 100 <= corner and n % 100 + 3 >= 2.5 and n // 100 <= corner and n // 100 + 3 >= 2.5
        ]
        assert pairs(found) == [(event, n) for event in range(3) for n in expected]


def test_what_a_large_tile_cannot_tell_is_compared():
    """Of more than 128 codes a side, event by event and tile by tile."""
    texts = [f"x BETWEEN {n} AND {n + 1000} AND y BETWEEN {n * 7 % 2000} AND {n * 7 % 2000 + 900}" for n in range(2000)]
    matcher = TilesBuilder().build(compiled(texts))
    assert max(matcher.structure.shifts_x.max(), matcher.structure.shifts_y.max()) > BITS
    records = [{"x": n * 37 % 3000, "y": n * 53 % 2900} for n in range(300)]

    for some in (records, records[: BATCH // 2], [*records, {"x": 5}, {}]):
        events = batch(matcher, some)
        found = matcher.match(events)
        assert found.candidates_examined == len(found.subscriptions)
        assert_alike(found, Scan.build(compiled(texts)).match(events))
