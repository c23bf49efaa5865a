"""Queries of MongoDB: the filter documents of `find`."""

from tocsin.language.dialects.mongodb.queries import MongoDB

__all__ = ["MongoDB"]
