"""Kernels of a memory: exact sums, entries of cells, values and when they change, and events and time passing."""
