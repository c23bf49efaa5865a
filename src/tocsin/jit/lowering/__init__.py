"""Numba's passes and libraries, changed so that kernels compile faster (decision 0071)."""
