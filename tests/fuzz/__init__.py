"""Fuzzing: inputs that nobody would write, from inputs that somebody would. `python -m tests.fuzz`, or `make fuzz`."""
