"""Circles on the sphere by chords: what is decided is what the haversine says, and what is close is not decided."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from tests.engine.test_distances import by_vectors, globe, metres
from tocsin.columns.arrays import frozen_table
from tocsin.kernels.areas import INSIDE, OUTSIDE, UNDECIDED
from tocsin.kernels.caps import caps, decide_caps, directions
from tocsin.language.distances import EARTH_M, FARTHEST_M, distance_m
from tocsin.model.values import Point


def state_of(centre: tuple[float, float], radius: float, point: tuple[float, float]) -> int:
    circles = frozen_table(caps(np.array([centre]), np.array([radius / EARTH_M])))
    return int(decide_caps(circles, directions(np.array([point])), np.zeros(1, np.int64), np.zeros(1, np.int64))[0])


@given(globe, globe, metres)
def test_what_is_decided_is_true(centre, point, radius):
    """By the formula of the evaluator, at the poles and the antimeridian, too."""
    exact, state = distance_m(Point(*centre), Point(*point)), state_of(centre, radius, point)

    assert state != INSIDE or exact < radius
    assert state != OUTSIDE or exact > radius
    if abs(by_vectors(centre, point) - radius) > 5 and 1 < radius < 0.999 * FARTHEST_M:
        assert state != UNDECIDED


@given(globe, globe)
def test_an_edge_is_not_decided(centre, point):
    """Nor what is as far away as the radius says."""
    assert state_of(centre, distance_m(Point(*centre), Point(*point)), point) == UNDECIDED
