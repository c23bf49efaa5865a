"""A Matcher without its search for candidates, and what expressions need of an event, as ranges of numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.asking import literals
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.stored import restored, stored
from tocsin.index.alive import Alive, are_alive
from tocsin.index.expressions import OverExpressions
from tocsin.index.fields.fields import fields_and_keys
from tocsin.index.fields.kernels.code_sets import read_codes
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.index.filtering.index import verified
from tocsin.index.filtering.kernels.layouts import Coming
from tocsin.index.found import Found
from tocsin.index.protocols import Arrays, Best
from tocsin.index.statistics import Statistics
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Bound

_SAVED: Final = "lists."
"""The prefix of the names under which the arrays of a subclass are saved, beside those of the expressions."""


class Needs(NamedTuple):
    """Conditions without which an expression cannot hold, as ranges of codes. P conditions, D fields.

    A field is an attribute, seen as one type. Its operands in all expressions are numbered in their order. Code 2 r + 1
    is the operand r, and 2 r lies just before it, so codes are 0 to twice the number of operands. Strings have
    codes like numbers. An event satisfies a condition if it has a code of the field in the range, ends included.

    These are comparisons of an attribute with constants in the outermost AND of an expression: `=`, `<`, `BETWEEN` and
    `IN`, whose range goes from the least to the greatest operand. An expression may have no conditions, and it may need
    more than they say.

    Attributes
    ----------
    owners : array of int32, (P,)
        The number of each condition's expression, ascending.
    fields : array of int32, (P,)
        The field that it compares.
    lows : array of int32, (P,)
        The lowest code that satisfies it.
    highs : array of int32, (P,)
        The highest code that satisfies it; below its low if none does.
    sizes : array of int64, (D,)
        The number of codes of each field.
    """

    owners: NDArray[np.int32]
    fields: NDArray[np.int32]
    lows: NDArray[np.int32]
    highs: NDArray[np.int32]
    sizes: NDArray[np.int64]


class Values(NamedTuple):
    """The values of events, as codes of the fields of `Needs`. E events, V values.

    Attributes
    ----------
    starts : array of int64, (E + 1,)
        Event e has the values from `starts[e]` to `starts[e + 1]`.
    fields : array of int32, (V,)
        The field of each value, ascending for an event.
    codes : array of int32, (V,)
        Its code. A value that is no operand has the even code between two operands.
    """

    starts: NDArray[np.int64]
    fields: NDArray[np.int32]
    codes: NDArray[np.int32]

    def __len__(self) -> int:
        """The number of events."""
        return len(self.starts) - 1

    @property
    def events(self) -> NDArray[np.int64]:
        """(V,) the event of each value."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


class CandidateIndex(OverExpressions):
    """A `Matcher` that verifies the candidates which a subclass finds, so that it is exact if none is left out.

    A subclass defines `make`, `are_sound` and `candidates`. Instances are immutable; threads may share one. Removed
    subscriptions and events with ranges or shapes are dealt with here.

    Parameters
    ----------
    expressions : CompiledExpressions
        S expressions. What they need of events is in `self.needs`.
    lists : mapping of str to array, optional
        The arrays that `make` returned, if they were saved.

    Raises
    ------
    UnsuitableIndex
        If `make` raises it, because the index cannot hold an expression.
    ValueError
        If saved `lists` are not sound.
    """

    needs: Needs
    lists: Mapping[str, NDArray[Any]]

    def __init__(self, expressions: CompiledExpressions, lists: Mapping[str, NDArray[Any]] | None = None) -> None:
        self._fields, self.needs = _needs(expressions)
        made = self.make(len(expressions)) if lists is None else lists
        self.lists = {name: frozen(array, array.dtype) for name, array in made.items()}
        if lists is not None and not self.are_sound(len(expressions)):
            raise ValueError(f"the saved arrays of {type(self).__name__} are damaged")
        tables = sum(array.nbytes for table in (self._fields, self.needs) for array in table)
        super().__init__(expressions, tables + sum(array.nbytes for array in self.lists.values()))

    @classmethod
    def build(cls, expressions: CompiledExpressions, statistics: Statistics | None = None) -> Self:
        """Build the index; statistics are ignored.

        Parameters
        ----------
        expressions : CompiledExpressions
            The expressions; number i of an answer is the i-th of them.
        statistics : Statistics, optional
            How often events have attributes and values.

        Returns
        -------
        Self
            The index.
        """
        return cls(expressions)

    @classmethod
    def load(cls, arrays: Arrays) -> Self:
        """Restore the index from its `arrays`.

        Parameters
        ----------
        arrays : mapping of str to array
            Read-only arrays; they may be memory-mapped files.

        Returns
        -------
        Self
            The index.

        Raises
        ------
        ValueError
            If an array is damaged.
        """
        lists = {name.removeprefix(_SAVED): array for name, array in arrays.items() if name.startswith(_SAVED)}
        return cls(restored(arrays), lists)

    @abstractmethod
    def make(self, count: int) -> Mapping[str, NDArray[Any]]:
        """The arrays of the index, by name, made from `self.needs`. They are saved with it.

        Parameters
        ----------
        count : int
            The number of expressions, S.

        Returns
        -------
        mapping of str to array
            What `self.lists` then holds.
        """

    @abstractmethod
    def are_sound(self, count: int) -> bool:
        """Whether `self.lists`, which come from a file, can be used: lengths, types, and every number in its range.

        Parameters
        ----------
        count : int
            The number of expressions, S.

        Returns
        -------
        bool
            If not, the file is refused, or the index is built again.
        """

    @abstractmethod
    def candidates(self, values: Values) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Pairs of events and expressions that may match, in any order; a pair may come several times.

        Parameters
        ----------
        values : Values
            The values of E events.

        Returns
        -------
        events : array of int, (C,)
            Positions of events, from 0.
        expressions : array of int, (C,)
            Numbers of expressions, from 0. Every match must be among the pairs.
        """

    def arrays(self) -> Arrays:
        """All its arrays, to be saved: those of the expressions, and `self.lists`.

        Returns
        -------
        mapping of str to array
            What `load` takes.
        """
        return {**stored(self._compiled), **{_SAVED + name: array for name, array in self.lists.items()}}

    def places(self) -> dict[str, int]:
        """The number of subscriptions in each place, in words for the user.

        Returns
        -------
        dict of str to int
            The numbers add up to S.
        """
        return {"verified if it is a candidate": len(self)}

    def place(self, number: int) -> str:
        """Where one subscription lies, in words for the user.

        Parameters
        ----------
        number : int
            The subscription, from 0.

        Returns
        -------
        str
            Shown by `explain`.
        """
        return "verified if it is a candidate"

    def match(self, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        """All matches of a batch among live subscriptions. Cost: the search, a sort, and a look at each candidate.

        Parameters
        ----------
        batch : EventBatch
            E events without ranges and shapes.
        alive : array of uint64, (S // 64 + 1,), optional
            One bit for each subscription, low bits first, 0 for a removed one.
        best : Best, optional
            Not used.

        Returns
        -------
        Found
            The matches by event, then by number.

        Raises
        ------
        ValueError
            If an event has a range or a shape. tocsin matches such events itself.
        """
        batch.require_values()
        bound = self._binder.bind_to_walk(batch)
        starts, numbers = self._in_order(*self.candidates(self._values(batch, bound)), len(batch))
        examined = len(numbers)
        if alive is not None:
            is_alive = are_alive(alive, numbers)
            starts = np.concatenate([[0], np.cumsum(is_alive)])[starts]
            numbers = numbers[is_alive]
        coming = Coming(batch.arrays, bound, self._everyone, False)
        asks_more = frozen(np.ones(len(self)), np.bool_)
        return verified(self._compiled, asks_more, coming, Found(starts, numbers, examined, 0))

    def _values(self, batch: EventBatch, bound: Bound) -> Values:
        """The codes of a batch that is bound to the expressions."""
        fields = len(self.needs.sizes)
        ranks, dropped = frozen(np.arange(fields), np.int32), frozen(np.zeros(fields), np.uint8)
        starts, numbers, values, _ = read_codes(self._fields, batch.arrays, bound, dropped, ranks)
        return Values(starts, numbers[: starts[-1]], values[: starts[-1]])  # what follows was never written

    def _in_order(
        self, events: NDArray[np.integer], numbers: NDArray[np.integer], count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Candidates in CSR form, by event, then by number, each once."""
        width = max(len(self), 1)
        pairs = np.unique(np.asarray(events, np.int64) * width + np.asarray(numbers, np.int64))
        return np.searchsorted(pairs, np.arange(count + 1) * width), (pairs % width).astype(np.int32)


def _needs(expressions: CompiledExpressions) -> tuple[Fields, Needs]:
    """The fields of expressions, and the conditions that the outermost AND of each needs."""
    fields, keys = fields_and_keys(expressions, np.ones(len(expressions.attributes)))
    asked = literals(expressions)
    needed = ~asked.negated & (asked.groups == asked.owners) & (np.diff(keys.starts)[asked.leaves] > 0)
    owners, leaves = asked.owners[needed], asked.leaves[needed]
    distinct, places = np.unique(leaves, return_inverse=True)
    lengths = np.diff(keys.starts)[distinct]
    rows = np.repeat(keys.starts[distinct] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    sizes = 2 * np.diff(fields.operand_starts) + 1
    if not len(distinct):
        nothing = np.empty(0, np.int32)
        return fields, Needs(nothing, nothing, nothing, nothing, sizes)
    firsts = np.cumsum(lengths) - lengths
    low, high = np.minimum.reduceat(keys.lows[rows], firsts), np.maximum.reduceat(keys.highs[rows], firsts)
    field, last = (extreme.reduceat(keys.fields[rows], firsts) for extreme in (np.minimum, np.maximum))
    is_range = (field == last) & (fields.kinds[field] <= codes.INSTANT)
    high = np.minimum(high, sizes[field] - 1)
    chosen = is_range[places]
    owner, field, low, high = (
        frozen(column[chosen], np.int32) for column in (owners, field[places], low[places], high[places])
    )
    return fields, Needs(owner, field, low, high, frozen(sizes, np.int64))
