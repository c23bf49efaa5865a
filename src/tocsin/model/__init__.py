"""What are an event, an expression, a subscription, a ranking, a match? Values only: no I/O, no arrays."""
