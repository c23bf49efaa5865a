"""A simulation of a cluster, from measured costs, checked against real runs."""
