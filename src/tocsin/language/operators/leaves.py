"""The leaves that conditions are compiled to, and the protocol that makes them.

Records are lowered through `Leaves`; `columns/expressions/leaves.py` implements it. A *literal* is a leaf or its NOT:
`leaf * 2 + negated`. A negated literal holds if the leaf is FALSE, never if it is UNKNOWN, so NOT costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias

from tocsin.language.operators.operands import Path
from tocsin.model.expression import Expression
from tocsin.model.values import Bounds, Geometry, Instant

Lowered: TypeAlias = int | list[int]
"""A literal, or a group: a mark of `kernels.codes`, the number of places that follow, and these places."""

TruthStep: TypeAlias = tuple[int, int]
"""A step of a condition that is used as a value, in postfix order: an operation of `kernels.codes`, and a leaf."""

TermStep: TypeAlias = tuple[int, str | float, str]
"""A step of arithmetic in postfix order: a TERM_ code, an attribute's name or a number, and how a text is folded."""

Value: TypeAlias = float | str | bool | Instant | Geometry


class Leaves(Protocol):
    """Makes leaves; equal leaves are shared. All methods but `group` and `names_of` give a literal."""

    def known(self, truth: bool | None) -> int:
        """A leaf with the same truth for every event."""

    def compared(self, op: str, path: Path, constant: Value) -> int:
        """An attribute compared with a constant; UNKNOWN for values of other types."""

    def between(self, path: Path, low: Value, high: Value) -> int | None:
        """Whether a value lies between two constants, both included; None if they are not of one ordered type."""

    def one_of(self, path: Path, values: Sequence[Value]) -> list[int] | None:
        """One literal for each type among the constants: whether a value is one of them. None if one is a geometry."""

    def is_null(self, attribute: str) -> int:
        """Whether an event has no value."""

    def like(self, path: Path, pattern: str) -> int:
        """Whether a text fits a LIKE pattern."""

    def matches(self, path: Path, pattern: str) -> int:
        """Whether a regular expression finds a match in a text."""

    def in_box(self, attribute: str, bounds: Bounds) -> int:
        """Whether a point, or a box, intersects a box."""

    def array(self, attribute: str, operation: int, constants: Sequence[Value]) -> int:
        """How a list relates to constants: one of the array operations of `kernels.codes`."""

    def arrays(self, attribute: str, operation: int, other: str) -> int:
        """How two lists of an event relate."""

    def terms(self, operation: int, left: Sequence[TermStep], right: Sequence[TermStep]) -> int:
        """Arithmetic compared with arithmetic: one of the comparisons of `kernels.codes`."""

    def term_is_null(self, term: Sequence[TermStep]) -> int:
        """Whether arithmetic, or a folded text, has no value."""

    def truth(self, steps: Sequence[TruthStep]) -> int:
        """The truth of a condition that is used as a value."""

    def asked(self, name: str, needed: Iterable[str] = ()) -> int:
        """Whether a reading that another index computes (`index.conditions`) is TRUE, and the names that it needs."""

    def reads(self, names: Iterable[str]) -> None:
        """Have names read from events even though no leaf uses them."""

    def steps_of(self, literal: int) -> list[TruthStep]:
        """A literal as steps of a condition that is used as a value."""

    def group(self, is_and: bool, parts: Sequence[Lowered]) -> Lowered:
        """AND, or OR, of some parts."""

    def names_of(self, condition: Expression) -> set[str]:
        """The names that a condition reads from an event."""
