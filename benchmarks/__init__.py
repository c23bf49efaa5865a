"""Benchmarks: rates, times and memory of tocsin. Run `make bench` or `python -m benchmarks`."""
