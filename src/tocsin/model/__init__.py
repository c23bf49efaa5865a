"""Events, expressions, subscriptions, rankings and matches. Values only: no I/O, no arrays."""
