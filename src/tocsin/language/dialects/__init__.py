"""Rules of other systems: EventBridge and others, read into the same tree as CQL2."""

from tocsin.language.dialects.converting import FORMS, Found, convert, converted, rules_in
from tocsin.language.dialects.table import (
    CQL2,
    DIALECTS,
    MARK,
    Read,
    as_given,
    dialect_named,
    is_tagged,
    read_any,
    read_rule,
    read_tagged,
    tagged,
)

__all__ = [
    "CQL2",
    "DIALECTS",
    "FORMS",
    "MARK",
    "Found",
    "Read",
    "as_given",
    "convert",
    "converted",
    "dialect_named",
    "is_tagged",
    "read_any",
    "read_rule",
    "read_tagged",
    "rules_in",
    "tagged",
]
