"""Rules of JSON Logic (https://jsonlogic.com) as conditions, as the engine datalogic evaluates them."""

from __future__ import annotations

import itertools
import re
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
    is_true,
    same,
    same_constants,
)
from tocsin.model.elements import ELEMENT
from tocsin.model.expression import (
    And,
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Constant,
    Expression,
    IsNull,
    Not,
    Or,
)
from tocsin.model.subscription import shown

_MOST_PARTS: Final = 1000
_MOST_STEPS: Final = 50_000
_ORDER: Final = ("<", "<=", ">", ">=")
_EQUALITY: Final = ("==", "!=")
_STRICT: Final = ("===", "!==")
_LISTS: Final = ("some", "all", "none")
_SIGNS: Final[dict[str, ArithmeticOperator]] = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "%"}
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d")
_DURATION: Final = re.compile(r"\d[\d:]*[dhms][\ddhms:]*")


class JsonLogic(Dialect):
    name, title = "jsonlogic", "JSON Logic"
    taken: ClassVar[Mapping[str, str]] = {
        '{"var": "a.b"}': "the attribute a.b; as a condition, whether it is not null, 0, empty or false",
        '{"==": [a, 5]}': "= with NUMBER: by value; null is 0, false and the empty text; also !=",
        '{"===": [a, 5]}': "= for values of one type; also !==",
        '{"<": [a, 5]}': "< with NUMBER; strings by code point; also <=, >, >=",
        '{"<": [1, a, 5]}': "1 < a AND a < 5",
        '{"!": a}': "NOT; also !!",
        '{"and": [...]}': "AND; also or",
        '{"if": [c, a, b]}': "(c AND a) OR (NOT c AND b); also ?:",
        '{"in": ["x", a]}': "LIKE '%x%', or an element of a list",
        '{"in": [a, ["x", 5]]}': "IN; texts that contain a are found in the same way",
        '{"some": [list, c]}': "ANY(list, c)",
        '{"all": [list, c]}': "the list is not empty, and NOT ANY(list, NOT c)",
        '{"none": [list, c]}': "NOT ANY(list, c), or not a list",
        '{"+": [a, 1]}': "arithmetic inside a comparison; also -, *, and / and % by a number that is not 0",
    }
    refused: ClassVar[Mapping[str, str]] = {
        "two variables": "two strings may be dates, which JSON Logic compares as instants; to compare numbers, compare "
        'a difference with 0: {"<": [{"-": [{"var": "a"}, {"var": "b"}]}, 0]}',
        "a default": "it stands for a value that is absent, but not for null, and tocsin does not distinguish these",
        "an index": "tocsin does not number the elements of lists; use some, all or none",
        "a date or a duration": "strings such as this are compared as instants or durations",
        "a condition as an operand": "only variables, constants and arithmetic are compared",
        "arithmetic as a condition": 'compare it, as in {"!=": [{"-": [{"var": "a"}, 1]}, 0]}',
        "division by a variable": "the result for 0 depends on the type of the values",
        "one number": "arithmetic on one argument sums up lists; give two arguments",
        "an order of elements": "the condition raises an error for some types of elements, and then the order of the "
        "elements decides; compare by ===, !== or in",
        "missing": "it finds null present, and tocsin does not distinguish null from absence; write "
        '{"===": [{"var": "a"}, null]}',
        "missing_some": "see missing",
        **dict.fromkeys(("cat", "substr"), "strings are not computed"),
        **dict.fromkeys(("map", "filter", "reduce", "merge"), "lists are not computed; use some, all or none"),
        **dict.fromkeys(("min", "max"), "write comparisons with AND and OR"),
        "log": "a condition has no output",
        "val": "write var",
        "exists": 'write {"!==": [{"var": "a"}, null]}',
    }

    def read(self, rule: Json, reader: Reader) -> Expression:
        return _Reading(reader).condition(rule, True)


class _Reading:
    """The reading of one rule. `wanted` says whether a condition is to hold where the rule is true, or false."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._depth = 0  # of lists
        self._steps = 0

    def condition(self, rule: Json, wanted: bool) -> Expression:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise ExpressionError("the rule is too large: conditions that may raise errors are read more than once")
        if not isinstance(rule, Mapping):
            return self._constant_truth(rule, wanted)
        name, arguments = self._operation(rule)
        with self._reader.at(name):
            if name == "var":
                return self._noted(rule, is_true(self._variable(arguments), wanted, self._reader), wanted)
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
        if name in (*_ORDER, *_EQUALITY):
            return True
        if name in _LISTS:
            return self.raises(arguments[1]) if len(arguments) == 2 else False
        return any(self.raises(one) for one in arguments)

    # ---- parts of a rule

    def _operation(self, rule: Mapping[str, Json]) -> tuple[str, Sequence[Json]]:
        if len(rule) != 1:
            self._reader.fail(f"a rule is an object with one operator, not {len(rule)}")
        ((name, given),) = rule.items()
        return name, given if isinstance(given, list | tuple) else [given]

    def _noted(self, rule: Json, node: Expression, wanted: bool) -> Expression:
        text = as_json(rule)
        whole = call("HOLDS", node) if isinstance(node, And | Or | Not) else node
        return self._reader.note(whole, text if wanted else f"NOT {text}")

    def _count(self, name: str, arguments: Sequence[Json], count: int) -> None:
        if len(arguments) != count:
            self._reader.fail(f"{name} takes {count} argument{'s' * (count > 1)}, not {len(arguments)}")

    def _constant_truth(self, rule: Json, wanted: bool) -> Expression:
        if isinstance(rule, list | tuple) and rule:
            self._reader.fail("a list is not a condition")
        return Constant(bool(rule) is wanted)

    def _variable(self, arguments: Sequence[Json]) -> Variable:
        reader = self._reader
        if len(arguments) == 2:
            reader.refuse("a default")
        path = arguments[0] if len(arguments) == 1 else None
        if isinstance(path, int | float) and not isinstance(path, bool):
            reader.refuse("an index")
        name = reader.string(path, "var")
        if not name and self._depth:
            return Variable(ELEMENT)
        steps = name.split(".")
        if not all(steps):
            reader.fail(f"var needs the name of a value, not {shown(name)}")
        if any(step.isdigit() for step in steps):
            reader.refuse("an index")
        if self._depth and steps[0] == ELEMENT:
            reader.fail(f"a field of elements cannot be called {ELEMENT} here")
        return Variable(name)

    def _operand(self, rule: Json) -> Operand:
        if not isinstance(rule, Mapping):
            return self._constant(rule)
        name, arguments = self._operation(rule)
        with self._reader.at(name):
            if name == "var":
                return self._variable(arguments)
            if name in _SIGNS:
                return self._arithmetic(name, arguments)
            return self._reader.refuse(name if name in JsonLogic.refused else "a condition as an operand")

    def _constant(self, rule: Json) -> Constant | None:
        if rule is None:
            return None
        if isinstance(rule, str) and (_MOMENT.match(rule) or _DURATION.fullmatch(rule)):
            self._reader.refuse("a date or a duration")
        return self._reader.constant(rule)

    def _arithmetic(self, name: str, arguments: Sequence[Json]) -> Sum:
        reader = self._reader
        if len(arguments) < 2:
            reader.refuse("one number")
        nodes: list[Expression] = []
        variables: list[Variable] = []
        for place, argument in enumerate(arguments):
            with reader.at(place):
                found = self._operand(argument)
                if isinstance(found, Variable):
                    found = Sum(call("NUMBER", found.value), (found,))
                if isinstance(found, Sum):
                    nodes.append(found.node)
                    variables += found.variables
                else:
                    nodes.append(Constant(reader.number(argument, name)))
                if place and name in ("/", "%") and not isinstance(found, Constant):
                    reader.refuse("division by a variable")
                if place and name in ("/", "%") and nodes[-1] == Constant(0.0):
                    reader.fail("a division by 0")
        node = nodes[0]
        for one in nodes[1:]:
            node = Arithmetic(_SIGNS[name], node, one)
        return Sum(node, tuple(dict.fromkeys(variables)))

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
        parts, before = [], list[Expression]()
        for place, one in enumerate(arguments):
            parts.append(all_of([*before, self._part(place, one, wanted)]))
            if self.raises(one) and place < len(arguments) - 1:
                before.append(self._part(place, one, goes_on))
        return any_of(parts)

    def _part(self, place: int, rule: Json, wanted: bool) -> Expression:
        with self._reader.at(place):
            return self.condition(rule, wanted)

    def _choice(self, arguments: Sequence[Json], wanted: bool, first: int = 0) -> Expression:
        """`if`: pairs of a condition and what then counts, and perhaps what counts otherwise."""
        left = len(arguments) - first
        if left == 0:
            return Constant(not wanted)
        if left == 1:
            return self._part(first, arguments[first], wanted)
        then = all_of([self._part(first, arguments[first], True), self._part(first + 1, arguments[first + 1], wanted)])
        otherwise = self._choice(arguments, wanted, first + 2)
        return any_of([then, all_of([self._part(first, arguments[first], False), otherwise])])

    # ---- predicates

    def _predicate(self, name: str, arguments: Sequence[Json], wanted: bool) -> Expression:
        if name in _ORDER and len(arguments) > 2:
            return self._between(name, arguments, wanted)
        if name in (*_ORDER, *_EQUALITY, *_STRICT, "in", *_LISTS):
            self._count(name, arguments, 2)
        if name in _LISTS:
            return self._of_list(name, arguments, wanted)
        if name == "in":
            return self._within(arguments, wanted)
        if name in _STRICT:
            return self._strict(self._operands(arguments), wanted is (name == "==="))
        if name in SAID:
            left, right = self._operands(arguments)
            return compare(name, left, right, wanted, self._reader)
        if name in _SIGNS:
            self._reader.refuse("arithmetic as a condition")
        return self._reader.unknown(
            "operator", name, (*SAID, *_STRICT, *_LISTS, "and", "if", "in", "or", "var", "!", "!!")
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
            self._reader.refuse("two variables")
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
            self._reader.refuse("two variables")
        if not isinstance(whole, str):
            return Constant(False)
        parts_of = {whole[first:stop] for first in range(len(whole) + 1) for stop in range(first, len(whole) + 1)}
        if len(parts_of) > _MOST_PARTS:
            self._reader.fail(f"the string has more than {_MOST_PARTS} parts, which are all compared")
        return one_of(variable.value, [Constant(one) for one in sorted(parts_of)])

    def _contains(self, whole: Operand, part: Constant | None) -> Expression:
        if not isinstance(whole, Variable):
            self._reader.fail("in needs a variable; nothing else depends on the event")
        if part is None:
            self._reader.fail("tocsin cannot tell an element null from an element that is an object")
        element = call("ANY", whole.value, one_of(Attribute(ELEMENT), [part]))
        text = [like(whole.value, Wild.RUN, part.value, Wild.RUN)] if isinstance(part.value, str) else []
        return any_of([*text, element])

    # ---- lists

    def _of_list(self, name: str, arguments: Sequence[Json], wanted: bool) -> Expression:
        with self._reader.at(0):
            items = self._operand(arguments[0])
            if not isinstance(items, Variable):
                self._reader.fail(f"{name} needs a variable")
        is_any = (name == "some") is wanted if name != "all" else False
        if name != "all" and not is_any:  # no element is one
            return any_of([self._is_no_list(items), Not(self._element(items, arguments[1], False, opposite=True))])
        if name == "all" and wanted:
            some = call("ANY", items.value, Constant(True))
            return all_of([some, Not(self._element(items, arguments[1], True, opposite=True))])
        if self.raises(arguments[1]):
            self._reader.refuse("an order of elements")
        found = self._element(items, arguments[1], name != "all", opposite=False)
        if name != "all":
            return found
        return any_of([self._is_no_list(items), Not(call("ANY", items.value, Constant(True))), found])

    def _is_no_list(self, items: Variable) -> Expression:
        return IsNull(call("ANY", items.value, Constant(True)))

    def _element(self, items: Variable, rule: Json, wanted: bool, *, opposite: bool) -> Expression:
        """ANY: an element for which a rule comes out as wanted or, if `opposite`, does not."""
        self._depth += 1
        try:
            with self._reader.at(1):
                node = self.condition(rule, wanted)
        finally:
            self._depth -= 1
        inner = not_true(node) if opposite else node
        return self._reader.made(lambda: call("ANY", items.value, inner))
