"""A single R^t-tree with insertion and deletion, for the figures."""
