"""What would have made a predicate TRUE? In words, beside what came."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from itertools import takewhile
from typing import Any, Final, cast

from tocsin.language.canonical import constant_text, name_text, to_text
from tocsin.language.evaluate import Values, array_of, evaluate, value_of
from tocsin.language.keywords import asked_by, has_phrase, lines_of, settings_of, text_in
from tocsin.language.temporal import expanded
from tocsin.model.expression import (
    MIRRORED,
    MIRRORED_FUNCTIONS,
    TEMPORAL_FUNCTIONS,
    TEXT,
    AnyElement,
    Array,
    Attribute,
    Between,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    attributes,
    walk,
)
from tocsin.model.readings import is_reading
from tocsin.model.values import EARLIEST, Point, Value, box_of, type_name

_OPPOSITES: Final[dict[str, ComparisonOperator]] = {
    "=": "<>",
    "<>": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}
_MOST_SHOWN: Final = 12


def needed_for(node: Expression, wanted: bool, values: Values) -> str:
    """What would make a predicate TRUE, or FALSE where that is wanted, in words.

    >>> from tocsin.language import parse
    >>> needed_for(parse("price <= 580"), True, {"price": 600.0})
    'price <= 580'
    >>> needed_for(parse("price <= 580"), True, {"price": "600"})
    'a number <= 580'
    """
    need = _NEEDS.get(type(node))
    words = (need(node, wanted, values) if need else "") or _plainly(node, wanted, values)
    return _looks_alike(node, wanted, values) or words + _of_other_types(node, values)


def _of_other_types(node: Expression, values: Values) -> str:
    """Which of several constants make IN or BETWEEN UNKNOWN; empty where none does, or all.

    >>> from tocsin.language import parse
    >>> _of_other_types(parse("zip IN ('01234', 94110)"), {"zip": "555"})
    ' (UNKNOWN of a string because of 94110)'
    """
    if not isinstance(node, In | Between) or evaluate(node, values) is not None:
        return ""
    came, constants = value_of(node.operand, values), node.items if isinstance(node, In) else (node.low, node.high)
    if came is None or not all(isinstance(one, Constant) for one in constants):
        return ""
    unknown = [one for one in constants if evaluate(Comparison("=", node.operand, one), values) is None]
    if not 0 < len(unknown) < len(constants):
        return ""
    kind = type_name(cast(Value, came))
    return f" (UNKNOWN of {_a(kind)} because of {_listed([cast(Constant, one).value for one in unknown])})"


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _looks_alike(node: Expression, wanted: bool, values: Values) -> str:
    """By which characters a text that came differs from a constant that looks the same; empty of any other."""
    if not wanted or isinstance(node, AnyElement):
        return ""
    constants = [one.value for one in walk(node) if isinstance(one, Constant) and isinstance(one.value, str)]
    came = [values.get(name) for name in attributes(node)]
    texts = [text for one in came for text in (one if isinstance(one, tuple) else (one,)) if isinstance(text, str)]
    alike = ((a, b) for a in texts for b in constants if a != b and _seen(a) == _seen(b))
    return next((_apart(*pair) for pair in alike), "")


def _seen(text: str) -> str:
    """What is seen of a text, nearly: composed, in its usual width, without what is not seen and spaces around it."""
    return "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf").strip()


def _apart(came: str, wanted: str) -> str:
    """Where two texts that look the same differ, in code points."""
    start = _in_common(came, wanted)
    rests = came[start:], wanted[start:]
    end = _in_common(rests[0][::-1], rests[1][::-1])
    pieces = [rest[: len(rest) - end][:_MOST_SHOWN] for rest in rests]
    first, second = (" ".join(f"U+{ord(letter):04X}" for letter in piece) or "nothing" for piece in pieces)
    return f"{second} where {first} came, at character {start + 1}; the two look the same"


def _in_common(first: str, second: str) -> int:
    """How many characters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def _plainly(node: Expression, wanted: bool, values: Values) -> str:
    if isinstance(node, Comparison):
        text = to_text(node if wanted else Comparison(_OPPOSITES[node.op], node.left, node.right))
        return f"{text}, for two values of one type" if evaluate(node, values) is None else text
    return to_text(node if wanted else Not(node))


def _subject(node: Expression, kind: str, values: Values) -> str:
    """The attribute's name, or `a number` and the like when what came is of another type."""
    if not isinstance(node, Attribute):
        return to_text(node)
    value = cast(Value | None, values.get(node.name))
    if value is None or type_name(value) == kind:
        return name_text(node.name)
    return _a(kind)


def _comparison(node: Comparison, wanted: bool, values: Values) -> str:
    op, left, right = node.op, node.left, node.right
    if isinstance(left, Constant):
        op, left, right = MIRRORED[op], right, left
    if not (isinstance(left, Attribute) and isinstance(right, Constant)):
        return ""
    op = op if wanted else _OPPOSITES[op]
    return f"{_subject(left, type_name(right.value), values)} {op} {constant_text(right.value)}"


def _in(node: In, wanted: bool, values: Values) -> str:
    if not all(isinstance(item, Constant) for item in node.items):
        return ""
    constants = [cast(Constant, item).value for item in node.items]
    kinds = {type_name(value) for value in constants}
    subject = _subject(node.operand, kinds.pop(), values) if len(kinds) == 1 else to_text(node.operand)
    return f"{subject} {'in' if wanted else 'present, and none of'} {_listed(constants)}"


def _between(node: Between, wanted: bool, values: Values) -> str:
    if not (isinstance(node.low, Constant) and isinstance(node.high, Constant)):
        return ""
    subject = _subject(node.operand, type_name(node.low.value), values)
    low, high = constant_text(node.low.value), constant_text(node.high.value)
    return f"{subject} from {low} to {high}" if wanted else f"{subject} below {low} or above {high}"


def _like(node: Like, wanted: bool, values: Values) -> str:
    relation = "like" if wanted else "not like"
    return f"{_subject(node.operand, 'string', values)} {relation} {to_text(node.pattern)}"


def _is_null(node: IsNull, wanted: bool, values: Values) -> str:
    if isinstance(node.operand, Attribute):
        return f"{name_text(node.operand.name)} {'absent' if wanted else 'present'}"
    return f"{'no value' if wanted else 'a value'} for {to_text(node.operand)}"


def _bare_attribute(node: Attribute, wanted: bool, values: Values) -> str:
    return f"{_subject(node, 'boolean', values)} = {constant_text(wanted)}"


def _constant(node: Constant, wanted: bool, values: Values) -> str:
    return f"another expression: {to_text(node if wanted else Not(node))} never holds"


def _any_element(node: AnyElement, wanted: bool, values: Values) -> str:
    items, condition = name_text(node.items.name), to_text(node.condition)
    return f"an element of {items} with {condition}" if wanted else f"a list {items} of which all fail {condition}"


# ---- functions


def _call(node: Call, wanted: bool, values: Values) -> str:
    need = _temporal if node.name in TEMPORAL_FUNCTIONS else _CALLS.get(node.name)
    return need(node, wanted, values) if need else ""


def _on_array(node: Call, wanted: bool, values: Values) -> str:
    """For an attribute and an array: which elements were missing, or too many."""
    left, right = node.arguments
    name = node.name
    if isinstance(left, Array):
        left, right, name = right, left, MIRRORED_FUNCTIONS.get(name, name)
    if not (isinstance(left, Attribute) and isinstance(right, Array)):
        return ""
    elements = array_of([value_of(item, values) for item in right.items])
    if elements is None:
        return ""
    listed = list(elements)
    came = values.get(left.name)
    subject = _subject(left, "list", values)
    if wanted and isinstance(came, tuple):
        if name == "A_CONTAINS":
            return f"{subject} with {_listed(_without(listed, came))} too"
        if name == "A_CONTAINEDBY":
            return f"{subject} without {_listed(_without(came, listed))}"
    return f"{subject} {_ARRAY_WORDS[name][0 if wanted else 1]} {_listed(listed)}"


def _without(values: Any, others: Any) -> list[Any]:
    """The values that are not among the others, by type and value."""
    known = {(type(other), other) for other in others}
    return [value for value in values if (type(value), value) not in known]


_ARRAY_WORDS: Final = {
    "A_CONTAINS": ("with all of", "present, without at least one of"),
    "A_CONTAINEDBY": ("with nothing but", "present, with something beside"),
    "A_OVERLAPS": ("with at least one of", "present, with none of"),
    "A_EQUALS": ("exactly", "present, and not exactly"),
}


def _s_intersects(node: Call, wanted: bool, values: Values) -> str:
    left, right = node.arguments
    if isinstance(left, Constant):
        left, right = right, left
    if not (isinstance(left, Attribute) and isinstance(right, Constant)):
        return ""
    value = cast(Value | None, values.get(left.name))
    fits = value is None or box_of(value) is not None
    subject = name_text(left.name) if fits else "a point or a box"
    relation = "at" if isinstance(right.value, Point) else "inside or touching"
    return f"{subject} {relation if wanted else 'outside'} {constant_text(right.value)}"


def _temporal(node: Call, wanted: bool, values: Values) -> str:
    """The comparisons that it is, where they are with constants."""
    meant = expanded(node)
    parts = list(walk(meant))
    if any(is_reading(one.name) for one in parts if isinstance(one, Attribute)) or Constant(EARLIEST) in parts:
        return ""
    return to_text(meant if wanted else Not(meant))


def _matches(node: Call, wanted: bool, values: Values) -> str:
    subject, pattern = node.arguments
    return f"{_subject(subject, 'string', values)} {'matching' if wanted else 'not matching'} {to_text(pattern)}"


def _text(node: Call, wanted: bool, values: Values) -> str:
    """Which words were missing, then which phrases."""
    attribute = cast(Attribute, node.arguments[0])
    asked, name = asked_by(node), name_text(attribute.name)
    came = text_in(node, values)
    lines = lines_of(came, settings_of(node))
    if not wanted:
        return f"{name} present, without {'at least one of ' if len(asked.words) > 1 else ''}{_listed([*asked.words])}"
    if lines is None:
        return f"{name if came is None else 'a text'} with {_listed([*asked.words])}"
    missing = [word for word in asked.words if not any(word in line for line in lines)]
    phrases = [" ".join(phrase) for phrase in asked.phrases if not any(has_phrase(line, phrase) for line in lines)]
    return f"{name} with {_listed(missing)} too" if missing else f"{name} with {_listed(phrases)} side by side"


def _listed(values: list[Any]) -> str:
    if not values:
        return "()"
    shown = ", ".join(constant_text(value) for value in values[:_MOST_SHOWN])
    more = len(values) - _MOST_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


_CALLS: Final[dict[str, Callable[[Call, bool, Values], str]]] = {
    "A_CONTAINS": _on_array,
    "A_CONTAINEDBY": _on_array,
    "A_OVERLAPS": _on_array,
    "A_EQUALS": _on_array,
    "S_INTERSECTS": _s_intersects,
    "MATCHES": _matches,
    TEXT: _text,
}

_NEEDS: Final[dict[type, Callable[[Any, bool, Values], str]]] = {
    Comparison: _comparison,
    In: _in,
    Between: _between,
    Like: _like,
    IsNull: _is_null,
    Attribute: _bare_attribute,
    Constant: _constant,
    Call: _call,
    AnyElement: _any_element,
}
