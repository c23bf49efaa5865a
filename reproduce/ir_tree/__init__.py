"""An IR-tree that changes in place, as the paper says is possible. No engine and no index uses it."""

from reproduce.ir_tree.changing import LEAST_BRANCHING, ChangingIRTree

__all__ = ["LEAST_BRANCHING", "ChangingIRTree"]
