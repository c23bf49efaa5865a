"""Which region-and-keyword subscriptions does this message satisfy, or resemble enough? One folder a structure."""
