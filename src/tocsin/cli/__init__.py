"""The command line: one module for each command. Optional packages are imported only when a command needs them."""

INTERRUPTED = 130
"""The exit status of a command that was interrupted, as shells have it."""
TERMINATED = 143
"""The exit status of a command that was asked to terminate (SIGTERM)."""
