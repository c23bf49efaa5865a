"""Explanations of why an expression matches an event, or does not.

NOT is pushed down to the predicates first, so that each finding is about a single predicate that must become TRUE. The
findings about `NOT (a = 1 AND b IN (2))` are about `NOT a = 1` and `b NOT IN (2)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, cast

from tocsin.language.canonical import constant_text, name_text, to_text
from tocsin.language.evaluate import values_of_parts
from tocsin.language.nearest import nearest
from tocsin.language.needs import needed_for
from tocsin.language.operators.named import named_part
from tocsin.language.operators.operator import operator_of
from tocsin.language.operators.over_time import OverTime
from tocsin.language.showing import lines_html
from tocsin.language.truths import EITHER, Truth, negation_of, truth_of
from tocsin.model.elements import ReadValues, Values
from tocsin.model.expression import And, Call, Expression, IsNull, Not, Or, attributes, walk
from tocsin.model.readings import NOW, is_reading
from tocsin.model.values import UNTYPED, Instant, Value, type_name

_LONGEST_SHOWN: Final = 160
_MOST_SHOWN: Final = 100
"""So many of the conditions of one AND or OR have lines. The findings are of all."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one predicate of an expression.

    Attributes
    ----------
    predicate : str
        Its canonical text, with NOT if the expression negates it.
    truth : bool or None
        The truth of that text; None if it is UNKNOWN.
    came : str
        The event's values of its attributes.
    needed : str
        What would make it TRUE; empty if it is.
    """

    predicate: str
    truth: bool | None
    came: str
    needed: str = ""

    def __str__(self) -> str:
        came = f": {self.came}" if self.came else ""
        needed = f"; needed: {_short(self.needed)}" if self.needed else ""
        return f"{_MARKS[self.truth]}  {_short(self.predicate)}{came}{needed}"


_MARKS: Final = {True: "holds  ", False: "fails  ", None: "unknown"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an event matched a subscription, or did not; `str` gives it as indented lines.

    Attributes
    ----------
    truth : bool or None
        The truth of the whole expression; None if it is UNKNOWN.
    held : tuple of Finding
        The predicates that hold. For a match these are the ones that carry it.
    failed : tuple of Finding
        The predicates that prevent a match; empty for a match. One of each "any of" would suffice.
    lines : tuple of str
        The lines of the text.
    index : str
        Where an engine, or the index of a file, finds the subscription, and why there.
    score : float or None
        The score by `Similar`, if it was asked about, even below the threshold.
    """

    truth: bool | None
    held: tuple[Finding, ...]
    failed: tuple[Finding, ...]
    lines: tuple[str, ...] = field(default=(), repr=False)
    index: str = ""
    score: float | None = None

    @property
    def matched(self) -> bool:
        """Whether the event matches."""
        return self.truth is True

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        return lines_html(str(self))


Written: TypeAlias = Mapping[int, tuple[Expression, str]]
"""How conditions are written in the rule that they come from, by the `id` of each condition."""

Progress: TypeAlias = Callable[[Expression, bool, bool | None], Sequence[str]]
"""Lines to show below a condition, by the condition, whether it is not negated, and its truth."""


def explain(
    expression: Expression,
    values: Values,
    written: Written | None = None,
    tells_all: bool = True,
    progress: Progress | None = None,
) -> Explanation:
    """Explain why an expression is TRUE, FALSE or UNKNOWN for one flattened event.

    The conditions in `written` are shown as they are written there, and not taken apart. Without `tells_all`, findings
    that have no line are left out. `progress` gives further lines.

    >>> from tocsin.language import parse
    >>> print(explain(parse("model = 'iphone5s' AND price <= 580"), {"model": "iphone5s", "price": 600.0}))
    does not match
      all of:
        holds    model = 'iphone5s': model = 'iphone5s'
        fails    price <= 580: price = 600; needed: price <= 580
    """
    findings = _Findings(values, values_of_parts(expression, values), written or {}, tells_all, progress)
    findings.visit(expression, True, 1)
    truth = findings.truth(expression, True)
    return Explanation(truth, tuple(findings.held), tuple(findings.failed), (HEADLINES[truth], *findings.lines))


def failures(expression: Expression, values: Values) -> tuple[bool, int]:
    """Whether an expression is not TRUE, and how many predicates `explain` says to fail. Cost: a third of its cost."""
    counter = _Failures(values, values_of_parts(expression, values), {})
    counter.visit(expression, True, 1)
    return counter.truth(expression, True) is not True, counter.count


HEADLINES: Final = {True: "matches", False: "does not match", None: "does not match (UNKNOWN)"}


class _Findings:
    """The findings and lines of one explanation, collected from the root downwards."""

    def __init__(
        self,
        values: Values,
        results: Mapping[int, Value | Truth],
        written: Written,
        tells_all: bool = True,
        progress: Progress | None = None,
    ) -> None:
        self.held: list[Finding] = []
        self.failed: list[Finding] = []
        self.lines: list[str] = []
        self._values = values
        self._results = results
        self._written = written
        self._tells_all = tells_all
        self._progress = progress

    def truth(self, node: Expression, wanted: bool) -> bool | None:
        """The truth of a node, or of its NOT if FALSE is wanted; True if it can be True."""
        truth = truth_of(self._results[id(node)])
        return True if truth is EITHER else (truth if wanted else negation_of(truth))  # type: ignore[return-value]

    def visit(self, node: Expression, wanted: bool, level: int) -> None:
        """Report what makes `node` (or its NOT) TRUE, or what prevents it; recurses to the depth of the tree."""
        name = ""
        while id(node) not in self._written:
            if isinstance(node, Not):
                node, wanted = node.operand, not wanted
            elif part := named_part(node):
                name, node = f"{constant_text(part.name)}: ", part.condition
            else:
                break
        if not isinstance(node, And | Or) or id(node) in self._written:
            self._add_predicate(node, wanted, level, name)
            return
        any_will_do = isinstance(node, Or) is wanted
        satisfied = self.truth(node, wanted) is True
        self._line(level, f"{name}{'any' if any_will_do else 'all'} of:")
        # If some alternatives of a satisfied node hold, only these are reported.
        told = [
            operand
            for operand in node.operands
            if not (any_will_do and satisfied) or self.truth(operand, wanted) is True
        ]
        for operand in told[:_MOST_SHOWN]:
            self.visit(operand, wanted, level + 1)
        lines = len(self.lines)
        for operand in told[_MOST_SHOWN:] if self._tells_all else ():
            self.visit(operand, wanted, level + 1)
        del self.lines[lines:]
        if len(told) > _MOST_SHOWN:
            self._line(level + 1, f"and {len(told) - _MOST_SHOWN:,} others, which are not shown")

    def _add_predicate(self, node: Expression, wanted: bool, level: int, name: str) -> None:
        truth = self.truth(node, wanted)
        predicate = self._text_of(node, wanted)
        operator = operator_of(node)
        came = operator.came(node, self._values)
        if came is None:
            asks_the_type = truth is None and not isinstance(node, IsNull)
            shown = [value_shown(self._values, one, asks_the_type, bool(truth)) for one in attributes(node)]
            shown += self._over_time(node)
            present = self._values.get(NOW)
            if isinstance(present, Instant) and any(isinstance(one, Call) and one.name == "NOW" for one in walk(node)):
                shown.append(f"NOW() = {present.isoformat()}")
            came = ", ".join(shown)
        if truth:
            finding = Finding(predicate, truth, came)
            self.held.append(finding)
        else:
            finding = Finding(predicate, truth, came, needed_for(node, wanted, self._values))
            self.failed.append(finding)
        self._line(level, str(replace(finding, predicate=name + predicate)))
        for line in operator.details(node, self._values):
            self._line(level + 1, line)
        for line in () if self._progress is None else self._progress(node, wanted, truth):
            self._line(level + 1, line)

    def _over_time(self, node: Expression) -> list[str]:
        """The values of functions of several events: `COUNT(...) = 3`, or written out to tell two of them apart."""
        functions = dict.fromkeys(one for one in walk(node) if isinstance(one, OverTime))
        found = []
        for one in functions:
            is_alone = [other.name for other in functions].count(one.name) == 1
            value = cast(Value | None, self._results[id(one)])
            came = "is absent" if value is None else f"= {_short(constant_text(_first_part(value)))}"
            found.append(f"{f'{one.name}(...)' if is_alone else to_text(one)} {came}")
        return found

    def _text_of(self, node: Expression, wanted: bool) -> str:
        if id(node) in self._written:
            text = self._written[id(node)][1]
            return text if wanted else f"NOT {text}"
        return to_text(node if wanted else Not(node))

    def _line(self, level: int, text: str) -> None:
        self.lines.append("  " * level + text)


class _Failures(_Findings):
    """The number of findings that fail, without their texts."""

    count = 0

    def _add_predicate(self, node: Expression, wanted: bool, level: int, name: str) -> None:
        self.count += not self.truth(node, wanted)


def value_shown(values: Values, name: str, with_type: bool = False, may_be_absent: bool = False) -> str:
    """Show an event's value for a name, with its type if this makes a predicate UNKNOWN.

    If it is absent but should not be, suggest the most similar name.
    """
    value, shown = cast(Value | None, values.get(name)), name_text(name)
    unread = values.unread.get(name) if isinstance(values, ReadValues) else None
    if value is None and unread:
        return f"{shown} {unread}"
    if value is None:
        near = None if may_be_absent else nearest(name, (one for one in values if not is_reading(one)))
        return f"{shown} is absent" + (f"; did you mean {name_text(near)}?" if near else "")
    if value is UNTYPED:
        return f"{shown} {unread or 'could not be read'}{', so this is UNKNOWN' if with_type else ''}"
    return f"{shown} = {_short(constant_text(_first_part(value)))}" + (f" ({type_name(value)})" if with_type else "")


def _first_part(value: Value) -> Value:
    """As much of a text or a list as is shown. An event may be large, and have many conditions about one value."""
    if isinstance(value, str):
        return value[:_LONGEST_SHOWN]
    if isinstance(value, tuple):
        return tuple(one[:_LONGEST_SHOWN] if isinstance(one, str) else one for one in value[:_LONGEST_SHOWN])
    return value


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."
