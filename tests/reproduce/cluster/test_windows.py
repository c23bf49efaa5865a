"""The measured work of windows on partitions says what a placement does, and the model shares it out."""

from __future__ import annotations

import pytest
from reproduce.cluster.windows import SPARK_S, Work, busiest, measured


@pytest.mark.parametrize(
    ("times", "executors", "expected"),
    [([3.0, 1.0, 2.0, 2.0], 2, 4.0), ([3.0, 1.0], 100, 3.0), ([], 4, 0.0), ([1.0] * 5, 2, 3.0)],
)
def test_the_busiest_executor(times: list[float], executors: int, expected: float) -> None:
    """The largest pieces first, each to the least busy one."""
    assert busiest(times, executors) == expected


def test_homes_cost_a_second_operator() -> None:
    """And their work; the time of Spark is not shortened by executors."""
    one, two = Work(1, 1, 1, 0.5, [2.0, 2.0], []), Work(1, 1, 1, 0.5, [2.0, 2.0], [1.0, 1.0])

    assert one.seconds(2) == SPARK_S + 2.5
    assert two.seconds(2) == 2 * SPARK_S + 3.5
    assert two.seconds(2, 0.0) == 3.5


def test_placements_differ_as_they_say() -> None:
    """By hash a message goes everywhere and there is one copy; by keyword there are more copies and fewer visits."""
    works = {name: measured(name, 4, 40, 60) for name in ("hash", "keyword", "prefix", "location")}

    assert {name: work.copies for name, work in works.items() if name != "keyword"} == dict.fromkeys(
        ("hash", "prefix", "location"), 1.0
    )
    assert works["keyword"].copies > 1
    assert works["hash"].visits == 4
    assert max(work.visits for name, work in works.items() if name != "hash") <= 4
    assert bool(works["keyword"].homes)
    assert not works["prefix"].homes
