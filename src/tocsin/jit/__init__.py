"""How Python functions become kernels: the only room that knows Numba's inside."""
