"""A structure of one's own is a layout, two kernels and a line of the registry: here a list that is looked through."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.contract.test_rankers import built as ranker_of
from tests.contract.test_rankers import check, every_query, loads
from tests.index.relaxed.test_work import all_rankings, one_of_few, points, ranges
from tests.index.relaxed.test_work import check as check_relaxed
from tests.index.scored.plain_list import plain_lists
from tocsin.index import registry
from tocsin.index.scored.tree import of_intervals


@pytest.fixture(scope="module", autouse=True)
def a_line_of_the_registry() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        line = of_intervals("plain_list", plain_lists, "nothing but a list")
        patch.setattr(registry, "_BUILT_IN", (*registry.built_in(), line))
        yield


@settings(
    suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture], max_examples=25
)
@given(load=loads())
def test_it_is_a_ranker(load):
    """It gives what the oracle does, as `best` and by cursors."""
    intervals, last = load
    ranker = ranker_of(("plain_list", {}), intervals, last)
    every = max(len(intervals), 1)

    for k in (1, every):
        check(ranker, intervals, every_query(last), k)
    for group, code in every_query(last):
        found = ranker.best(np.array([group], np.int32), np.array([code], np.int32), every)
        assert list(ranker.cursor(group, code)) == found.places.tolist()


def test_relaxed_rankings_walk_it() -> None:
    """By the threshold algorithm, as they walk the others."""
    dice = random.Random(3)
    subscriptions = ranges(dice, 400, one_of_few)

    found = check_relaxed(subscriptions, points(dice, 6), all_rankings(1, 7), rankers=["plain_list", "sopt_r_tree"])

    assert found["plain_list"].verified < found["scan"].verified
