"""The HTTP service, over real connections."""
