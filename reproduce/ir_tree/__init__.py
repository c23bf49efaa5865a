"""Can an IR-tree change in place? The paper says so; here is one that does, which no engine and no index uses."""

from reproduce.ir_tree.changing import LEAST_BRANCHING, ChangingIRTree

__all__ = ["LEAST_BRANCHING", "ChangingIRTree"]
