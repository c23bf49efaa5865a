"""Base classes of Matchers that keep their compiled expressions; subclasses add only the search.

Such a Matcher saves only its expressions, unless it overrides `arrays`. Everything else is rebuilt when it is loaded.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from tocsin.columns.binding import Binder
from tocsin.columns.expressions.compiled import CompiledExpressions, expression_sizes
from tocsin.columns.expressions.stored import restored, stored
from tocsin.index.alive import everyone
from tocsin.index.protocols import ALL_THEN_RANKED, Arrays
from tocsin.index.statistics import Statistics


class OverExpressions:
    """A `Matcher` without `match`, `places` and `place`.

    `structure` and `dictionaries` are the bytes that it uses in addition to its expressions.
    """

    def __init__(self, compiled: CompiledExpressions, structure: int = 0, dictionaries: int = 0) -> None:
        self._compiled = compiled
        self._binder = Binder(compiled)
        self._everyone = everyone(len(compiled))
        self._beside = structure + self._binder.nbytes, dictionaries

    @property
    def attributes(self) -> Sequence[str]:
        """The attributes that the subscriptions refer to."""
        return self._compiled.attributes

    def __len__(self) -> int:
        return len(self._compiled)

    def expressions(self) -> CompiledExpressions:
        """The expressions that the index holds.

        Returns
        -------
        CompiledExpressions
            Those that it was built from.
        """
        return self._compiled

    def arrays(self) -> Arrays:
        return stored(self._compiled)

    def sizes(self) -> dict[str, int]:
        """Bytes in memory. Operands count as dictionaries, like the strings that they stand for.

        Returns
        -------
        dict of str to int
            `structure` and `dictionaries`.
        """
        sizes = expression_sizes(self._compiled)
        structure, dictionaries = self._beside
        return {"structure": sizes["structure"] + structure, "dictionaries": sizes["dictionaries"] + dictionaries}

    def best_first(self) -> str:
        """How the k best matches are found, in words for the user.

        Returns
        -------
        str
            Shown by `tocsin check` and `explain`.
        """
        return ALL_THEN_RANKED


class RebuiltOnLoad:
    """A `Builder` without `build`, for such Matchers."""

    __slots__ = ()

    @abstractmethod
    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> Any:
        """A Matcher over some expressions."""

    def load(self, arrays: Arrays) -> Any:
        """Rebuild from the saved expressions."""
        return self.build(restored(arrays))
