"""Conditions on the places of events, indexed by attribute.

`asking` is the entry point. `places` has the places of a batch; `shapes`, `circles` and `pairs` have the conditions.
`boxes` finds the boxes around a point; `gated` has the conditions that other conditions find.
"""

from tocsin.index.places.asking import with_places
from tocsin.index.places.gated import Gated, Gates, Indexed
from tocsin.index.places.places import Places

__all__ = ["Gated", "Gates", "Indexed", "Places", "with_places"]
