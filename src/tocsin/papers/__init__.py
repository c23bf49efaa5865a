"""What did the papers propose? One folder each, with the structures of the paper and the baselines that it measures.

They are indexes as anybody may publish: found by entry points (`tocsin.indexes`, in pyproject.toml) when they are asked
for by name, and imported by nothing. What of a paper became the product lies in `tocsin.index`.
"""
