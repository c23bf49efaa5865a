"""An R-tree that grows and shrinks one rectangle at a time, as the VCR paper's did: an engine's are packed."""
