"""Rules of JSON Logic."""

from tocsin.language.dialects.jsonlogic.reading import JsonLogic

__all__ = ["JsonLogic"]
