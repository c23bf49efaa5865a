"""Placement of subscriptions in partitions, and routing of events to the partitions that may match them, by keys."""

from tocsin.placement.assigning import HASH, LOCATION, PLACEMENTS, Assignment, Homes, Placement, partitions_of_leaves
from tocsin.placement.choosing import LOCAL, SHUFFLE, Routed, choose_routing, routed_plan
from tocsin.placement.covers import most_alike
from tocsin.placement.dealing import Dealt, dealt, dealt_late
from tocsin.placement.planning import AUTO, Profile, check_placement, homes_of, placement_of, splits_of
from tocsin.placement.reporting import PlacementReport, Planned, key_set, keys_of_partitions, planned, report_of
from tocsin.placement.routing import Router

__all__ = [
    "AUTO",
    "HASH",
    "LOCAL",
    "LOCATION",
    "PLACEMENTS",
    "SHUFFLE",
    "Assignment",
    "Dealt",
    "Homes",
    "Placement",
    "PlacementReport",
    "Planned",
    "Profile",
    "Routed",
    "Router",
    "check_placement",
    "choose_routing",
    "dealt",
    "dealt_late",
    "homes_of",
    "key_set",
    "keys_of_partitions",
    "most_alike",
    "partitions_of_leaves",
    "placement_of",
    "planned",
    "report_of",
    "routed_plan",
    "splits_of",
]
