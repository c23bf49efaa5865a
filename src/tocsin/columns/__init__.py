"""Values as arrays: batches of events, compiled expressions, and the binding of one to the other."""
