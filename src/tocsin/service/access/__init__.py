"""Who may make which calls: `tokens` and their file, and `authentication`, which finds the sender of a request.

What reads and writes the tokens needs no web stack, so that `tocsin token` works without it.
"""
