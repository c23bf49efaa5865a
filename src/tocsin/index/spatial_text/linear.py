"""The exact linear baseline for similarity: every subscription is a candidate."""

from __future__ import annotations

import numpy as np

from tocsin.columns.arrays import frozen, frozen_table, starts_of
from tocsin.index.spatial_text.kernels.resembling import Everyone, Weighed
from tocsin.index.spatial_text.regions import Held


def build_everyone(held: Held, weighed: Weighed) -> Everyone:
    """The subscriptions at each place."""
    members = [held.members(place) for place in range(held.places)]
    starts = starts_of([len(own) for own in members], len(members))
    return frozen_table(Everyone(starts, frozen(np.concatenate([np.empty(0, np.int32), *members]), np.int32)))
