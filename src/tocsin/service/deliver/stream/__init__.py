"""Destinations of kind `stream`: clients read the deliveries, by server-sent events and pulls, and acknowledge them."""
