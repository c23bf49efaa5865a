"""What a range may be, and what is said of anything else."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import math
import pickle
from typing import Any, Final

import pytest

import tocsin
from tocsin import Range
from tocsin.model.values import Instant

DAY, NEXT_DAY = dt.date(2024, 5, 31), dt.date(2024, 6, 1)
NOON: Final = dt.datetime(2024, 5, 31, 12)

MADE: Final = [
    (Range(1, 2), 1.0, 2.0),
    (Range(1, 1.5), 1.0, 1.5),
    (Range(5, 5), 5.0, 5.0),
    (Range(-(2**53), 2**53), -(2.0**53), 2.0**53),
    (Range(-1e308, 1e308), -1e308, 1e308),
    (Range(0.0, -0.0), 0.0, 0.0),
    (Range(None, 5), -math.inf, 5.0),
    (Range(-math.inf, 5), -math.inf, 5.0),
    (Range(5, None), 5.0, math.inf),
    (Range(5, math.inf), 5.0, math.inf),
    (Range(DAY, NEXT_DAY), Instant.of(DAY), Instant.of(NEXT_DAY)),
    (Range(DAY, NOON), Instant.of(DAY), Instant.of(NOON)),
    (Range(NOON, NOON), Instant.of(NOON), Instant.of(NOON)),
    (Range(Instant(-1), Instant(0)), Instant(-1), Instant(0)),
    (Range(Instant.of(DAY), NEXT_DAY), Instant.of(DAY), Instant.of(NEXT_DAY)),
    (Range(NOON, None), Instant.of(NOON), None),
    (Range(None, DAY), None, Instant.of(DAY)),
]
NO_END: Final = [(None, None), (-math.inf, math.inf), (None, math.inf), (-math.inf, None)]
REVERSED: Final = [(2, 1), (1, math.nextafter(1, 0)), (NEXT_DAY, DAY), (NOON, DAY), (Instant(1), Instant(0))]
MIXED: Final = [(1, DAY), (NOON, 2.0), (Instant(0), 5), (1, "2"), ("1", "2"), (DAY, "2024-06-01"), ("a", None)]
NO_NUMBERS: Final = [
    *((math.nan, 1), (1, math.nan), (None, math.nan), (math.nan, math.nan)),
    *((True, 2), (0, True), (False, None), (None, True)),
    *((2**53 + 1, 2**60), (0, 2**53 + 1), (-(2**60), 0), (None, 10**400)),
    *(([1], 2), (1, {}), (b"1", 2), (1 + 0j, 2), (dt.timedelta(1), dt.timedelta(2)), (dt.time(1), dt.time(2))),
]


@pytest.mark.parametrize(("made", "lo", "hi"), MADE)
def test_ends_are_numbers_or_instants(made: Range, lo: Any, hi: Any) -> None:
    """Of one type, whatever they were written as; an open end is infinite, or None among instants."""
    assert (made.lo, made.hi) == (lo, hi)
    assert (type(made.lo), type(made.hi)) == (type(lo), type(hi))
    assert made.contained is False


@pytest.mark.parametrize(("lo", "hi"), [*NO_END, *REVERSED, *MIXED, *NO_NUMBERS])
@pytest.mark.parametrize("contained", [False, True])
def test_anything_else_is_refused(lo: Any, hi: Any, contained: bool) -> None:
    """When the range is made, by the error of bad input, which says something."""
    with pytest.raises(tocsin.InvalidInput, match=r"\w"):
        Range(lo, hi, contained=contained)


@pytest.mark.parametrize(("lo", "hi"), [(math.inf, None), (math.inf, math.inf), (None, -math.inf)])
def test_an_end_at_the_wrong_infinity_is_refused(lo: Any, hi: Any) -> None:
    """No value lies beyond it."""
    with pytest.raises(tocsin.InvalidInput):
        Range(lo, hi)


@pytest.mark.parametrize(("lo", "hi"), [(2, 1), (5.5, -1)])
def test_a_reversed_range_is_told_by_both_ends(lo: float, hi: float) -> None:
    """The message says which number is above which."""
    with pytest.raises(tocsin.InvalidInput) as error:
        Range(lo, hi)

    assert f"{lo:g}" in str(error.value)
    assert f"{hi:g}" in str(error.value)


def test_contained_is_said_by_name() -> None:
    """So that a third number is no mistake that goes unseen."""
    assert Range(1, 2, contained=True).contained is True
    with pytest.raises(TypeError):
        Range(1, 2, True)  # type: ignore[misc]


def test_a_range_is_a_value() -> None:
    """Equal and of one hash by ends and kind, unchangeable, and the same after a copy and between processes."""
    one, same = Range(1, 2, contained=True), Range(1.0, 2.0, contained=True)

    assert (one, hash(one)) == (same, hash(same))
    assert len({one, same, Range(1, 2), Range(1, 3), Range(DAY, None)}) == 4
    for span in (one, Range(DAY, None), Range(None, 5)):
        assert pickle.loads(pickle.dumps(span)) == copy.deepcopy(span) == span
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.lo = 0.0  # type: ignore[misc]
