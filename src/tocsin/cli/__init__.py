"""How is it used from a shell? One file a command; the extras are imported only when a command needs them."""

INTERRUPTED = 130
"""The exit status of a command that was interrupted, as shells have it."""
