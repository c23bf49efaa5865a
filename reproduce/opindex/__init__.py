"""The figures of OpIndex, and its lists with insertion and deletion. Indexes need neither: segments never change."""
