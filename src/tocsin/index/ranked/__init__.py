"""Which are the best intervals that a value stabs? Five structures, one cursor each: `tree` says what they share."""
