"""Predicates on two places of one event. shapely decides them, except for some of points and boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.errors import SegmentError
from tocsin.index.places.gated import Gated
from tocsin.index.places.places import Holding, Places
from tocsin.language import parse
from tocsin.language.operators.spatial import OF_SHAPES
from tocsin.model.expression import Attribute, Call
from tocsin.model.readings import reading_of
from tocsin.model.shapes import shapely


class Pairs:
    """Predicates on two attributes. C predicates."""

    boxes: None = None  # they have no places of their own

    def __init__(self, names: Sequence[str]) -> None:
        try:
            calls = [cast(Call, parse(reading_of(name).rest)) for name in names]
            self._predicates = [OF_SHAPES[call.name] for call in calls]
            self._others = [cast(Attribute, call.arguments[1]).name for call in calls]
        except (ValueError, KeyError, AttributeError) as error:
            raise SegmentError(f"a spatial predicate was changed on disk: {error}. Compile it again.") from None

    def holding(self, batch: EventBatch, places: Places, gated: Gated | None) -> Holding:
        """The predicates that hold. UNKNOWN if the other attribute is not a place."""
        unknown = np.ones((len(places.events), len(self._others)), bool)
        owners, conditions, examined = [], [], 0
        for number, (predicate, name) in enumerate(zip(self._predicates, self._others, strict=True)):
            others = Places.of(batch, name)
            _, own, of_others = np.intersect1d(places.events, others.events, return_indices=True)
            unknown[own, number] = False
            holds = own[_related(predicate, places.only(own), others.only(of_others))]
            owners.append(holds)
            conditions.append(np.full(len(holds), number))
            examined += len(own)
        return Holding(np.concatenate(owners), np.concatenate(conditions), unknown, examined)


def _related(predicate: str, ones: Places, others: Places) -> NDArray[np.int64]:
    """Which of some pairs of places fulfil one of shapely's predicates."""
    if predicate == "intersects" and not ones.are_shapes.any() and not others.are_shapes.any():
        one, other = ones.bounds, others.bounds
        return np.flatnonzero((one[:, :2] <= other[:, 2:]).all(axis=1) & (other[:, :2] <= one[:, 2:]).all(axis=1))
    holds: NDArray[np.bool_] = getattr(shapely(), predicate)(ones.geometries(), others.geometries())
    return np.flatnonzero(holds)
