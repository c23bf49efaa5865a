"""Lists of a column become sets: short ones, of which there are most, like others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.columns.events.store import ValueStore
from tocsin.columns.events.vectors import add_lists
from tocsin.kernels import codes

kinds = st.sampled_from([codes.NUMBER, codes.BOOLEAN, codes.STRING])
elements = st.tuples(kinds, st.integers(-3, 3))


@pytest.mark.parametrize("longest", [1, 2, 3, 5])
def test_sets_of_lists(longest):
    """Each list's elements by type, then payload, each once, as Python sorts them."""

    @given(st.lists(st.lists(elements, max_size=longest), min_size=1, max_size=9))
    def holds(lists):
        owners = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
        flat = [element for one in lists for element in one]
        types = np.array([kind for kind, _ in flat], np.uint8)
        payloads = np.array([payload for _, payload in flat], np.int64)
        store = ValueStore()
        numbers = add_lists(np.ones(len(lists), bool), owners, types, payloads, store)
        expected = [sorted(set(one)) for one in lists]

        assert numbers.tolist() == [*range(len(lists))]
        flat_sets = [*zip(store.list_types, store.list_payloads, strict=True)]
        ends = np.cumsum(store.list_lengths).tolist()
        assert [flat_sets[end - size : end] for end, size in zip(ends, store.list_lengths, strict=True)] == expected

    holds()
