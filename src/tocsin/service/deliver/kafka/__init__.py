"""Destinations of kind `kafka`: deliveries that the service produces as records of a topic."""
