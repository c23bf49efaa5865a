"""What is kept of what was compiled? Stores of kernels, known by the text that they were compiled from."""
