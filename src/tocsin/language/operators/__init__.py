"""What does each operator of the language do? One module for each operator or family, with all that is known of it.

`operator.py` says what a record has, `leaves.py` what a condition may be made of, and `table.py` names the records.
Parser, writer, evaluator, `explain` and compiler go over them, and know no operator by name.
"""
