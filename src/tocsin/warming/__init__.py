"""How is everything compiled ahead? By using it: samples of all uses, in processes that share a store of kernels."""

from tocsin.warming.processes import expected_s, is_warm, warm

__all__ = ["expected_s", "is_warm", "warm"]
