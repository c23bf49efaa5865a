"""Rules of JSON Logic (https://jsonlogic.com) as conditions, as the engine datalogic evaluates them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from tocsin.errors import ExpressionError
from tocsin.language.dialects.dialect import (
    Dialect,
    Json,
    Reader,
    Wild,
    all_of,
    any_of,
    as_json,
    call,
    like,
    not_true,
    one_of,
)
from tocsin.language.dialects.jsonlogic.comparing import (
    SAID,
    Operand,
    Sum,
    Variable,
    compare,
    is_absent,
    is_true,
    same,
    same_constants,
    same_variables,
)
from tocsin.language.dialects.jsonlogic.operands import LISTS, SIGNS, Operands, defaulted, replaced
from tocsin.model.elements import ELEMENT
from tocsin.model.expression import (
    And,
    Attribute,
    Constant,
    Expression,
    IsNull,
    Not,
    Or,
)

_MOST_PARTS: Final = 1000
_MOST_STEPS: Final = 10_000
_MISSING: Final = ("missing", "missing_some")
_ORDER: Final = ("<", "<=", ">", ">=")
_EQUALITY: Final = ("==", "!=")
_STRICT: Final = ("===", "!==")
_ENDS: Final = ("starts_with", "ends_with")


class JsonLogic(Dialect):
    name, title = "jsonlogic", "JSON Logic"
    taken: ClassVar[Mapping[str, str]] = {
        '{"var": "a.b"}': "the attribute a.b; as a condition, whether it is not null, 0, empty or false",
        '{"var": ["a", 5]}': "a where GIVEN(a), and otherwise 5",
        '{"missing": ["a", "b"]}': "NOT (GIVEN(a) AND GIVEN(b)); null is given; missing_some has AT_LEAST",
        '{"==": [a, 5]}': "= with NUMBER: by value; null is 0, false and the empty text; also !=",
        '{"===": [a, 5]}': "= for values of one type; also !==",
        '{"<": [a, 5]}': "< with NUMBER; strings by code point; also <=, >, >=",
        '{"<": [1, a, 5]}': "1 < a AND a < 5",
        '{"==": [a, b]}': "two variables, by the types of their values; two dates as instants",
        '{"!": a}': "NOT; also !!",
        '{"and": [...]}': "AND; also or; without a list, an error that matches nothing",
        '{"if": [c, a, b]}': "(c AND a) OR (NOT c AND b); also ?:",
        '{"in": ["x", a]}': "LIKE '%x%', or an element of a list",
        '{"in": [a, ["x", 5]]}': "IN; texts that contain a are found in the same way",
        '{"starts_with": [a, "x"]}': "LIKE 'x%'; also ends_with",
        '{"some": [list, c]}': "ANY(list, c); elements for which c is an error are passed over",
        '{"all": [list, c]}': "the list is not empty, and EACH(list, c)",
        '{"none": [list, c]}': "EACH(list, NOT c), or not a list",
        '{"+": [a, 1]}': "arithmetic inside a comparison; also -, *, and / and % by a number that is not 0",
    }
    refused: ClassVar[Mapping[str, str]] = {
        "in of two variables": "the pattern of a LIKE is a constant",
        "an index": "tocsin does not number the elements of lists; use some, all or none",
        "a date or a duration": "strings such as this are compared as instants or durations",
        "a condition as an operand": "only variables, constants and arithmetic are compared",
        "arithmetic as a condition": 'compare it, as in {"!=": [{"-": [{"var": "a"}, 1]}, 0]}',
        "division by a variable": "the result for 0 depends on the type of the values",
        "one number": "arithmetic on one argument sums up lists; give two arguments",
        **dict.fromkeys(("cat", "substr"), "strings are not computed"),
        **dict.fromkeys(("map", "filter", "reduce", "merge"), "lists are not computed; use some, all or none"),
        **dict.fromkeys(("min", "max"), "write comparisons with AND and OR"),
        "log": "a condition has no output",
        "val": "write var",
        "exists": 'write {"!==": [{"var": "a"}, null]}',
    }

    def read(self, rule: Json, reader: Reader) -> Expression:
        return _Reading(reader).condition(rule, True)


class _Reading(Operands):
    """The reading of one rule. `wanted` says whether a condition is to hold where the rule is true, or false."""

    def condition(self, rule: Json, wanted: bool) -> Expression:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise ExpressionError("the rule is too large: conditions that may raise errors are read more than once")
        if not isinstance(rule, Mapping):
            return self._constant_truth(rule, wanted)
        name, arguments = self._operation(rule)
        if (found := self._with_default(rule, wanted)) is not None:
            return found
        with self._reader.at(name):
            if name == "var":
                return self._noted(rule, is_true(self._variable(arguments), wanted, self._reader), wanted)
            if self._lacks_list(rule):
                return Constant(False)
            if name in ("and", "or"):
                return self._all(arguments, wanted) if name == "and" else self._any(arguments, wanted)
            if name in ("if", "?:"):
                return self._choice(arguments, wanted)
            if name in ("!", "!!"):
                self._count(name, arguments, 1)
                with self._reader.at(0):
                    return self.condition(arguments[0], wanted is (name == "!!"))
            return self._noted(rule, self._predicate(name, arguments, wanted), wanted)

    def raises(self, rule: Json) -> bool:
        """Whether a rule may raise an error."""
        if not isinstance(rule, Mapping):
            return False
        name, arguments = self._operation(rule)
        if name in (*_ORDER, *_EQUALITY) or self._lacks_list(rule):
            return True
        if name in LISTS:
            return self.raises(arguments[1]) if len(arguments) == 2 else False
        return any(self.raises(one) for one in arguments)

    def _lacks_list(self, rule: Mapping[str, Json]) -> bool:
        """Whether an operator of logic has one argument that is not in a list, which raises an error."""
        ((name, given),) = rule.items()
        return name in ("and", "or", "if", "?:") and not isinstance(given, list | tuple)

    # ---- parts of a rule

    def _noted(self, rule: Json, node: Expression, wanted: bool) -> Expression:
        text = as_json(rule)
        whole = call("HOLDS", node) if isinstance(node, And | Or | Not) else node
        return self._reader.note(whole, text if wanted else f"NOT {text}")

    def _constant_truth(self, rule: Json, wanted: bool) -> Expression:
        if isinstance(rule, list | tuple) and rule:
            self._reader.fail("a list is not a condition")
        return Constant(bool(rule) is wanted)

    # ---- logic

    def _all(self, arguments: Sequence[Json], wanted: bool) -> Expression:
        """`and`: the first part that raises an error or is false decides."""
        return self._first(arguments, wanted, True)

    def _any(self, arguments: Sequence[Json], wanted: bool) -> Expression:
        return self._first(arguments, wanted, False)

    def _first(self, arguments: Sequence[Json], wanted: bool, goes_on: bool) -> Expression:
        """Parts are evaluated while they are `goes_on`. A part that may raise an error hides those after it."""
        if not arguments:
            self._reader.fail("a list of conditions is needed, not an empty one")
        if wanted is goes_on:
            return all_of([self._part(place, one, wanted) for place, one in enumerate(arguments)])
        parts = [self._part(place, one, wanted) for place, one in enumerate(arguments)]
        passed = [self._part(place, one, goes_on) for place, one in enumerate(arguments[:-1]) if self.raises(one)]
        if not passed:
            return any_of(parts)
        raising = iter(passed)
        return _decided(parts, [next(raising) if self.raises(one) else None for one in arguments[:-1]])

    def _part(self, place: int, rule: Json, wanted: bool) -> Expression:
        with self._reader.at(place):
            return self.condition(rule, wanted)

    def _choice(self, arguments: Sequence[Json], wanted: bool) -> Expression:
        """`if`: pairs of a condition and what then counts, and perhaps what counts otherwise."""
        results: list[Expression] = []
        passed: list[Expression | None] = []
        for first in range(0, len(arguments) - 1, 2):
            condition = self._part(first, arguments[first], True)
            results.append(all_of([condition, self._part(first + 1, arguments[first + 1], wanted)]))
            passed.append(self._part(first, arguments[first], False))
        is_odd = len(arguments) % 2 == 1
        last = self._part(len(arguments) - 1, arguments[-1], wanted) if is_odd else Constant(not wanted)
        return _decided([*results, last], passed)

    # ---- predicates

    def _predicate(self, name: str, arguments: Sequence[Json], wanted: bool) -> Expression:
        if name in _ORDER and len(arguments) > 2:
            return self._between(name, arguments, wanted)
        if name in (*_ORDER, *_EQUALITY, *_STRICT, "in", *_ENDS, *LISTS):
            self._count(name, arguments, 2)
        if name in LISTS:
            return self._of_list(name, arguments, wanted)
        if name in _MISSING:
            return self._missing(name, arguments, wanted)
        if name == "in":
            return self._within(arguments, wanted)
        if name in _ENDS:
            return self._end_of_text(name, arguments, wanted)
        if name in _STRICT:
            return self._strict(self._operands(arguments), wanted is (name == "==="))
        if name in SAID:
            left, right = self._operands(arguments)
            return compare(name, left, right, wanted, self._reader)
        if name in SIGNS:
            self._reader.refuse("arithmetic as a condition")
        return self._reader.unknown(
            "operator", name, (*SAID, *_STRICT, *LISTS, *_MISSING, *_ENDS, "and", "if", "in", "or", "var", "!", "!!")
        )

    def _operands(self, arguments: Sequence[Json]) -> list[Operand]:
        found = []
        for place, one in enumerate(arguments):
            with self._reader.at(place):
                found.append(self._operand(one))
        return found

    def _between(self, name: str, arguments: Sequence[Json], wanted: bool) -> Expression:
        operands = self._operands(arguments)
        pairs = list(itertools.pairwise(operands))
        holds = [compare(name, left, right, True, self._reader) for left, right in pairs]
        if wanted:
            return all_of(holds)
        fails = [compare(name, left, right, False, self._reader) for left, right in pairs]
        return any_of([all_of([*holds[:place], one]) for place, one in enumerate(fails)])

    def _strict(self, operands: Sequence[Operand], wanted: bool) -> Expression:
        left, right = operands
        if isinstance(left, Sum) or isinstance(right, Sum):
            self._reader.fail("arithmetic is compared by ==, not by ===")
        if isinstance(right, Variable):
            left, right = right, left
        if isinstance(right, Variable):
            assert isinstance(left, Variable)
            return same_variables(left, right, wanted, self._reader)
        if not isinstance(left, Variable):
            return Constant(same_constants(left, right) is wanted)
        return same(left, right, wanted, self._reader)

    def _within(self, arguments: Sequence[Json], wanted: bool) -> Expression:
        """`in`: a part of a string, or an element of a list."""
        reader = self._reader
        with reader.at(0):
            part = self._operand(arguments[0])
        with reader.at(1):
            if isinstance(part, Variable):
                found = self._one_of(part, arguments[1])
            elif isinstance(part, Sum):
                reader.fail("arithmetic is compared by ==, not by in")
            elif isinstance(arguments[1], list | tuple):
                found = Constant(part in [self._constant(one) for one in arguments[1]])
            else:
                found = self._contains(self._operand(arguments[1]), part)
        return found if wanted else not_true(found)

    def _one_of(self, variable: Variable, whole: Json) -> Expression:
        if isinstance(whole, list | tuple):
            values = [self._constant(one) for one in whole]
            given = [one for one in values if one is not None]
            parts = [one_of(variable.value, given)] if given else []
            return any_of([*parts, *([same(variable, None, True, self._reader)] if None in values else [])])
        if isinstance(whole, Mapping):
            self._reader.refuse("in of two variables")
        if not isinstance(whole, str):
            return Constant(False)
        parts_of = {whole[first:stop] for first in range(len(whole) + 1) for stop in range(first, len(whole) + 1)}
        if len(parts_of) > _MOST_PARTS:
            self._reader.fail(f"the string has more than {_MOST_PARTS} parts, which are all compared")
        return one_of(variable.value, [Constant(one) for one in sorted(parts_of)])

    def _contains(self, whole: Operand, part: Constant | None) -> Expression:
        if not isinstance(whole, Variable):
            texts = [getattr(one, "value", None) for one in (part, whole)]
            return Constant(all(isinstance(one, str) for one in texts) and str(texts[0]) in str(texts[1]))
        if part is None:
            self._reader.fail("tocsin cannot tell an element null from an element that is an object")
        element = call("ANY", whole.value, one_of(Attribute(ELEMENT), [part]))
        text = [like(whole.value, Wild.RUN, part.value, Wild.RUN)] if isinstance(part.value, str) else []
        return any_of([*text, element])

    def _end_of_text(self, name: str, arguments: Sequence[Json], wanted: bool) -> Expression:
        """`starts_with` or `ends_with`, as flagd has them. A value that is not a string is an empty one."""
        text, part = self._operands(arguments)
        if not isinstance(text, Variable) or not isinstance(part, Constant):
            self._reader.fail(f"{name} takes a variable and a string")
        end = self._reader.string(part.value, name)
        if not end:
            return Constant(wanted)
        parts: list[str | Wild] = [end, Wild.RUN] if name == "starts_with" else [Wild.RUN, end]
        held = like(text.value, *parts)
        return held if wanted else not_true(held)

    # ---- lists

    def _of_list(self, name: str, arguments: Sequence[Json], wanted: bool) -> Expression:
        if arguments[0] == []:
            return Constant((name == "none") is wanted)
        with self._reader.at(0):
            items = self._operand(arguments[0])
            if not isinstance(items, Variable):
                self._reader.fail(f"{name} needs a variable")
        some = call("ANY", items.value, Constant(True))
        if name == "all" and wanted:
            return all_of([some, self._of_elements("EACH", items, arguments[1], True)])
        if name != "all" and wanted is (name == "none"):
            return any_of([IsNull(some), self._of_elements("EACH", items, arguments[1], False)])
        found = self._of_elements("ANY", items, arguments[1], name != "all")
        return any_of([IsNull(some), Not(some), found]) if name == "all" else found

    def _of_elements(self, function: str, items: Variable, rule: Json, wanted: bool) -> Expression:
        """ANY or EACH: elements for which a rule comes out as wanted."""
        self._depth += 1
        try:
            with self._reader.at(1):
                node = self.condition(rule, wanted)
        finally:
            self._depth -= 1
        return self._reader.made(lambda: call(function, items.value, node))

    # ---- absent values

    def _missing(self, name: str, arguments: Sequence[Json], wanted: bool) -> Expression:
        """`missing`: a value is absent. `missing_some`: one is absent, and fewer than a number are given."""
        paths: Json = arguments
        if name == "missing_some":
            self._count(name, arguments, 2)
            paths = self._reader.items(arguments[1], name)
        elif len(arguments) == 1 and isinstance(arguments[0], list | tuple):
            paths = arguments[0]
        absent = [is_absent(self._variable([one])) for one in paths]
        least = len(absent)
        if name == "missing_some":
            least = max(0, min(least, int(self._reader.number(arguments[0], name))))
        given = [Not(one) for one in absent]
        if 0 < least < len(given):
            enough = self._reader.made(lambda: call("AT_LEAST", Constant(float(least)), *given))
        else:
            enough = all_of(given) if least else Constant(True)
        return Not(enough) if wanted else enough

    def _with_default(self, rule: Json, wanted: bool) -> Expression | None:
        """A rule with a variable that has a default, as one for the variable and one for the default."""
        found = defaulted(rule)
        if found is None:
            return None
        variable = self._variable([found["var"][0]])
        absent = is_absent(variable)
        parts = [
            all_of([Not(absent), self.condition(replaced(rule, found, {"var": found["var"][0]}), wanted)]),
            all_of([absent, self.condition(replaced(rule, found, found["var"][1]), wanted)]),
        ]
        return self._noted(rule, any_of(parts), wanted)


def _decided(results: Sequence[Expression], passed: Sequence[Expression | None]) -> Expression:
    """Whether some result holds and all parts before it were passed.

    Halves of the results keep the condition flat: its depth is log n and its size n log n.
    """
    if len(results) == 1:
        return results[0]
    middle = len(results) // 2
    before = [one for one in passed[:middle] if one is not None]
    later = all_of([*before, _decided(results[middle:], passed[middle:])])
    return any_of([_decided(results[:middle], passed[:middle]), later])
