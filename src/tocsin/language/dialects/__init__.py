"""Rules of other systems: EventBridge and others, read into the same tree as CQL2."""

from tocsin.language.dialects.table import CQL2, DIALECTS, as_given, read_any, read_rule, read_tagged, tagged, untagged

__all__ = ["CQL2", "DIALECTS", "as_given", "read_any", "read_rule", "read_tagged", "tagged", "untagged"]
