"""A plain inverted file for windows, a baseline that scores every subscription that shares a word."""

from tocsin.papers.skype.inverted_file.index import InvertedFileIndex

__all__ = ["InvertedFileIndex"]
