"""Choosing an index for subscriptions, and how events reach its parts, with reasons for the user."""

from tocsin.planner.choice import choose
from tocsin.planner.routing import LOCAL, SHUFFLE, Routed, choose_routing, routed_plan

__all__ = ["LOCAL", "SHUFFLE", "Routed", "choose", "choose_routing", "routed_plan"]
