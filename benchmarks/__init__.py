"""How fast is it, and where does the time go? `make bench` or `python -m benchmarks`."""
