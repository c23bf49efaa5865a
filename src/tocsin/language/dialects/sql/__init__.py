"""WHERE clauses of SQL."""

from tocsin.language.dialects.sql.reading import Sql

__all__ = ["Sql"]
