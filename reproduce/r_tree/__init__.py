"""An R-tree with insertion and deletion, as in the VCR paper; the one of engines is packed."""
