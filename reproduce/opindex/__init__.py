"""The figures of OpIndex, and its lists under insertions and deletions, which no index needs: segments never change."""
