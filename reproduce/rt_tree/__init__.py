"""R^t-trees that grow and shrink a subscription at a time, as Yu, Li et al. 2015 have them: an engine's are packed."""
