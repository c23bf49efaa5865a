"""Operands in rules of JSON Logic: variables, constants and arithmetic."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tocsin.language.dialects.dialect import Json, Reader, call
from tocsin.language.dialects.jsonlogic.comparing import Operand, Sum, Variable, number_of
from tocsin.model.elements import ELEMENT
from tocsin.model.expression import Arithmetic, ArithmeticOperator, Constant, Expression
from tocsin.model.subscription import shown

LISTS: Final = ("some", "all", "none")
LOGIC: Final = ("and", "or", "if", "?:", "!", "!!")
SIGNS: Final[dict[str, ArithmeticOperator]] = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "%"}
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d")
_DURATION: Final = re.compile(r"\d[\d:]*[dhms][\ddhms:]*")


class Operands:
    """Reads operands, and knows where in a rule it reads."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._depth = 0  # of lists
        self._steps = 0

    def _operation(self, rule: Mapping[str, Json]) -> tuple[str, Sequence[Json]]:
        if len(rule) != 1:
            self._reader.fail(f"a rule is an object with one operator, not {len(rule)}")
        ((name, given),) = rule.items()
        return name, given if isinstance(given, list | tuple) else [given]

    def _count(self, name: str, arguments: Sequence[Json], count: int) -> None:
        if len(arguments) != count:
            self._reader.fail(f"{name} takes {count} argument{'s' * (count > 1)}, not {len(arguments)}")

    def _variable(self, arguments: Sequence[Json]) -> Variable:
        reader = self._reader
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
            if name in SIGNS:
                return self._arithmetic(name, arguments)
            return self._reader.refuse(name if name in self._reader.dialect.refused else "a condition as an operand")

    def _constant(self, rule: Json) -> Constant | None:
        if rule is None:
            return None
        if isinstance(rule, str) and (_MOMENT.match(rule) or _DURATION.fullmatch(rule)):
            self._reader.refuse("a date or a duration")
        return self._reader.constant(rule)

    def _summand(self, constant: Constant | None) -> Constant:
        number = number_of("<", constant)
        if number is None:
            self._reader.fail("arithmetic needs a number, or a text that spells one")
        return Constant(number)

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
                    nodes.append(self._summand(found))
                if place and name in ("/", "%") and not isinstance(found, Constant):
                    reader.refuse("division by a variable")
                if place and name in ("/", "%") and nodes[-1] == Constant(0.0):
                    reader.fail("a division by 0")
        node = nodes[0]
        for one in nodes[1:]:
            node = Arithmetic(SIGNS[name], node, one)
        return Sum(node, tuple(dict.fromkeys(variables)))


def defaulted(rule: Json) -> Json:
    """The first variable with a default that an operator other than those of logic compares; None if there is none."""
    if not isinstance(rule, Mapping) or len(rule) != 1:
        return None
    ((name, given),) = rule.items()
    arguments = given if isinstance(given, list | tuple) else [given]
    if name == "var":
        return rule if len(arguments) == 2 else None
    if name in LOGIC:
        return None
    searched = arguments[:1] if name in LISTS else arguments
    return next((found for one in searched if (found := defaulted(one)) is not None), None)


def replaced(rule: Json, part: Json, by: Json) -> Json:
    """A rule with one part, which is found by identity, replaced."""
    if rule is part:
        return by
    if isinstance(rule, Mapping):
        return {name: replaced(one, part, by) for name, one in rule.items()}
    return [replaced(one, part, by) for one in rule] if isinstance(rule, list | tuple) else rule
