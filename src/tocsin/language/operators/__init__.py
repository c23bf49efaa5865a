"""The operators of the language: one module for each operator or family.

`operator.py` is the record that each has, `leaves.py` what a condition is compiled to, and `table.py` lists the
records. Parser, writers, evaluator, `explain` and compiler go over them, and name no operator.
"""
