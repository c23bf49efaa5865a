"""Skype's index: a quadtree with inverted files, pruned by place, words and alpha."""

from tocsin.papers.skype.skype.index import OPTIONS, SkypeIndex

__all__ = ["OPTIONS", "SkypeIndex"]
