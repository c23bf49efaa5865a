"""The hot loops: Numba functions over flat arrays.

They never raise errors, because callers validate everything beforehand.
"""
