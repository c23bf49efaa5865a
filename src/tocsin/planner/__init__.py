"""Which index for which subscriptions, and why?"""

from tocsin.planner.choice import choose

__all__ = ["choose"]
