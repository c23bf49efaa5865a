"""Term frequencies: what it counts that a word occurs several times in a message."""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from tocsin.errors import InvalidInput
from tocsin.model.subscription import shown

TermFrequency: TypeAlias = Literal["boolean", "natural", "logarithm"]
BOOLEAN: Final = "boolean"
TERM_FREQUENCIES: Final[tuple[TermFrequency, ...]] = get_args(TermFrequency)


def checked_term_frequency(raw: object) -> TermFrequency:
    """Check how occurrences count; raises `InvalidInput`."""
    for kind in TERM_FREQUENCIES:
        if raw == kind:
            return kind
    raise InvalidInput(f"term_frequency is {shown(raw)}; it must be one of: {', '.join(TERM_FREQUENCIES)}")


def factors_of(kind: TermFrequency, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """What the weights of words are multiplied by, which occur so often.

    >>> factors_of("natural", np.array([1, 3])), factors_of("logarithm", np.array([1]))
    (array([1., 3.]), array([1.]))
    """
    if kind == "natural":
        return counts.astype(np.float64)
    distinct, places = np.unique(counts, return_inverse=True)
    # Python's logarithm, because NumPy's may differ from it in the last bit on some processors.
    return np.array([1.0 + math.log(count) for count in distinct.tolist()])[places]


def counts_of(kind: TermFrequency, factors: NDArray[np.float64]) -> NDArray[np.int64]:
    """How often words with these factors occur: the inverse of `factors_of`.

    >>> counts = np.arange(1, 100_000)
    >>> bool((counts_of("logarithm", factors_of("logarithm", counts)) == counts).all())
    True
    """
    counts = factors if kind == "natural" else np.exp(factors - 1.0)
    return np.rint(counts).astype(np.int64)
