"""Durable engines: the database is the truth, memory and the index folder follow it.

`opening` makes and opens folders, `engine` has the class, `changes` writes a change to both, `checkpoints` writes the
index. `current` reads a folder for commands, whether it is a durable engine's or not.
"""
