"""Rules of the npm package json-rules-engine as conditions: facts are attributes, and an absent one is undefined."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Final

from tocsin.errors import ExpressionError
from tocsin.language.dialects.dialect import (
    TRUTHS,
    Dialect,
    Json,
    Reader,
    all_of,
    any_of,
    as_json,
    call,
    is_given_null,
    is_list,
    is_number,
    is_string,
    not_true,
    one_of,
)
from tocsin.language.operators.number import as_number
from tocsin.model.elements import ELEMENT
from tocsin.model.expression import (
    And,
    Attribute,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    Not,
    Or,
)
from tocsin.model.subscription import shown

_BOOLEANS: Final = ("any", "all", "not")
_MOST_CONDITIONS: Final = 10_000
_ORDER: Final[dict[str, ComparisonOperator]] = {
    "lessThan": "<",
    "lessThanInclusive": "<=",
    "greaterThan": ">",
    "greaterThanInclusive": ">=",
}
_EQUALITY: Final = {"equal": True, "notEqual": False}
_MEMBERSHIP: Final = {"in": True, "notIn": False}
_CONTAINMENT: Final = {"contains": True, "doesNotContain": False}
_OPERATORS: Final = (*_EQUALITY, *_ORDER, *_MEMBERSHIP, *_CONTAINMENT)
_DECORATORS: Final = ("not", "someFact", "everyFact", "someValue", "everyValue")
_STEP: Final = re.compile(r"""\.?([A-Za-z_][\w-]*)|\[(?:'([^'"\]`]+)'|"([^'"\]`]+)")\]""")
_SPELLS_NUMBER: Final = r"^[\s\v\x{a0}\x{feff}]*[+-]?(?:Infinity|\.?[0-9])"
"""A string of which `parseFloat` makes a number."""


class JsonRulesEngine(Dialect):
    name, title = "json-rules-engine", "json-rules-engine"
    taken: ClassVar[Mapping[str, str]] = {
        '{"all": [...]}': "AND; an empty list is true",
        '{"any": [...]}': "OR; an empty list is true, as in the package",
        '{"not": {...}}': "NOT, with two truths",
        '{"condition": "name"}': "the condition that the rule has under named: {name: conditions}",
        '{"fact": "a", "path": "$.b.c"}': "the attribute a.b.c, or a where it is not an object",
        "equal": "= for values of one type, as ===; also null; notEqual is its opposite",
        "lessThan": "< with NUMBER for numbers and strings; also lessThanInclusive, greaterThan, greaterThanInclusive",
        "in": "IN a list of the rule; also notIn",
        "contains": "ANY(list, element = value); also doesNotContain, which needs a list",
        '{"value": {"fact": "b"}}': "two attributes, in equal, notEqual and the four orders",
        "not:equal": "decorators: not:, someFact:, everyFact:, someValue:, everyValue:",
        "event": "not part of the condition; tocsin convert makes it the payload",
    }
    refused: ClassVar[Mapping[str, str]] = {
        "a path": "steps are names: $.a.b or $['a']; elements, wildcards and filters of JSONPath are not read",
        "the path length": "a list has one, too; LENGTH(list) is the number of its elements",
        "in of a string": "JavaScript then looks for the fact's text in it; give a list",
        "a list of facts": "only the values of the rule are compared with elements",
        "null in a list": "tocsin cannot tell an element null from an element that is an object",
        "an order of lists": "JavaScript compares the texts of lists and objects; give a number or a string",
        "a fact of an element": "decorators of lists compare elements with the values of the rule",
        "a list in a list": "elements of inner lists are not read",
        "swap": "exchange the fact and the value, and turn the operator around",
        "a named condition": "write named: {name: conditions} in the rule",
    }

    def read(self, rule: Json, reader: Reader) -> Expression:
        whole = reader.members(rule, "a rule")
        reading = _Reading(reader, whole.get("named", {}))
        if "conditions" not in whole:
            return reading.root(whole)
        with reader.at("conditions"):
            return reading.root(reader.members(whole["conditions"], "conditions"))


@dataclass(frozen=True, slots=True)
class Fact:
    """A value of the event: an attribute, or an element of a list."""

    name: str
    outer: str = ""
    """The fact itself, if this is a value inside it."""

    @property
    def value(self) -> Attribute:
        return Attribute(self.name)

    @property
    def is_element(self) -> bool:
        return self.name == ELEMENT

    def is_single(self) -> list[Expression]:
        """Whether no value around this one is a list. tocsin also reads attributes inside of lists."""
        steps = self.name[len(self.outer) :].split(".")[:-1] if self.outer else []
        names = accumulate(steps, lambda whole, step: f"{whole}.{step}", initial=self.outer) if steps else ()
        return [not_true(is_list(Attribute(name))) for name in list(names)[1:] or [self.outer] if name]


class _Reading:
    """The reading of one rule."""

    def __init__(self, reader: Reader, named: Json) -> None:
        self._reader = reader
        self._named: Mapping[str, Json] = named if isinstance(named, Mapping) else {}
        self._open: list[str] = []  # named conditions that are being read
        self._count = 0

    # ---- conditions

    def root(self, rule: Mapping[str, Json]) -> Expression:
        """The conditions of a rule."""
        if not any(name in rule for name in (*_BOOLEANS, "condition")):
            self._reader.fail("the root of conditions is all, any, not or condition")
        return self._condition(rule)

    def _condition(self, given: Json) -> Expression:
        self._count += 1
        if self._count > _MOST_CONDITIONS:
            raise ExpressionError(f"the rule has more than {_MOST_CONDITIONS:,} conditions, with named ones")
        rule = self._reader.members(given, "a condition")
        booleans = [name for name in _BOOLEANS if name in rule]
        if len(booleans) > 1:
            self._reader.fail(f"the package would read {booleans[0]} and ignore {booleans[1]}; nest them")
        if "condition" in rule:
            return self._named_condition(rule["condition"])
        if not booleans:
            return self._note(rule, self._comparison(rule))
        (name,) = booleans
        with self._reader.at(name):
            return self._junction(name, rule[name])

    def _junction(self, name: str, parts: Json) -> Expression:
        if name == "not":
            return not_true(self._condition(parts))
        if not isinstance(parts, list | tuple):
            self._reader.fail(f"{name} needs a list, not {shown(parts)}")
        read: list[Expression] = []
        for place, part in enumerate(parts):
            with self._reader.at(place):
                read.append(self._condition(part))
        return all_of(read) if name == "all" or not read else any_of(read)

    def _named_condition(self, given: Json) -> Expression:
        name = self._reader.string(given, "condition")
        if name not in self._named:
            self._reader.refuse("a named condition")
        if name in self._open:
            self._reader.fail(f"the condition {shown(name)} refers to itself")
        self._open.append(name)
        with self._reader.at("named"), self._reader.at(name):
            read = self.root(self._reader.members(self._named[name], "a named condition"))
        self._open.pop()
        return read

    def _note(self, rule: Json, node: Expression) -> Expression:
        whole = call("HOLDS", node) if isinstance(node, And | Or | Not) else node
        return self._reader.note(whole, as_json(rule))

    # ---- comparisons

    def _comparison(self, rule: Mapping[str, Json]) -> Expression:
        for member in ("fact", "operator", "value"):
            if member not in rule:
                self._reader.fail(f"a condition needs fact, operator and value; {member} is missing")
        fact = self._fact(rule)
        with self._reader.at("operator"):
            operator = self._reader.string(rule["operator"], "operator")
            *decorators, last = operator.split(":")
            for decorator in decorators:
                if decorator not in _DECORATORS:
                    self._reader.unknown("decorator", decorator, _DECORATORS)
            if last not in _OPERATORS:
                self._reader.unknown("operator", last, _OPERATORS)
        with self._reader.at("value"):
            value = rule["value"]
            if isinstance(value, Mapping) and "fact" in value:
                value = self._fact(value)
            return self._decorated(operator, fact, value)

    def _fact(self, rule: Mapping[str, Json]) -> Fact:
        with self._reader.at("fact"):
            name = self._reader.string(rule["fact"], "fact")
            if not all(name.split(".")):
                self._reader.fail(f"fact needs the name of a value, not {shown(name)}")
        if not rule.get("path"):
            return Fact(name)
        with self._reader.at("path"):
            steps = self._steps(self._reader.string(rule["path"], "path"))
        return Fact(".".join((name, *steps)), name) if steps else Fact(name)

    def _steps(self, path: str) -> list[str]:
        """The names in a path of JSONPath."""
        place = int(path.startswith("$"))
        steps: list[str] = []
        while place < len(path):
            step = _STEP.match(path, place)
            if step is None or (place == 0 and path.startswith(".")):
                self._reader.refuse("a path")
            steps.append(next(name for name in step.groups() if name is not None))
            place = step.end()
        if "length" in steps:
            self._reader.refuse("the path length")
        if not all(all(step.split(".")) for step in steps):
            self._reader.refuse("a path")
        return steps

    def _decorated(self, operator: str, fact: Fact, value: Json) -> Expression:
        """A comparison by an operator, which may have decorators before it."""
        decorator, colon, rest = operator.partition(":")
        if not colon:
            return self._compared(operator, fact, value)
        if decorator == "not":
            return not_true(self._decorated(rest, fact, value))
        if decorator in ("someValue", "everyValue"):
            join = any_of if decorator == "someValue" else all_of
            return join([self._decorated(rest, fact, item) for item in self._list(value, decorator)])
        if fact.is_element:
            self._reader.refuse("a list in a list")
        if isinstance(value, Fact):
            self._reader.refuse("a fact of an element")
        inner = self._decorated(rest, Fact(ELEMENT), value)
        if decorator == "someFact":
            return all_of([*fact.is_single(), self._reader.made(lambda: call("ANY", fact.value, inner))])
        each = self._reader.made(lambda: call("EACH", fact.value, call("HOLDS", inner)))
        return all_of([*fact.is_single(), is_list(fact.value), each])

    def _compared(self, operator: str, fact: Fact, value: Json) -> Expression:
        if operator in _EQUALITY:
            same = self._same_facts(fact, value) if isinstance(value, Fact) else self._equal(fact, [value])
            return same if _EQUALITY[operator] else not_true(same)
        if operator in _ORDER:
            return self._ordered(_ORDER[operator], fact, value)
        if operator in _MEMBERSHIP:
            within = self._equal(fact, self._list(value, operator))
            return within if _MEMBERSHIP[operator] else not_true(within)
        return self._contains(fact, value, _CONTAINMENT[operator])

    def _list(self, value: Json, what: str) -> Sequence[Json]:
        if isinstance(value, Fact):
            self._reader.refuse("a list of facts")
        if isinstance(value, str):
            self._reader.refuse("in of a string")
        if not isinstance(value, list | tuple):
            self._reader.fail(f"{what} needs a list, not {shown(value)}")
        return value

    def _equal(self, fact: Fact, values: Sequence[Json]) -> Expression:
        """`===` with one of some values. No value is the same as a list or an object of the rule."""
        groups: dict[type, list[Constant]] = {}
        for value in values:
            if value is not None and not isinstance(value, list | tuple | Mapping):
                constant = self._reader.constant(value)
                groups.setdefault(type(constant.value), []).append(constant)
        attributes = dict.fromkeys((fact.value, *([Attribute(fact.outer)] if fact.outer else [])))
        parts = [one_of(attribute, alike) for attribute in attributes for alike in groups.values()]
        if any(value is None for value in values):
            if fact.is_element:
                self._reader.refuse("null in a list")
            parts.append(all_of([*fact.is_single(), is_given_null(fact.value)]))
            parts += [is_given_null(Attribute(fact.outer))] if fact.outer else []
        return any_of(parts)

    def _contains(self, fact: Fact, value: Json, wanted: bool) -> Expression:
        if isinstance(value, Fact):
            self._reader.refuse("a list of facts")
        if fact.is_element:
            self._reader.refuse("a list in a list")
        guards = [*fact.is_single(), is_list(fact.value)]
        element = call("ANY", fact.value, self._equal(Fact(ELEMENT), [value]))
        return all_of([*fact.is_single(), element]) if wanted else all_of([*guards, not_true(element)])

    # ---- order

    def _ordered(self, op: ComparisonOperator, fact: Fact, value: Json) -> Expression:
        """`<` and others, for facts of which `parseFloat` makes a number."""
        if isinstance(value, Fact):
            return self._ordered_facts(op, fact, value)
        if isinstance(value, list | tuple | Mapping):
            self._reader.refuse("an order of lists")
        constant = Constant(0.0) if value is None else self._reader.constant(value)
        attributes = dict.fromkeys((fact.value, *([Attribute(fact.outer)] if fact.outer else [])))
        return any_of([_ordered(op, attribute, constant) for attribute in attributes])

    def _ordered_facts(self, op: ComparisonOperator, left: Fact, right: Fact) -> Expression:
        self._require_plain(left, right)
        one, other = left.value, right.value
        numbers = [call("NUMBER", one), call("NUMBER", other)]
        alike = all_of([any_of([is_number(one), _spells_number(one)]), Comparison(op, one, other)])
        counts_as_zero = any_of([Comparison("=", other, Constant("")), is_given_null(other)])
        unlike = any_of([Comparison(op, *numbers), all_of([counts_as_zero, Comparison(op, numbers[0], Constant(0.0))])])
        strings = all_of([is_string(one), is_string(other)])
        return any_of([alike, all_of([not_true(strings), not_true(one_of(one, TRUTHS)), unlike])])

    def _same_facts(self, left: Fact, right: Fact) -> Expression:
        """`===` of two facts. Two lists, or two objects, are the same only if they are one."""
        if left == right:
            return Constant(True)
        self._require_plain(left, right)
        both_null = all_of([is_given_null(left.value), is_given_null(right.value)])
        both_absent = all_of([Not(call("GIVEN", left.value)), Not(call("GIVEN", right.value))])
        return any_of([Comparison("=", left.value, right.value), both_null, both_absent])

    def _require_plain(self, left: Fact, right: Fact) -> None:
        if left.is_element or right.is_element:
            self._reader.refuse("a fact of an element")


# ---- what values are


def _spells_number(value: Attribute) -> Expression:
    return call("MATCHES", value, Constant(_SPELLS_NUMBER))


_HOLDS: Final[dict[ComparisonOperator, Callable[[float, float], bool]]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def _ordered(op: ComparisonOperator, value: Attribute, constant: Constant) -> Expression:
    """A value in order with a constant. Booleans, which NUMBER reads, are not numbers."""
    if isinstance(constant.value, str):
        number = as_number(constant.value.strip() or "0")
        by_number = [] if number is None else [Comparison(op, value, Constant(number))]
        return any_of([*by_number, all_of([_spells_number(value), Comparison(op, value, constant)])])
    number = float(constant.value)  # type: ignore[arg-type]
    compared = Comparison(op, call("NUMBER", value), Constant(number))
    has_boolean = any(_HOLDS[op](truth, number) for truth in (0.0, 1.0))
    return all_of([compared, not_true(one_of(value, TRUTHS))]) if has_boolean else compared
