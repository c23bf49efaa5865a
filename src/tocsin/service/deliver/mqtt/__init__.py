"""Destinations of kind `mqtt`: deliveries that the service publishes under a topic of a broker."""
