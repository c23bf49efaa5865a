"""Experiments of the papers, rerun. One file per figure describes what to run and which shape to expect."""
