"""Which rectangles cover this point? Structures for ranges of two attributes together, and for boxes on a map."""
