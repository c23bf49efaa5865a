"""The client that blocks, which `scripts/synchronous_client.py` makes from the one that awaits."""
