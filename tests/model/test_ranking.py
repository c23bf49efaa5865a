"""What a ranking takes, and how it refuses the rest."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tocsin

SUBSCRIPTIONS = [{"id": "a", "where": "n > 1"}, {"id": "b", "where": "n > 2"}]


@pytest.mark.parametrize("kind", [tocsin.Top, tocsin.Relaxed])
@pytest.mark.parametrize(
    ("k", "said"),
    [
        (0, "k is 0; it must be at least 1"),
        (-3, "k is -3; it must be at least 1"),
        ("5", "k is '5'; it must be an integer"),
        (2.0, "k is 2.0; it must be an integer"),
        (True, "k is True; it must be an integer"),
        (None, "k is None; it must be an integer"),
        (10**20, "it must be at most 2\\*\\*53"),
    ],
)
def test_what_is_no_k_is_refused(kind: Any, k: Any, said: str) -> None:
    with pytest.raises(tocsin.InvalidInput, match=said):
        kind(k)


@pytest.mark.parametrize("kind", [tocsin.Top, tocsin.Relaxed])
@pytest.mark.parametrize("k", [np.int64(1), np.uint8(1), 1])
def test_every_integer_is_a_k(kind: Any, k: Any) -> None:
    """NumPy's, too; it becomes Python's."""
    ranking = kind(k)

    assert (ranking, type(ranking.k)) == (kind(1), int)
    assert pickle.loads(pickle.dumps(ranking)) == ranking
    assert len(tocsin.match(SUBSCRIPTIONS, [{"n": 3}], ranking=ranking)) == 1


@pytest.mark.parametrize("kind", [tocsin.Top, tocsin.Relaxed])
def test_more_than_there_are_are_all(kind: Any) -> None:
    assert len(tocsin.match(SUBSCRIPTIONS, [{"n": 3}], ranking=kind(2**53))) == 2
