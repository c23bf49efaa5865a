"""Which index for which subscriptions, and why?"""

from tocsin.planner.choice import choose
from tocsin.planner.routing import LOCAL, SHUFFLE, Routed, choose_routing, routed_plan

__all__ = ["LOCAL", "SHUFFLE", "Routed", "choose", "choose_routing", "routed_plan"]
