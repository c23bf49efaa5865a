"""How large are compiled expressions? In bytes, the strings and names apart from the rest."""

from __future__ import annotations

from tocsin.columns.arrays import Texts
from tocsin.columns.expressions.compiled import CompiledExpressions


def expression_sizes(compiled: CompiledExpressions) -> dict[str, int]:
    """Bytes of `structure` and of `dictionaries`."""
    return {
        "structure": sum(array.nbytes for array in compiled.arrays),
        "dictionaries": text_bytes(compiled.vocabulary) + text_bytes(Texts.of(compiled.attributes)),
    }


def text_bytes(texts: Texts) -> int:
    """Bytes of strings and their offsets."""
    return int(texts.starts.nbytes + texts.data.nbytes)
