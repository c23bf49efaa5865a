"""Whom does a message reach? Everyone who shares a word with it is scored: the baseline of its family."""

from tocsin.papers.skype.inverted_file.index import InvertedFileIndex

__all__ = ["InvertedFileIndex"]
