"""Structures from papers, one folder each, with the baselines that the paper measures.

They are plugged in like third-party indexes. Entry points (`tocsin.indexes`, in pyproject.toml) find them by name, and
no other module imports them. The parts of a paper that became the product are in `tocsin.index`.
"""
