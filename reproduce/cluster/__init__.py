"""What would a hundred machines do? A simulation from costs that were measured, held against what was run."""
