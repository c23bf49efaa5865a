"""What do subscriptions ask that no event has? Told by condition, so that a million of one mistake is one notice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.asking import ANY, asked, literals
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.constants import contradictory, empty_ranges, unfolded
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.engine.seen import Seen
from tocsin.index import Part
from tocsin.index.alive import Alive, are_alive
from tocsin.kernels import codes
from tocsin.language import constant_text, name_text, to_text
from tocsin.language.nearest import nearest
from tocsin.language.stored import stored_expression
from tocsin.model.expression import And, Expression, Not, Or, attributes
from tocsin.model.notice import Notice
from tocsin.model.readings import Reading, attribute_of, is_reading, reading_of
from tocsin.schemas import WORDS
from tocsin.segment import Snapshot

_LONGEST: Final = 100
_MOST_DEAD: Final = 10_000


class _Reason(NamedTuple):
    """Why a condition is worth a notice, and which one it is."""

    attribute: str  # empty for none
    text: str
    is_whole: bool = False  # whether all conditions on the attribute are meant together


def notices_of(sources: Iterable[Snapshot], seen: Seen) -> list[Notice]:
    """What the subscriptions of a moment ask that no event had, or that none can have."""
    return notices([(one.part(), one.alive) for one in sources if len(one)], seen)


def notices(sources: Iterable[tuple[Part, Alive]], seen: Seen | None) -> list[Notice]:
    """What subscriptions that are alive ask that no event had, or that none can have; those that most ask first.

    Without events, what can be told of the subscriptions alone. Cost: linear in the subscriptions.
    """
    if seen is not None:
        seen.finish()
    merged: dict[tuple[str, str], Notice] = {}
    for part, counts in (whole for source in sources for whole in _told_whole(*source)):
        for notice in _of_part(part, counts, seen if seen is not None and seen.events else None):
            key = notice.attribute, notice.reason
            before = merged.get(key)
            count = notice.subscriptions + (0 if before is None else before.subscriptions)
            merged[key] = (before or notice)._replace(subscriptions=count)
    return sorted(merged.values(), key=lambda notice: -notice.subscriptions)


def _told_whole(part: Part, alive: Alive) -> Iterator[tuple[Part, NDArray[np.bool_]]]:
    """The subscriptions, with who of them counts; then those of which an index keeps only that they match nothing.

    These are compiled again, from their texts.
    """
    counts = np.ones(len(part), bool) if alive is None else are_alive(alive, np.arange(len(part)))
    arrays = part.compiled.arrays
    alone = np.flatnonzero(np.diff(arrays.program_starts) == 1)
    leaves = arrays.program[arrays.program_starts[alone]] >> 1
    dead = alone[arrays.leaf_kinds[leaves] == codes.FALSE_LEAF]
    dead = dead[counts[dead]][:_MOST_DEAD]
    counts[dead] = False
    yield part, counts
    if len(dead):
        trees = [stored_expression(part.sources[number].as_py()) for number in dead.tolist()]
        yield replace(part.only(dead), compiled=compile_expressions(trees)), np.ones(len(dead), bool)


def _of_part(part: Part, counts: NDArray[np.bool_], seen: Seen | None) -> list[Notice]:
    compiled = part.compiled
    asking, reasons = literals(compiled), _Reasons(compiled, seen)
    which = reasons.of_leaves[asking.leaves, asking.negated.astype(np.int64)]
    apart, on = contradictory(compiled, asking)
    extra = [reasons.number(_exclusion(compiled.attributes[attribute])) for attribute in on.tolist()]
    owners = np.concatenate([asking.owners[which >= 0], apart])
    which = np.concatenate([which[which >= 0], np.array(extra, np.int64)])
    pairs = np.unique(np.stack([which, owners])[:, counts[owners]], axis=1)
    numbers, firsts, askers = np.unique(pairs[0], return_index=True, return_counts=True)
    return [
        _notice(part, reasons.all[number], seen, int(count), int(pairs[1, first]))
        for number, first, count in zip(numbers.tolist(), firsts, askers, strict=True)
    ]


def _exclusion(name: str) -> _Reason:
    return _Reason(attribute_of(name), "no value fulfils all of this", is_whole=True)


class _Reasons:
    """The reasons for which leaves of compiled expressions are worth a notice.

    `prefix` is what attributes are in, where they are those of a list's elements.
    """

    def __init__(self, compiled: CompiledExpressions, seen: Seen | None, prefix: str = "") -> None:
        self._prefix = prefix
        self._whose = "element" if prefix else "event"
        self.all: list[_Reason] = []
        self.of_leaves = np.full((len(compiled.arrays.leaf_kinds), 2), -1, np.int64)  # as they are, and negated
        self._compiled = compiled
        self._numbers: dict[_Reason, int] = {}
        if seen is not None:
            self._add_types(seen)
        self._add_constants()

    def number(self, reason: _Reason) -> int:
        number = self._numbers.setdefault(reason, len(self.all))
        if number == len(self.all):
            self.all.append(reason)
        return number

    def _add_types(self, seen: Seen) -> None:
        """Attributes that no event had, and those that had other types only."""
        names, arrays = self._compiled.attributes, self._compiled.arrays
        asks = asked(self._compiled)
        found = np.array([_types_seen(name, seen) for name in names], np.uint32)
        known = seen.names()
        missed = np.flatnonzero(found[asks.attributes] & asks.types == 0)
        compares = arrays.leaf_kinds[asks.leaves[missed]] == codes.COMPARE
        pairs = np.stack([asks.attributes[missed], asks.types[missed], compares]).astype(np.int64)
        distinct, which = np.unique(pairs, axis=1, return_inverse=True)
        numbers = np.array(
            [
                self.number(
                    _missing(names[attribute], types, seen.types, known, self._prefix, is_compared=bool(compared))
                )
                for attribute, types, compared in distinct.T.tolist()
            ],
            np.int64,
        )
        self.of_leaves[asks.leaves[missed]] = numbers[which.reshape(-1)][:, None]
        nulls = np.flatnonzero(arrays.leaf_kinds == codes.IS_NULL)
        for leaf in nulls[found[arrays.leaf_attributes[nulls]] == 0].tolist():
            name = names[arrays.leaf_attributes[leaf]]
            reason = f"always true: no {self._whose} has {name_text(name)}"
            self.of_leaves[leaf, 0] = self.number(_Reason(name, reason))
        self._add_elements(seen)

    def _add_elements(self, seen: Seen) -> None:
        """Of what is asked of elements that came, what no element fulfils."""
        arrays = self._compiled.arrays
        for number, name in enumerate(self._compiled.attributes):
            reading = reading_of(name)
            own = seen.elements.get(reading.attribute) if reading.is_condition else None
            if own is None or not own.events:
                continue
            tree, items = stored_expression(reading.rest), name_text(reading.attribute)
            for side, asked_of in enumerate((tree, Not(tree))):
                inner = _reasons_of(asked_of, own, f"{self._prefix}{reading.attribute}.")
                if inner:
                    first = min(reason.text for reason in inner)
                    reason = _Reason(reading.attribute, f"of the elements of {items}: {first}")
                    leaves = (arrays.leaf_kinds < codes.COMPARE) & (arrays.leaf_attributes == number)
                    self.of_leaves[leaves, side] = self.number(reason)

    def _add_constants(self) -> None:
        """What holds, or does not, whatever comes."""
        names, arrays = self._compiled.attributes, self._compiled.arrays
        for leaf in np.flatnonzero(empty_ranges(self._compiled)).tolist():
            name = attribute_of(names[arrays.leaf_attributes[leaf]])
            self.of_leaves[leaf, 0] = self.number(_Reason(name, "no value lies within"))
        for leaf, (text, folded) in unfolded(self._compiled).items():
            reason = f"folded text is never {constant_text(text)}, which folds to {constant_text(folded)}: fold it, too"
            self.of_leaves[leaf, 0] = self.number(_Reason(names[arrays.leaf_attributes[leaf]], reason))
        for kind, as_it_is, negated in _CONSTANT:
            for leaf in np.flatnonzero(arrays.leaf_kinds == kind).tolist():
                self.of_leaves[leaf] = self.number(as_it_is), self.number(negated)


_ALWAYS: Final = _Reason("", "always true")
_NEVER: Final = _Reason("", "never true")
_NEITHER: Final = _Reason("", "neither true nor false of any event")
_CONSTANT: Final = (
    (codes.TRUE_LEAF, _ALWAYS, _NEVER),
    (codes.FALSE_LEAF, _NEVER, _ALWAYS),
    (codes.UNKNOWN_LEAF, _NEITHER, _NEITHER),
)


def _types_seen(name: str, seen: Seen) -> int:
    """The types that came under a compiled name, a bit each; all, for what is asked of elements, where a list did."""
    reading = reading_of(name)
    if reading.is_condition:
        return ANY if reading.attribute in seen.elements else 0
    if reading.is_of_text:
        return ANY if seen.types.get(reading.attribute, 0) & _TEXTS else 0
    if reading.is_of_place:
        return ANY if seen.types.get(reading.attribute, 0) & _PLACES else 0
    if reading.is_array:
        return ANY if seen.types.get(reading.attribute, 0) & _SCALARS else 0
    return seen.types.get(name, 0)


_TEXTS: Final = 1 << codes.STRING | 1 << codes.LIST
_SCALARS: Final = 1 << codes.NUMBER | 1 << codes.STRING | 1 << codes.BOOLEAN | 1 << codes.INSTANT
_PLACES: Final = 1 << codes.GEOMETRY | 1 << codes.SHAPE | 1 << codes.LIST


def _missing(
    name: str, types: int, seen: Mapping[str, int], known: Sequence[str], prefix: str, *, is_compared: bool
) -> _Reason:
    """Why nothing fulfils what is asked of an attribute, or its reading."""
    attribute = attribute_of(name)
    shown, own, is_list = name_text(attribute), seen.get(attribute, 0), reading_of(name).is_condition
    if is_reading(name) and not is_list:
        types, is_compared = 1 << _read_as(reading_of(name)), False
    if not own:
        near = nearest(attribute, known)
        advice = f"; did you mean {name_text(near)}?" if near else ""
        if is_compared and not near:
            advice = f"; a text stands in single quotes: {constant_text(attribute)}"
        what = f"a list {shown}" if is_list else shown
        return _Reason(attribute, f"no {'element' if prefix else 'event'} has {what}{advice}")
    types = 1 << codes.LIST if is_list else types
    kind = codes.GEOMETRY if types >> codes.GEOMETRY & 1 else (types & -types).bit_length() - 1
    came = " or ".join(word for code, word in WORDS.items() if own >> code & 1) or "a range"
    reason = f"every {shown} that came is {came}, never {WORDS[kind]}{_advice(prefix + attribute, kind, own)}"
    return _Reason(attribute, reason)


def _read_as(reading: Reading) -> int:
    """The type of the values that a reading is made of."""
    return codes.GEOMETRY if reading.is_of_place else codes.STRING if reading.is_of_text else codes.INSTANT


def _advice(attribute: str, kind: int, came: int) -> str:
    if came == 1 << codes.LIST and kind <= codes.INSTANT:
        return "; A_CONTAINS, A_OVERLAPS and ANY look into lists"
    if came == 1 << codes.STRING and kind in (codes.NUMBER, codes.BOOLEAN):
        return f"; a schema can say what its texts are: {{{attribute!r}: {_SCHEMA[kind]!r}}}"
    if came == 1 << codes.STRING and kind == codes.LIST:
        return f"; TEXT asks for its words, and a schema makes a list of them: {{{attribute!r}: 'text'}}"
    if came == 1 << codes.STRING and kind == codes.INSTANT:
        return "; 2024-06-01T08:15:00Z is read as one"
    return ""


_SCHEMA: Final = {codes.NUMBER: "number", codes.BOOLEAN: "boolean"}


def _notice(part: Part, reason: _Reason, seen: Seen | None, count: int, owner: int) -> Notice:
    tree = stored_expression(part.sources[owner].as_py())
    about = [node for node in _predicates(tree) if not reason.attribute or reason.attribute in attributes(node)]
    if not reason.is_whole:
        about = [node for node in about if reason in _reasons_of(node, seen)][:1]
    text = " AND ".join(map(to_text, about or [tree]))
    shown = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    return Notice(reason.attribute, shown, reason.text, count, part.ids[owner].as_py())


def _reasons_of(node: Expression, seen: Seen | None, prefix: str = "") -> set[_Reason]:
    """The reasons for which a predicate by itself is worth a notice."""
    compiled = compile_expressions([node])
    reasons, asking = _Reasons(compiled, seen, prefix), literals(compiled)
    numbers = reasons.of_leaves[asking.leaves, asking.negated.astype(np.int64)]
    return {reasons.all[number] for number in numbers.tolist() if number >= 0}


def _predicates(tree: Expression) -> list[Expression]:
    """The predicates of a tree, from left to right, with NOT where they are negated."""
    found: list[Expression] = []
    stack = [(tree, False)]
    while stack:
        node, is_negated = stack.pop()
        if isinstance(node, Not):
            stack.append((node.operand, not is_negated))
        elif isinstance(node, And | Or):
            stack.extend((child, is_negated) for child in reversed(node.children()))
        else:
            found.append(Not(node) if is_negated else node)
    return found
