"""The cache of compiled kernels, keyed by digests of their source text."""
