"""R^t-trees with insertion and deletion, as in Yu, Li et al. 2015; those of engines are packed."""
