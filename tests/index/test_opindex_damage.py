"""What an OpIndex saves it loads again; what is damaged is refused, or harmless: never a crash."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.index.asking import assert_alike, batch, compiled
from tests.index.test_opindex_changes import EVENTS, TEXTS
from tocsin.index.boolean.opindex import OpIndex

OWN = ("fields", "prefixes", "directory", "entries", "counters", "options")
HARMLESS = {"counters.needed", "counters.owners", "counters.clauses", "counters.bitmap_owners", "fields.operands"}
"""Arrays of numbers nearly any of which could be meant: another one gives other answers, and nothing worse."""

PARTLY = {
    "fields.starts",
    "fields.kinds",
    "fields.operand_starts",
    "prefixes.starts",
    "prefixes.text",
    "entries.keys",
    "entries.pointers",
}
"""Arrays where another number within bounds could be meant."""


def saved(options: tuple[int, int] = (4, 64)) -> tuple[OpIndex, dict[str, np.ndarray]]:
    index = OpIndex.build(compiled(TEXTS), None, *options)
    return index, {name: array.copy() for name, array in index.arrays().items()}


def own_names() -> list[str]:
    return [name for name in saved()[1] if name.split(".")[0] in OWN]


@pytest.mark.parametrize("options", [(32, 64), (1, 0), (3, 7)])
def test_a_loaded_index_answers_like_the_built_one(options):
    """Options included."""
    index, arrays = saved(options)
    loaded = OpIndex.load(arrays)

    assert_alike(loaded.match(batch(index, EVENTS)), index.match(batch(index, EVENTS)))
    assert loaded.places() == index.places()
    assert all(np.array_equal(loaded.arrays()[name], array) for name, array in arrays.items())
    assert loaded.sizes() == index.sizes()


def test_an_empty_index_is_saved_and_loaded():
    index = OpIndex.build(compiled([]))
    loaded = OpIndex.load(index.arrays())

    assert len(loaded) == len(loaded.match(batch(index, EVENTS)).subscriptions) == 0


@pytest.mark.parametrize("name", own_names())
def test_another_type_or_shape_is_refused(name):
    """Each array must be what its readers expect."""
    _, arrays = saved()
    for other in (arrays[name].astype(np.float64), arrays[name].reshape(1, -1)):
        with pytest.raises(ValueError):
            OpIndex.load(arrays | {name: other})
    with pytest.raises(KeyError):
        OpIndex.load({one: array for one, array in arrays.items() if one != name})


@pytest.mark.parametrize("name", own_names())
def test_one_more_or_one_less_is_refused(name):
    """Each array must be as long as the others say."""
    _, arrays = saved()
    array = arrays[name]
    longer = [np.concatenate([array, array[-1:] if len(array) else np.zeros(1, array.dtype)])]
    shorter = [array[:-1], array[1:]] if len(array) > 1 else []
    if name == "prefixes.text":
        longer = [np.concatenate([array, np.full(1, 0xFF, np.uint8)])]
    for other in longer + shorter:
        with pytest.raises(ValueError):
            OpIndex.load(arrays | {name: other})


@pytest.mark.parametrize("name", own_names())
def test_another_number_is_refused_or_harmless(name):
    """Any number in any place: `ValueError`, or an index that answers within its bounds."""
    index, arrays = saved()
    rng = random.Random(name)
    given = batch(index, EVENTS)
    limits = np.iinfo(arrays[name].dtype)
    refused = tried = 0
    for _ in range(60 if len(arrays[name]) else 0):
        damaged = arrays[name].copy()
        at = rng.randrange(len(damaged))
        near = int(damaged[at]) + rng.choice([-2, -1, 1, 2, 7])
        damaged[at] = rng.choice([max(limits.min, min(limits.max, near)), limits.min, limits.max, 0, len(damaged)])
        if damaged[at] == arrays[name][at]:
            continue
        tried += 1
        try:
            found = OpIndex.load(arrays | {name: damaged}).match(given)
        except ValueError:
            refused += 1
        else:
            assert ((found.subscriptions >= 0) & (found.subscriptions < len(index))).all()

    assert refused == tried or name in HARMLESS or (refused > 0 and name in PARTLY)
