"""The durable engine: what was acknowledged survives."""
