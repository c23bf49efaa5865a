"""The client that awaits, from which `scripts/synchronous_client.py` makes the one that blocks."""
