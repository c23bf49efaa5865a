"""Which boolean expressions does this event satisfy? Structures for any expression of the language."""
