"""Indexes that find all matches, for any expression of the language."""
