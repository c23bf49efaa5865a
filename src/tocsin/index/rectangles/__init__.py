"""Indexes of rectangles: ranges of two attributes together, and boxes on a map."""
