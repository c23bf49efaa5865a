"""Conditions on the places of events, indexed by attribute.

`asking` is the entry point. `places` has the places of a batch; `shapes`, `circles` and `pairs` have the conditions.
`boxes` finds the boxes around a point.
"""

from tocsin.index.places.asking import with_places

__all__ = ["with_places"]
