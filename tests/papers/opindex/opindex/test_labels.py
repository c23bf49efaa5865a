"""Labels are in the order of their values, with room beside each, whatever the order of arrival."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tocsin.papers.opindex.opindex.labels import Labels, NoLabel


@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled"])
def test_labels_are_in_the_order_of_values(order: str) -> None:
    """Labels differ by four at least, so that there is a number just before and just after each."""
    values = list(range(800))
    if order == "shuffled":
        random.Random(1).shuffle(values)
    labels = Labels([-1, 5000] if order != "shuffled" else ())
    given = {value: labels.of(value) for value in (values if order != "descending" else values[::-1])}

    assert all(given[value] + 4 <= given[value + 1] for value in range(799))
    assert [labels.of(value) for value in range(800)] == [given[value] for value in range(800)]
    assert all(low < high for low, high in pairwise(labels.of_rank_codes().tolist()))


def test_no_label_is_left_after_halving_too_often() -> None:
    """The caller is told, and what has labels keeps them."""
    labels, low, high = Labels([0.0, 1.0]), 0.0, 1.0
    with pytest.raises(NoLabel):
        for number in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if number % 2 else (low, middle)
            labels.of(middle)

    assert len(labels) > 10
    assert labels.of(1.0) > labels.of(0.5) > labels.of(0.25) > labels.of(0.0)
