"""The leaves that conditions are compiled to, and the protocol that makes them.

Records are lowered through `Leaves`; `columns/expressions/leaves.py` implements it. A *literal* is a leaf or its NOT:
`leaf * 2 + negated`. A negated literal holds where the leaf is FALSE, never where it is UNKNOWN, so NOT costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias

from tocsin.language.operators.operands import Path
from tocsin.model.expression import Expression
from tocsin.model.values import Bounds, Geometry, Instant

Lowered: TypeAlias = int | list[int]
"""A literal, or the places of a group: a mark of `kernels.codes`, how many places follow, and these."""

TruthStep: TypeAlias = tuple[int, int]
"""A step of a condition that is used as a value, in postfix order: an operation of `kernels.codes`, and a leaf."""

TermStep: TypeAlias = tuple[int, str | float, str]
"""A step of arithmetic in postfix order: a TERM_ code, an attribute's name or a number, and how a text is folded."""

Value: TypeAlias = float | str | bool | Instant | Geometry


class Leaves(Protocol):
    """Makes leaves, equal ones once. All methods but `group` and `names_of` give a literal."""

    def known(self, truth: bool | None) -> int:
        """What has the same truth of every event."""

    def compared(self, op: str, path: Path, constant: Value) -> int:
        """An attribute compared with a constant: UNKNOWN of values of other types."""

    def between(self, path: Path, low: Value, high: Value) -> int | None:
        """Whether a value lies between two constants, both included; None where they are not of one ordered type."""

    def one_of(self, path: Path, values: Sequence[Value]) -> list[int] | None:
        """For each type of some constants, whether a value is one of them; None where one is a geometry."""

    def is_null(self, attribute: str) -> int:
        """Whether an event has no value."""

    def like(self, path: Path, pattern: str) -> int:
        """Whether a text fits a pattern of LIKE."""

    def matches(self, path: Path, pattern: str) -> int:
        """Whether a regular expression finds something in a text."""

    def in_box(self, attribute: str, bounds: Bounds) -> int:
        """Whether a point, or a box, meets a box."""

    def array(self, attribute: str, operation: int, constants: Sequence[Value]) -> int:
        """How a list relates to constants: one of the array operations of `kernels.codes`."""

    def arrays(self, attribute: str, operation: int, other: str) -> int:
        """How two lists of an event relate."""

    def terms(self, operation: int, left: Sequence[TermStep], right: Sequence[TermStep]) -> int:
        """Arithmetic compared with arithmetic: one of the comparisons of `kernels.codes`."""

    def term_is_null(self, term: Sequence[TermStep]) -> int:
        """Whether arithmetic, or a folded text, has no value."""

    def truth(self, steps: Sequence[TruthStep]) -> int:
        """What came of a condition that is used as a value."""

    def asked(self, name: str, needed: Iterable[str] = ()) -> int:
        """Whether a reading is TRUE that another index finds (`index.conditions`), and the names that it needs read."""

    def reads(self, names: Iterable[str]) -> None:
        """Have names read of events that no leaf has."""

    def steps_of(self, literal: int) -> list[TruthStep]:
        """A literal as steps of a condition that is used as a value."""

    def group(self, is_and: bool, parts: Sequence[Lowered]) -> Lowered:
        """AND, or OR, of some parts."""

    def names_of(self, condition: Expression) -> set[str]:
        """The names that a condition reads of an event."""
