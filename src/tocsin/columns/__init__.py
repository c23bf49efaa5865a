"""How do values become arrays? Batches of events, compiled expressions, and how one is bound to the other."""
