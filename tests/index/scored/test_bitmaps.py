"""A bitmap is a set of numbers, whatever is put in and taken out, with as many levels as its size takes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.index.scored.sopt_r_tree.bitmaps import first_from, insert, last_until, new_bitmap, remove
from tocsin.jit.decorators import kernel

INSERT: Final = 0
REMOVE: Final = 1
FIRST: Final = 2
LAST: Final = 3
SIZES: Final = (0, 1, 2, 63, 64, 65, 127, 128, 4095, 4096, 4097, 262_143, 262_144, 262_145, 20_000_000)


@kernel
def _run(held: Any, actions: Any, numbers: Any, out: Any) -> None:
    for i in range(len(actions)):
        if actions[i] == INSERT:
            insert(held, numbers[i])
        elif actions[i] == REMOVE:
            remove(held, numbers[i])
        elif actions[i] == FIRST:
            out[i] = first_from(held, numbers[i])
        else:
            out[i] = last_until(held, numbers[i])


def run(count: int, actions: list[int], numbers: list[int]) -> list[int]:
    """What each search gives, one after the other; 0 for what is no search."""
    out = np.zeros(len(actions), np.int64)
    _run(new_bitmap(count), np.array(actions, np.int64), np.array(numbers, np.int64), out)
    return out.tolist()


def run_naive(actions: list[int], numbers: list[int]) -> list[int]:
    """The same with a set, and a look at all of it."""
    held: set[int] = set()
    out = []
    for action, number in zip(actions, numbers, strict=True):
        given = 0
        if action == INSERT:
            held.add(number)
        elif action == REMOVE:
            held.discard(number)
        elif action == FIRST:
            given = min((one for one in held if one >= number), default=-1)
        else:
            given = max((one for one in held if one <= number), default=-1)
        out.append(given)
    return out


@pytest.mark.parametrize("count", [size for size in SIZES if size])
@given(data=st.data())
def test_a_bitmap_is_a_set(count: int, data: st.DataObject) -> None:
    """What is in already may be put in, what is not may be taken out; searches begin in it, beside it and far off."""
    edges = [near for edge in (0, 64, 128, 4096, 262_144, count) for near in (edge - 1, edge, edge + 1)]
    number = st.one_of(st.integers(0, count - 1), st.sampled_from([one for one in edges if 0 <= one < count]))
    pool = data.draw(st.lists(number, min_size=1, max_size=6))
    drawn = data.draw(
        st.lists(st.tuples(st.integers(0, 3), st.one_of(st.sampled_from(pool), number)), min_size=1, max_size=60)
    )
    actions, numbers = (list(column) for column in zip(*drawn, strict=True))

    assert run(count, actions, numbers) == run_naive(actions, numbers)


@pytest.mark.parametrize("count", [size for size in SIZES if 0 < size < 5000])
@pytest.mark.parametrize("share", [0.002, 0.1, 0.9, 1.0])
def test_every_search_of_a_set(count: int, share: float) -> None:
    """From every number, in sets that are sparse, dense and full, and again once most is gone."""
    random = np.random.default_rng(count)
    some = random.permutation(count)[: max(1, int(share * count))].tolist()
    gone = some[: len(some) * 9 // 10]
    searches = [(action, number) for number in range(count) for action in (FIRST, LAST)]
    steps = [(INSERT, one) for one in some] + searches + [(REMOVE, one) for one in gone] + searches
    actions, numbers = (list(column) for column in zip(*steps, strict=True))

    found = np.array(run(count, actions, numbers))

    for held, at in ((some, len(some)), (some[len(gone) :], len(some) + len(searches) + len(gone))):
        ordered, every = np.sort(held), np.arange(count)
        after, before = np.searchsorted(ordered, every), np.searchsorted(ordered, every, "right") - 1
        firsts = np.where(after < len(ordered), np.append(ordered, -1)[after], -1)
        lasts = np.where(before >= 0, ordered[before], -1)
        assert found[at : at + 2 * count].reshape(-1, 2).tolist() == np.stack([firsts, lasts], axis=1).tolist()


@pytest.mark.parametrize("count", SIZES)
def test_nothing_is_in_an_empty_set(count: int) -> None:
    """Nor in one that all has been taken out of: every word is 0 again."""
    ends = [0, count - 1] if count else []
    held = new_bitmap(count)
    actions = [INSERT] * len(ends) + [REMOVE] * len(ends) + [FIRST, LAST]
    out = np.zeros(len(actions), np.int64)
    _run(held, np.array(actions, np.int64), np.array([*ends, *ends, 0, max(count - 1, 0)], np.int64), out)

    assert out[-2:].tolist() == [-1, -1]
    assert not held.words.any()


@pytest.mark.parametrize("count", SIZES)
def test_nothing_lies_behind_the_last_or_before_the_first(count: int) -> None:
    """Searches may begin one beyond either end."""
    ends = [(INSERT, 0), (INSERT, count - 1)] if count else []
    actions, numbers = (list(column) for column in zip(*ends, (FIRST, count), (LAST, -1), strict=True))

    assert run(count, actions, numbers)[-2:] == [-1, -1]


def test_levels_are_as_few_as_can_be() -> None:
    """A bit a word of the level below, up to one word."""
    sizes = (0, 1, 64, 65, 4096, 4097, 262_144, 262_145)

    assert [len(new_bitmap(size).starts) for size in sizes] == [1, 1, 1, 2, 2, 3, 3, 4]
    assert [len(new_bitmap(size).words) for size in sizes[:6]] == [1, 1, 1, 3, 65, 65 + 2 + 1]
