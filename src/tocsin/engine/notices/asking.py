"""The requirements of compiled expressions, and which of these a set of events does not meet."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import gathered
from tocsin.columns.expressions import asking, constants
from tocsin.columns.expressions.asking import ANY, Literals, asked, literals
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.engine.notices.alternatives import alternatives_in
from tocsin.engine.notices.wording import Wording
from tocsin.engine.seen import Seen
from tocsin.kernels import codes
from tocsin.language import constant_text, name_text
from tocsin.language.operators.function_value import types_read
from tocsin.language.stored import stored_expression
from tocsin.model.expression import EVERYTHING, Not
from tocsin.model.readings import NOW, Reading, as_instant, attribute_of, reading_of

_CONDITION: Final = asking.SOME_ELEMENT + 1
"""A kind of question besides those of `asking`. First: a condition about elements; second: 1 if it is negated."""

_PLACE: Final = _CONDITION + 1
"""Another kind. First: an attribute with lists that should be places, or a reading of its places."""

_EXACT: Final = _CONDITION + 2
"""A third kind. First: an attribute compared with numbers; second: which numbers are inexact, one of those below."""
_SINGLE, _LARGE = range(2)


class Reason(NamedTuple):
    """Why a condition deserves a warning, and which condition it is."""

    attribute: str  # empty if there is none
    text: str
    is_whole: bool = False  # whether all conditions on the attribute together are meant


class Known(NamedTuple):
    """The values for which some predicate is TRUE or FALSE: types by attribute, one bit each."""

    types: dict[str, int]
    always: bool  # whether such a predicate exists for any event, such as IS NULL


class _Groups(NamedTuple):
    """Members by group in CSR form: members[starts[g]:starts[g + 1]] belong to group g."""

    starts: NDArray[np.int64]
    members: NDArray[np.int64]

    @classmethod
    def of(cls, groups: NDArray[np.int64], members: NDArray[np.int64], count: int) -> _Groups:
        order = np.argsort(groups, kind="stable")
        return cls(np.searchsorted(groups[order], np.arange(count + 1)), members[order])


class Asking:
    """The conditions of compiled expressions: their owners, what they ask of events, and which are constant.

    A condition is a leaf or its NOT. Memory: some 8 bytes per condition and expression. Cost: linear, once.
    """

    def __init__(self, compiled: CompiledExpressions, prefix: str = "") -> None:
        self._names, self._prefix = compiled.attributes, prefix
        found = literals(compiled)
        distinct, which = np.unique(found.leaves * 2 + found.negated, return_inverse=True)
        asks = asked(compiled)
        self._alternatives = alternatives_in(compiled, found, asks)
        alone, among = self._alternatives.alone, self._alternatives.among
        self._owners = _Groups.of(which.reshape(-1)[alone], found.owners[alone], len(distinct))
        sets = self._alternatives.sets[among], which.reshape(-1)[among], len(self._alternatives.owners)
        self._sets = _Groups.of(*sets)
        self._fixed = _fixed(compiled, distinct)
        self._apart = _apart(compiled, found)
        self._ask(compiled, found, distinct, asks)
        self._numbers = {name: number for number, name in enumerate(compiled.attributes)}
        self._readings = _readings(compiled.attributes)
        self._nulls = [number for number, name in enumerate(compiled.attributes) if reading_of(name).is_null]
        self._outer = [number for number, name in enumerate(compiled.attributes) if reading_of(name).is_from_elsewhere]
        self._elements = self._of_elements(compiled)

    def _ask(
        self, compiled: CompiledExpressions, found: Literals, distinct: NDArray[np.int64], asks: asking.Asks
    ) -> None:
        """Collect the distinct questions, and the conditions that ask them."""
        asks = _with_all_types(compiled, found, asks)
        conditions = np.searchsorted(distinct, asks.leaves * 2 + asks.negated)
        there = conditions < len(distinct)
        there[there] = distinct[conditions[there]] == (asks.leaves * 2 + asks.negated)[there]
        there[there] &= ~np.isin(conditions[there], self._fixed[0])
        rows = np.stack([asks.kinds, asks.first, asks.second])[:, there]
        of_elements = np.array([reading_of(name).is_condition for name in compiled.attributes], bool)
        on_elements = np.flatnonzero((rows[0] == asking.OF_TYPE) & np.append(of_elements, False)[rows[1]])
        sides = distinct[conditions[there][on_elements]] & 1
        more = np.stack([np.full(len(sides), _CONDITION), rows[1][on_elements], sides])
        of_places = np.array([reading_of(name).is_of_place for name in compiled.attributes], bool)
        asks_place = np.append(of_places, False)[rows[1]] | (rows[2] == asking.OF_PLACE)
        on_places = np.flatnonzero((rows[0] == asking.OF_TYPE) & asks_place)
        places = np.stack([np.full(len(on_places), _PLACE), rows[1][on_places], np.zeros(len(on_places), np.int64)])
        exact, on_numbers = _exact(compiled, distinct)
        whole = np.concatenate([rows, more, places, exact], axis=1)
        self._questions, which = np.unique(whole, axis=1, return_inverse=True)
        own = conditions[there]
        asking_conditions = np.concatenate([own, own[on_elements], own[on_places], on_numbers])
        self._askers = _Groups.of(which.reshape(-1), asking_conditions, self._questions.shape[1])

    @cached_property
    def known(self) -> Known:
        """The values for which some predicate of the expressions is TRUE or FALSE."""
        kinds, first, second = self._questions
        types: dict[str, int] = {}
        for kind, number, bits in zip(kinds.tolist(), first.tolist(), second.tolist(), strict=True):
            if kind <= asking.COMPARED:
                reading = reading_of(self._names[number])
                own = bits & ~(1 << codes.LIST) if bits == asking.OF_PLACE else bits
                types[reading.attribute] = types.get(reading.attribute, 0) | (_read_from(reading) or own)
        return Known(types, bool((kinds == asking.UNLESS_NULL).any()))

    def _of_elements(self, compiled: CompiledExpressions) -> dict[str, tuple[NDArray[np.int64], Asking]]:
        """For each list, the conditions about its elements, and what they and their NOTs ask of an element."""
        wanted = self._questions[1, self._questions[0] == _CONDITION]
        by_list: dict[str, list[int]] = {}
        for number in np.unique(wanted).tolist():
            by_list.setdefault(reading_of(compiled.attributes[number]).attribute, []).append(number)
        made = {}
        for name, numbers in by_list.items():
            trees = [stored_expression(reading_of(compiled.attributes[number]).rest) for number in numbers]
            both = compile_expressions([side for tree in trees for side in (tree, Not(tree))])
            made[name] = np.array(numbers, np.int64), Asking(both, f"{self._prefix}{name}.")
        return made

    def findings(self, seen: Seen | None) -> Iterator[tuple[Reason, NDArray[np.int64]]]:
        """The reasons for warnings, each with the expressions that have it, in ascending order.

        Cost: linear in the questions, and in the reported conditions.
        """
        if seen is not None and seen.events:
            apart = {reason.attribute: owners for reason, owners in self._apart.items()}
            for reason, owners in self._missed(seen):  # contradictory conditions get no second warning
                yield reason, np.setdiff1d(owners, apart[reason.attribute]) if reason.attribute in apart else owners
        for reason, conditions in self._fixed[1].items():
            yield reason, self._owners_of(np.array(conditions, np.int64))
        yield from self._apart.items()

    def _missed(self, seen: Seen) -> Iterator[tuple[Reason, NDArray[np.int64]]]:
        types, items = self._came(seen)
        kinds, first, second = self._questions
        missed = np.zeros(len(kinds), bool)
        by_type = kinds <= asking.UNLESS_NULL
        missed[by_type] = types[first[by_type]] & second[by_type] == 0
        pairs = kinds == asking.SAME_TYPE
        missed[pairs] = types[first[pairs]] & types[second[pairs]] & _COMPARABLE == 0
        whole, some = kinds == asking.ALL_ELEMENTS, kinds == asking.SOME_ELEMENT
        missed[whole] = second[whole] & ~items[first[whole]] != 0
        missed[some] = second[some] & items[first[some]] == 0
        told = self._element_findings(seen)
        if told:
            about = np.flatnonzero(kinds == _CONDITION)
            missed[about] = np.isin(first[about] * 2 + second[about], [2 * number + side for number, side in told])
        if seen.no_places:
            about = np.flatnonzero(kinds == _PLACE)
            missed[about] = [attribute_of(self._names[number]) in seen.no_places for number in first[about].tolist()]
        for second_kind, names in ((_SINGLE, seen.singles), (_LARGE, seen.large)):
            about = np.flatnonzero((kinds == _EXACT) & (second == second_kind)) if names else kinds[:0]
            missed[about] = [attribute_of(self._names[number]) in names for number in first[about].tolist()]
        chosen = np.flatnonzero(missed)
        conditions, at = gathered(self._askers.starts, chosen)
        asked_by, first_rows = np.unique(self._askers.members[conditions], return_index=True)
        which = chosen[at[first_rows]]  # questions ascend, so this is the first question of each condition
        words = Wording(seen, self._prefix)
        by_reason: dict[Reason, list[NDArray[np.int64]]] = {}
        order = np.argsort(which, kind="stable")
        questions, starts = np.unique(which[order], return_index=True)
        for question, own in zip(questions.tolist(), np.split(asked_by[order], starts[1:]), strict=False):
            reason = self._reason(question, words, told)
            by_reason.setdefault(reason, []).append(own)
        for reason, several in by_reason.items():
            if len(owners := self._owners_of(np.concatenate(several))):
                yield reason, owners
        yield from self._of_alternatives(asked_by, which, words, told)

    def _of_alternatives(
        self, missed: NDArray[np.int64], which: NDArray[np.int64], words: Wording, told: dict[tuple[int, int], str]
    ) -> Iterator[tuple[Reason, NDArray[np.int64]]]:
        """The reasons of alternatives that are all missed. `which` has the question of each missed condition."""
        questions = dict(zip(missed.tolist(), which.tolist(), strict=True))
        by_reason: dict[Reason, list[int]] = {}
        for number, owner in enumerate(self._alternatives.owners.tolist()):
            members = self._sets.members[self._sets.starts[number] : self._sets.starts[number + 1]]
            own = [questions.get(one, -1) for one in members.tolist()]
            if all(one >= 0 and self._questions[0, one] != asking.UNLESS_NULL for one in own):
                by_reason.setdefault(self._reason(min(own, key=self._order), words, told), []).append(owner)
        for reason, owners in by_reason.items():
            yield reason, np.unique(np.array(owners, np.int64))

    def _order(self, question: int) -> tuple[int, int]:
        """Alternatives are told by what is missing of elements or, if there are none, of the value itself."""
        kind, first, _ = self._questions[:, question].tolist()
        return (0 if kind == _CONDITION else 2 if reading_of(self._names[first]).is_condition else 1), question

    def _owners_of(self, conditions: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.unique(self._owners.members[gathered(self._owners.starts, conditions)[0]])

    def _came(self, seen: Seen) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(A,) the observed types of each name, and those of the elements of lists, one bit each."""
        types, items = (np.zeros(len(self._names), np.int64) for _ in range(2))
        for found, came in ((types, seen.types), (items, seen.items)):
            for name, own in came.items():
                if (number := self._numbers.get(name)) is not None:
                    found[number] |= own
                if reading_of(name).is_instant and (number := self._numbers.get(attribute_of(name))) is not None:
                    found[number] |= own  # in sums, strings are instants, too
        for number in self._nulls:
            types[number] |= ANY if seen.tells_nulls else 0
            of = self._numbers.get(attribute_of(self._names[number]))
            if of is not None and seen.types.get(self._names[number]):
                types[of] |= _NULL
        if (present := self._numbers.get(NOW)) is not None:
            types[present] = ANY
        types[self._outer] |= ANY  # whole events are asked by other conditions
        for (name, bits), numbers in self._readings.items():
            has_it = name in seen.elements if bits == _ELEMENTS else seen.types.get(name, 0) & bits
            types[numbers] |= ANY if has_it else 0
        return types, items

    def _element_findings(self, seen: Seen) -> dict[tuple[int, int], str]:
        """For each condition about elements and its side, why no observed element satisfies it."""
        told: dict[tuple[int, int], str] = {}
        for name, (numbers, inner) in self._elements.items():
            own = seen.elements.get(name)
            if own is None or not own.events:
                continue
            for reason, owners in inner.findings(own):
                for number, side in zip(numbers[owners >> 1].tolist(), (owners & 1).tolist(), strict=True):
                    told[number, side] = min(told.get((number, side), reason.text), reason.text)
        return told

    def _reason(self, question: int, words: Wording, told: dict[tuple[int, int], str]) -> Reason:
        kind, first, second = self._questions[:, question].tolist()
        name = self._names[first]
        if kind == _CONDITION:
            items = reading_of(name).attribute
            if items == EVERYTHING:
                return Reason("", f"of the values of events: {told[first, second]}")
            return Reason(items, f"of the elements of {name_text(items)}: {told[first, second]}")
        if reading_of(name).is_null:
            return Reason(attribute_of(name), words.no_nulls(attribute_of(name)))
        if kind == _PLACE:
            return Reason(attribute_of(name), words.no_places(attribute_of(name)))
        if kind == _EXACT:
            return Reason(name, _ROUNDED[second])
        if kind == asking.SAME_TYPE:
            return Reason(attribute_of(name), words.of_two(name, self._names[second]))
        if kind in (asking.ALL_ELEMENTS, asking.SOME_ELEMENT):
            return Reason(name, words.of_items(name, second))
        if kind == asking.UNLESS_NULL:
            return Reason(attribute_of(name), words.always_null(name, second))
        return Reason(attribute_of(name), words.missing(name, second, is_compared=kind == asking.COMPARED))


_ROUNDED: Final = (
    "its values are 32-bit floats, none of which is this number: 0.1 comes as 0.10000000149",
    "float64 cannot distinguish neighbouring integers from 2**53 on; use strings for such keys",
)
_ELEMENTS: Final = 0
_NULL: Final = 1 << 31
"""The type of a null that was given."""
_TEXTS: Final = 1 << codes.STRING | 1 << codes.LIST
_SCALARS: Final = 1 << codes.NUMBER | 1 << codes.STRING | 1 << codes.BOOLEAN | 1 << codes.INSTANT
_COMPARABLE: Final = _SCALARS | _SCALARS << codes.RANGED
_PLACES: Final = 1 << codes.GEOMETRY | 1 << codes.SHAPE | 1 << codes.LIST


def _read_from(reading: Reading) -> int:
    """The types of values that give a reading; 0 if it is the attribute's own value."""
    if reading.is_condition:
        return ANY
    if reading.is_null or reading.is_from_elsewhere:
        return ANY
    if reading.is_of_place:
        return _PLACES & ~(1 << codes.LIST)
    if reading.is_instant:
        return 1 << codes.STRING | 1 << codes.INSTANT | 1 << (codes.RANGED + codes.INSTANT)
    if reading.is_since:
        return 1 << codes.STRING | 1 << codes.INSTANT
    if reading.is_value:
        return types_read(reading)
    return _TEXTS if reading.is_of_text else _SCALARS if reading.is_array else 0


def _readings(names: list[str]) -> dict[tuple[str, int], NDArray[np.int64]]:
    """The compiled names that are readings, by attribute and by the types of values that have such a reading."""
    found: dict[tuple[str, int], list[int]] = {}
    for number, name in enumerate(names):
        reading = reading_of(name)
        for is_such, bits in (
            (reading.is_condition, _ELEMENTS),
            (reading.is_of_text, _TEXTS),
            (reading.is_of_place, _PLACES),
            (reading.is_array, _SCALARS),
        ):
            if is_such:
                found.setdefault((reading.attribute, bits), []).append(number)
        if reading.is_value:
            found.setdefault((reading.attribute, types_read(reading)), []).append(number)
        if reading.is_since:
            found.setdefault((as_instant(reading.attribute), 1 << codes.INSTANT), []).append(number)
    return {key: np.array(numbers, np.int64) for key, numbers in found.items()}


def _exact(compiled: CompiledExpressions, distinct: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Questions about exact numbers, and the conditions that ask them."""
    rows, asking_conditions = [np.empty((3, 0), np.int64)], [np.empty(0, np.int64)]
    for kind, leaves in ((_SINGLE, constants.of_no_single(compiled)), (_LARGE, constants.of_large_numbers(compiled))):
        own = np.flatnonzero(np.isin(distinct >> 1, leaves))
        attributes = compiled.arrays.leaf_attributes[distinct[own] >> 1].astype(np.int64)
        rows.append(np.stack([np.full(len(own), _EXACT), attributes, np.full(len(own), kind)]))
        asking_conditions.append(own)
    return np.concatenate(rows, axis=1), np.concatenate(asking_conditions)


def _with_all_types(compiled: CompiledExpressions, found: Literals, asks: asking.Asks) -> asking.Asks:
    """Let equalities in one OR ask for any of their types, so that `x IN (500, '500')` accepts a number or a text.

    A leaf in several ORs asks for the union of their types.
    """
    leaves = compiled.arrays
    kinds = leaves.leaf_kinds[found.leaves]
    is_equality = (kinds == codes.RANGE) & (leaves.leaf_lows[found.leaves] == leaves.leaf_highs[found.leaves])
    chosen = np.flatnonzero(found.is_or & ~found.negated & (is_equality | (kinds == codes.IN_SET)))
    own = found.leaves[chosen]
    keys = np.stack([found.groups[chosen], leaves.leaf_attributes[own].astype(np.int64)])
    runs, which = np.unique(keys, axis=1, return_inverse=True)
    union = np.zeros(runs.shape[1], np.int64)
    np.bitwise_or.at(union, which.reshape(-1), asking.types_of(leaves.leaf_kinds[own], leaves.leaf_types[own]))
    allowed = np.zeros(len(leaves.leaf_kinds), np.int64)
    np.bitwise_or.at(allowed, own, union[which.reshape(-1)])
    second = np.where((asks.kinds == asking.OF_TYPE) & ~asks.negated, asks.second | allowed[asks.leaves], asks.second)
    return asks._replace(second=second)


def _apart(compiled: CompiledExpressions, found: Literals) -> dict[Reason, NDArray[np.int64]]:
    """Contradictory conditions, with the expressions that have them."""
    owners, attributes = constants.contradictory(compiled, found)
    return {
        Reason(
            attribute_of(compiled.attributes[number]), "no value satisfies all of these conditions", True
        ): np.unique(owners[attributes == number])
        for number in np.unique(attributes).tolist()
    }


_ALWAYS: Final = Reason("", "always true")
_NEVER: Final = Reason("", "never true")
_NEITHER: Final = Reason("", "neither true nor false of any event")
_CONSTANT: Final = (
    (codes.TRUE_LEAF, _ALWAYS, _NEVER),
    (codes.FALSE_LEAF, _NEVER, _ALWAYS),
    (codes.UNKNOWN_LEAF, _NEITHER, _NEITHER),
)


def _fixed(
    compiled: CompiledExpressions, distinct: NDArray[np.int64]
) -> tuple[NDArray[np.int64], dict[Reason, list[int]]]:
    """The conditions that are constant for all events, and the same by reason for a warning."""
    names, arrays = compiled.attributes, compiled.arrays
    by_side: dict[int, Reason] = {}
    for leaf in np.flatnonzero(constants.empty_ranges(compiled)).tolist():
        by_side[2 * leaf] = Reason(attribute_of(names[arrays.leaf_attributes[leaf]]), "no value lies within")
    for leaf, (text, folded) in constants.unfolded(compiled).items():
        reason = f"folded text is never {constant_text(text)}, which folds to {constant_text(folded)}: fold it, too"
        by_side[2 * leaf] = Reason(names[arrays.leaf_attributes[leaf]], reason)
    for leaf, letters in constants.capitals(compiled).items():
        reason = f"folded text never has {constant_text(letters)}: write the pattern in folded letters, or with (?i)"
        by_side[2 * leaf] = Reason(names[arrays.leaf_attributes[leaf]], reason)
    for leaf in constants.unknown(compiled).tolist():
        by_side[2 * leaf] = by_side[2 * leaf + 1] = Reason("", _NO_NUMBER)
    for leaf in constants.always_null(compiled).tolist():
        by_side[2 * leaf], by_side[2 * leaf + 1] = _ALWAYS, _NEVER
    for kind, as_it_is, negated in _CONSTANT:
        for leaf in np.flatnonzero(arrays.leaf_kinds == kind).tolist():
            by_side[2 * leaf], by_side[2 * leaf + 1] = as_it_is, negated
    sides = np.array(sorted(by_side), np.int64)
    conditions = np.flatnonzero(np.isin(distinct, sides))
    by_reason: dict[Reason, list[int]] = {}
    for condition in conditions.tolist():
        by_reason.setdefault(by_side[int(distinct[condition])], []).append(condition)
    return conditions, by_reason


_NO_NUMBER: Final = f"{_NEITHER.text}: it calculates with what is not a number"
