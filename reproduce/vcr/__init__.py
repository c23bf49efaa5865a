"""The figures of VCR indexing, and an index that changes one rectangle at a time, as the paper has it."""
