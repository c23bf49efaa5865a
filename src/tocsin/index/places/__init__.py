"""Which conditions about places does an event fulfil? All that are asked of an attribute's places, indexed.

`asking` is the way in; `places` is what a batch has, `shapes`, `circles` and `pairs` what is asked of it; `boxes` finds
what is around a point.
"""

from tocsin.index.places.asking import with_places

__all__ = ["with_places"]
