"""Correlations of Sigma: counts, values and orders of events that satisfy other rules.

A correlation holds at an event of one of its rules, if the events of its `timespan` up to this one satisfy its
condition. `group-by` becomes the key of the subscription.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

from tocsin.language.dialects.dialect import Json, Reader, all_of, any_of, as_json, call, is_number, library
from tocsin.language.dialects.sigma.detections import condition_of, failing_at
from tocsin.language.dialects.sigma.documents import Documents
from tocsin.language.operators.over_time import with_key
from tocsin.language.truths import compare
from tocsin.model.expression import Arithmetic, Attribute, Comparison, ComparisonOperator, Constant, Expression, Not
from tocsin.model.subscription import shown

_OPERATORS: Final[dict[str, ComparisonOperator]] = {
    "lt": "<",
    "lte": "<=",
    "gt": ">",
    "gte": ">=",
    "eq": "=",
    "neq": "<>",
}
_SPANS: Final = {"s": "PT{}S", "m": "PT{}M", "h": "PT{}H", "d": "P{}D", "w": "P{}W"}


class Parsed(NamedTuple):
    """A correlation as pySigma reads it."""

    rule: Any
    conditions: Sequence[tuple[ComparisonOperator, Constant]]
    """What a number must be; nothing if the condition is made of the names of rules."""
    percentile: Json
    written: str


def correlation_of(rule: Mapping[str, Json], reader: Reader) -> Expression:
    """The condition of a correlation, with its key. The documents that it refers to are under `rules`."""
    others = rule.get("rules")
    reading = _Reading(Documents([rule, *(others if isinstance(others, list) else ())]), reader)
    condition = reading.hit(rule)
    return with_key(condition, reading.key or ())


class _Reading:
    """The conditions of a correlation, and of the rules to which it refers."""

    def __init__(self, documents: Documents, reader: Reader) -> None:
        self._documents, self._reader = documents, reader
        self._hits: dict[int, Expression | None] = {}  # None while a document is read
        self.key: tuple[str, ...] | None = None

    def hit(self, document: Mapping[str, Json]) -> Expression:
        """The condition that an event satisfies at which a rule, or a correlation, holds."""
        if id(document) not in self._hits:
            self._hits[id(document)] = None
            self._hits[id(document)] = self._read(document)
        found = self._hits[id(document)]
        if found is None:
            self._reader.fail("the correlation refers to itself")
        return found

    def _read(self, document: Mapping[str, Json]) -> Expression:
        if "filter" in document:
            self._reader.refuse("filter")
        if "correlation" not in document:
            return condition_of(document, self._reader)
        with self._reader.at("correlation"):
            parsed = _parsed(self._reader.members(document["correlation"], "correlation"), self._reader)
            self._settle_key(parsed)
            return self._correlated(parsed)

    def _settle_key(self, parsed: Parsed) -> None:
        """The key of a correlation, which must be that of all correlations that refer to it."""
        with self._reader.at("group-by"):
            if not parsed.rule.group_by:
                self._reader.refuse("correlation without group-by")
            names = tuple(dict.fromkeys(self._field(name, parsed) for name in parsed.rule.group_by))
            if self.key is not None and set(names) != set(self.key):
                self._reader.refuse("another group-by in a rule of a correlation")
            self.key = self.key or names

    def _field(self, name: str, parsed: Parsed) -> str:
        """The attribute of a field, or of an alias that means the same field in every rule."""
        alias = parsed.rule.aliases.aliases.get(name)
        if alias is None:
            return name
        fields = {
            id(document): str(field)
            for reference, field in alias.mapping.items()
            for document in self._documents.named(str(reference.reference))
        }
        rules = [one for reference in _references(parsed.rule) for one in self._documents.named(reference)]
        known = {fields.get(id(one), name) for one in rules}
        if len(known) > 1:
            self._reader.refuse("an alias for several fields")
        return known.pop() if known else name

    def _correlated(self, parsed: Parsed) -> Expression:
        references = _references(parsed.rule)
        with self._reader.at("rules"):
            hits = {reference: self._named(reference) for reference in references}
        kind = parsed.rule.type.name.lower()
        if kind == "temporal_ordered":
            return self._in_order([hits[reference] for reference in references], parsed)
        found = any_of(list(dict.fromkeys(hits.values())))
        wanted = self._together(hits, parsed) if kind == "temporal" else self._measured(kind, found, parsed)
        counted = [] if self._excludes_zero(kind, parsed) else [_compared(self._count(found, parsed), ">=", 1)]
        return all_of([found, self._reader.note(all_of([wanted, *counted]), parsed.written)])

    def _named(self, reference: str) -> Expression:
        with self._reader.at(reference):
            found = self._documents.named(reference)
            if len(found) != 1:
                self._reader.fail(f"{len(found) or 'no'} rules have this name or id; one is needed, in the same text")
            return self.hit(found[0])

    # ---- functions over time

    def _call(self, name: str, parsed: Parsed, *arguments: Expression) -> Expression:
        span = Constant(_span_of(parsed.rule.timespan))
        return self._reader.made(lambda: call(name, *arguments, span))

    def _count(self, condition: Expression, parsed: Parsed) -> Expression:
        return self._call("COUNT", parsed, condition)

    def _measured(self, kind: str, found: Expression, parsed: Parsed) -> Expression:
        """What a number of the events within the span must be."""
        if kind == "event_count":
            return _all_compared(self._count(found, parsed), parsed)
        with self._reader.at("condition"):
            field = parsed.rule.condition.fieldref
            if isinstance(field, list):
                if len(field) != 1:
                    self._reader.refuse("several names in field")
                (field,) = field
            attribute = Attribute(self._field(self._reader.string(field, "field"), parsed))
        if kind in ("value_median", "value_percentile"):
            return self._ranked(attribute, found, parsed)
        function = {"value_count": "COUNT_DISTINCT", "value_sum": "SUM", "value_avg": "AVG"}[kind]
        return _all_compared(self._call(function, parsed, attribute, found), parsed)

    def _ranked(self, attribute: Attribute, found: Expression, parsed: Parsed) -> Expression:
        """What the number at a rank must be, by counts of the numbers below it."""
        share = self._share(parsed)
        total = self._count(all_of([found, is_number(attribute)]), parsed)
        parts = Arithmetic("*", total, Constant(float(share.numerator)))

        def reaches(op: ComparisonOperator, limit: Constant) -> Expression:
            """Whether the number at the rank is not below a limit, or not up to it."""
            below = self._count(all_of([found, Comparison(op, attribute, limit)]), parsed)
            return Comparison("<", Arithmetic("*", below, Constant(float(share.denominator))), parts)

        def compared(op: ComparisonOperator, limit: Constant) -> Expression:
            at_least, above = reaches("<", limit), reaches("<=", limit)
            forms: dict[str, Callable[[], Expression]] = {
                "<": lambda: Not(at_least),
                "<=": lambda: Not(above),
                ">": lambda: above,
                ">=": lambda: at_least,
                "=": lambda: all_of([at_least, Not(above)]),
                "<>": lambda: any_of([Not(at_least), above]),
            }
            return forms[op]()

        return all_of([*(compared(*one) for one in parsed.conditions), _compared(total, ">=", 1)])

    def _share(self, parsed: Parsed) -> Fraction:
        """The share of the numbers that are not above the one at the rank."""
        if parsed.rule.type.name == "VALUE_MEDIAN":
            return Fraction(1, 2)
        with self._reader.at("condition"):
            given = parsed.percentile
            is_number = isinstance(given, int | float) and not isinstance(given, bool) and 0 < given <= 100
            if not is_number:
                self._reader.fail(f"value_percentile needs percentile, a number from 0 to 100, not {shown(given)}")
            return Fraction(repr(given)) / 100

    def _together(self, hits: Mapping[str, Expression], parsed: Parsed) -> Expression:
        """Which rules have events within the span."""
        present = {name: _compared(self._count(hit, parsed), ">=", 1) for name, hit in hits.items()}
        if _is_extended(parsed.rule):
            return self._of_names(parsed.rule.condition.parsed, present)
        counts = self._counts_of_rules(len(present), parsed)
        return self._reader.made(lambda: any_of([_how_many(list(present.values()), *run) for run in _runs(counts)]))

    def _counts_of_rules(self, rules: int, parsed: Parsed) -> list[int]:
        """How many of some rules may have events, by the condition."""
        counts = [count for count in range(rules + 1) if _allows(count, parsed)]
        if not counts:
            with self._reader.at("condition"):
                self._reader.fail(f"the correlation has {rules} rules, of which no number satisfies the condition")
        return counts

    def _of_names(self, node: Any, present: Mapping[str, Expression]) -> Expression:
        """A condition made of the names of rules. Recurses to the depth of pySigma's tree."""
        kind = type(node).__name__
        if kind == "SigmaRuleReference":
            return present[node.reference]
        if kind == "CorrelationConditionNOT":
            self._reader.refuse("not in the condition of a correlation")
        parts = [self._of_names(one, present) for one in node.args]
        return all_of(parts) if kind == "CorrelationConditionAND" else any_of(parts)

    def _in_order(self, hits: Sequence[Expression], parsed: Parsed) -> Expression:
        """Whether an event of the last rule follows one of the rule before it, within the span."""
        if _is_extended(parsed.rule):
            if not _is_conjunction(parsed.rule.condition.parsed):
                self._reader.refuse("or, not in the condition of temporal_ordered")
        elif self._counts_of_rules(len(hits), parsed) != [len(hits)]:
            self._reader.refuse("temporal_ordered of some of its rules")
        if len(hits) > 2:
            self._reader.refuse("temporal_ordered of more than two rules")
        if len(hits) == 1:
            return hits[0]
        first, last = hits
        length = Constant(_span_of(parsed.rule.timespan))
        follows = self._reader.made(lambda: Comparison("<=", call("SINCE", first), call("DURATION", length)))
        return all_of([last, self._reader.note(follows, parsed.written)])

    def _excludes_zero(self, kind: str, parsed: Parsed) -> bool:
        """Whether no events within the span do not satisfy the condition."""
        counts = kind in ("event_count", "value_count", "temporal") and not _is_extended(parsed.rule)
        return not (counts and _allows(0, parsed))


def _parsed(given: Mapping[str, Json], reader: Reader) -> Parsed:
    """A correlation as pySigma reads it, once for each operator of its condition, since it knows no ranges."""
    parser = library("sigma.correlations", "sigma")
    condition = given.get("condition")
    members = condition if isinstance(condition, Mapping) else {}
    operators = [name for name in members if name in _OPERATORS]
    others = {name: value for name, value in members.items() if name not in _OPERATORS}
    forms = [{**given, "condition": {**others, name: members[name]}} for name in operators] or [dict(given)]
    with failing_at(reader):
        rules = [parser.SigmaCorrelationRule.from_dict({"title": "rule", "correlation": form}) for form in forms]
    references = _references(rules[0])
    if not references:
        reader.fail("the correlation names no rules")
    for reference in references:
        reader.string(reference, "a rule of a correlation")
    if doubled := [name for name, count in Counter(references).items() if count > 1]:
        reader.fail(f"the rule {shown(doubled[0])} stands twice in rules")
    compared = [] if _is_extended(rules[0]) else [one.condition for one in rules]
    conditions = [(_OPERATORS[one.op.name.lower()], reader.constant(one.count)) for one in compared]
    written = {name: given[name] for name in ("type", "rules", "timespan", "condition") if name in given}
    return Parsed(rules[0], conditions, members.get("percentile"), f"correlation: {as_json(written)}")


def _references(rule: Any) -> list[str]:
    """The names and ids of the rules of a correlation, in order."""
    if rule.rules:
        return [one.reference for one in rule.rules]
    return list(rule.condition.get_referenced_rules()) if _is_extended(rule) else []


def _is_extended(rule: Any) -> bool:
    """Whether the condition is made of the names of rules."""
    return type(rule.condition).__name__ == "SigmaExtendedCorrelationCondition"


def _is_conjunction(node: Any) -> bool:
    """Whether a condition made of names needs all of them."""
    kind = type(node).__name__
    return kind == "SigmaRuleReference" or (kind == "CorrelationConditionAND" and all(map(_is_conjunction, node.args)))


def _span_of(timespan: Any) -> str:
    """A span as a length of time of ISO 8601. Months and years are pySigma's averages."""
    form = _SPANS.get(timespan.unit)
    return f"PT{timespan.seconds}S" if form is None else form.format(timespan.count)


def _all_compared(value: Expression, parsed: Parsed) -> Expression:
    return all_of([Comparison(op, value, number) for op, number in parsed.conditions])


def _compared(value: Expression, op: ComparisonOperator, number: float) -> Expression:
    return Comparison(op, value, Constant(float(number)))


def _allows(count: int, parsed: Parsed) -> bool:
    """Whether a number satisfies the condition of a correlation."""
    return all(compare(op, float(count), number.value) for op, number in parsed.conditions)


def _runs(counts: Sequence[int]) -> list[tuple[int, int]]:
    """The first and last number of each run of numbers that follow each other.

    >>> _runs([0, 1, 3])
    [(0, 1), (3, 3)]
    """
    firsts = [count for count in counts if count - 1 not in counts]
    lasts = [count for count in counts if count + 1 not in counts]
    return list(zip(firsts, lasts, strict=True))


def _how_many(conditions: Sequence[Expression], least: int, most: int) -> Expression:
    """Whether so many of some conditions are TRUE, of which none is UNKNOWN."""
    parts = [_at_least(least, conditions)] if least else []
    if most < len(conditions):
        parts.append(Not(_at_least(most + 1, conditions)))
    return all_of(parts)


def _at_least(number: int, conditions: Sequence[Expression]) -> Expression:
    if number == len(conditions):
        return all_of(conditions)
    return any_of(conditions) if number == 1 else call("AT_LEAST", Constant(float(number)), *conditions)
