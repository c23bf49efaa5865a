"""The hot loops: Numba functions over flat arrays, and nothing else. They cannot fail: all is checked before."""
