"""Ahead-of-time compilation of all kernels: sample uses run in processes that share a kernel store."""

from tocsin.warming.processes import expected_s, is_warm, warm

__all__ = ["expected_s", "is_warm", "warm"]
