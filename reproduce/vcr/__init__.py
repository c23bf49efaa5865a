"""The figures of VCR indexing, and an index with insertion and deletion of single rectangles, as in the paper."""
