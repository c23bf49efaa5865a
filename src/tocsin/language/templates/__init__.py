"""Templates: texts that differ only in names and constants share one parse.

Among a million subscriptions there are usually only a few forms of text. One regular expression cuts a text into the
words of `tokens.py`. Names, strings, numbers and shapes are *slots*; keywords, functions and everything between words
form the *skeleton*. The first text of a skeleton is parsed with a placeholder in each slot; later texts only have their
values read. This is sound because only the skeleton decides the shape of the tree. The few rules about values, such as
exact numbers and valid patterns, are checked again for each text. Any doubtful text has no template and goes to
`parse`.
"""

from tocsin.language.templates.filling import Instance, Template
from tocsin.language.templates.placeholders import (
    FIRST_INSTANT,
    MARK,
    SHAPE_PLACEHOLDER,
    Scalar,
    Values,
    placeholder,
    sample,
    slot_of,
    slots_of_name,
)
from tocsin.language.templates.templates import Templates

__all__ = [
    "FIRST_INSTANT",
    "MARK",
    "SHAPE_PLACEHOLDER",
    "Instance",
    "Scalar",
    "Template",
    "Templates",
    "Values",
    "placeholder",
    "sample",
    "slot_of",
    "slots_of_name",
]
