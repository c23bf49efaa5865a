"""The operators of the language: one module for each operator or family.

`operator.py` defines the record that each operator has, `leaves.py` the leaves that conditions are compiled to, and
`table.py` lists the records. The parser, writers, evaluator, `explain` and compiler work on the records and name no
operator.
"""
