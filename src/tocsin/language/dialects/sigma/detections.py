"""Detections of Sigma, which say what an event is like, read by pySigma.

Strings are compared without case, and `*` and `?` are wildcards. A field that is a list has several values.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final

from tocsin.errors import ExpressionError
from tocsin.language.dialects.dialect import (
    IS_BOOLEAN,
    IS_NUMBER,
    VALUE,
    Json,
    Reader,
    Wild,
    all_of,
    alternatives,
    any_of,
    as_json,
    call,
    equal_ignoring_case,
    library,
    like,
    like_ignoring_case,
    not_true,
)
from tocsin.language.dialects.regexes import re2_of
from tocsin.model.expression import (
    Attribute,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
)
from tocsin.model.subscription import shown


def condition_of(rule: Mapping[str, Json], reader: Reader) -> Expression:
    """The condition of a rule with a detection."""
    with reader.at("detection"):
        detection, condition = _parsed(rule, reader)
        lines = {id(value): line for one in detection.detections.values() for line, value in _lines_in(one)}
        return _of_item(condition, lines, reader)


@contextmanager
def failing_at(reader: Reader) -> Iterator[None]:
    """Make what pySigma raises a failure of the rule."""
    errors = library("sigma.exceptions", "sigma")
    try:
        yield
    except errors.SigmaError as error:
        reader.fail(" ".join(str(error).split()))
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        if isinstance(error, ExpressionError):
            raise
        reader.fail(f"pySigma cannot read it: {' '.join(str(error).split())}")


def _parsed(rule: Mapping[str, Json], reader: Reader) -> tuple[Any, Any]:
    """The detection of a rule, and the tree of its condition. What a rule has beside it may be left out."""
    parser = library("sigma.rule", "sigma")
    detection = reader.members(rule.get("detection"), "detection")
    log = {"category": "any"}
    with failing_at(reader):
        found = parser.SigmaRule.from_dict({"title": "rule", "logsource": log, "detection": dict(detection)})
        if "placeholders" in rule:
            _fill(found.detection.detections.values(), reader.members(rule["placeholders"], "placeholders"), reader)
        if len(found.detection.parsed_condition) != 1:
            reader.refuse("several conditions")
        return found.detection, found.detection.parsed_condition[0].parsed


def _fill(detections: Iterable[Any], given: Mapping[str, Json], reader: Reader) -> None:
    """Replace each placeholder in the values of detections by the values that the rule has for its name."""
    types = library("sigma.types", "sigma")

    def values_of(placeholder: Any) -> Iterator[Any]:
        if placeholder.name not in given:
            reader.refuse("expand")
        values = given[placeholder.name]
        for value in values if isinstance(values, list) else [values]:
            reader.constant(value)  # which fails if it is a map or a list
            yield types.SigmaString(str(value))

    def filled(value: Any) -> Any:
        if isinstance(value, types.SigmaExpansion):
            return types.SigmaExpansion([filled(one) for one in value.values])
        if not isinstance(value, types.SigmaString) or not value.contains_placeholder():
            return value
        expanded = []
        for text in value.replace_placeholders(values_of):
            one = copy.copy(value)  # of its class, which says whether case counts
            one.s = text.s
            expanded.append(one)
        return types.SigmaExpansion(expanded)

    for detection in detections:
        for item in detection.detection_items:
            if hasattr(item, "detection_items"):
                _fill([item], given, reader)
            else:
                item.value = [filled(value) for value in item.value]


class _Line:
    """A field of a detection, with its modifiers and values."""

    def __init__(self, item: Any) -> None:
        self._item = item

    @cached_property
    def text(self) -> str:
        """The line as the rule writes it."""
        names = {modifier: name for name, modifier in library("sigma.modifiers", "sigma").modifier_mapping.items()}
        modifiers = [names.get(one, one.__name__) for one in self._item.modifiers]
        values = [_plain(one) for one in self._item.original_value]
        written = as_json(values[0] if len(values) == 1 else values)
        return f"{'|'.join([self._item.field or 'keywords', *modifiers])}: {written}"


def _lines_in(detection: Any) -> Iterator[tuple[_Line, Any]]:
    """Every line of a detection, with each of its values."""
    for item in detection.detection_items:
        if hasattr(item, "detection_items"):
            yield from _lines_in(item)
        else:
            line = _Line(item)
            yield from ((line, value) for value in item.value)


def _of_item(item: Any, lines: Mapping[int, _Line], reader: Reader) -> Expression:
    """The condition of a node of pySigma's tree. Recurses to the depth of the tree."""
    kind = type(item).__name__
    if kind == "ConditionNOT":
        return not_true(_of_item(item.args[0], lines, reader))
    if kind == "ConditionAND":
        parts = [_of_item(one, lines, reader) for one in item.args]
        line = _line_of(item.args[0], lines) if len({id(_line_of(one, lines)) for one in item.args}) == 1 else None
        return _noted(all_of(parts), line, reader)
    alike: dict[tuple[int, str | None], list[Any]] = {}  # values of one line and field, which are one condition
    whole = []
    for one in item.args if kind == "ConditionOR" else [item]:
        line = _line_of(one, lines)
        if line is None:
            whole.append(_of_item(one, lines, reader))
        else:
            alike.setdefault((id(line), getattr(one, "field", None)), []).append(one)
    conditions = [_noted(_of_values(some, reader), _line_of(some[0], lines), reader) for some in alike.values()]
    return any_of([*conditions, *whole])


def _line_of(item: Any, lines: Mapping[int, _Line]) -> _Line | None:
    """The field with modifiers and values that a value of pySigma's tree is from; None for other nodes."""
    return lines.get(id(getattr(item, "value", None)))


def _noted(condition: Expression, line: _Line | None, reader: Reader) -> Expression:
    return condition if line is None else reader.note(condition, line.text)


def _of_values(items: Sequence[Any], reader: Reader) -> Expression:
    """The OR of values of one field, in one SOME as far as they are conditions on `element`; or of keywords."""
    values = [item.value for item in items]
    if type(items[0]).__name__ == "ConditionValueExpression":
        return call("ANY_ATTRIBUTE", alternatives(_contains(value, reader) for value in values))
    field = items[0].field
    apart = [_of_field(field, value, reader) for value in values if type(value).__name__ in _OF_FIELDS]
    conditions = [_of_value(value, reader) for value in values if type(value).__name__ not in _OF_FIELDS]
    found = [reader.some(_path_of(field), alternatives(conditions))] if conditions else []
    return any_of([*found, *apart])


def _plain(value: Any) -> Json:
    for name in ("original", "number", "boolean", "null", "cidr"):
        if hasattr(value, name):
            return getattr(value, name)
    return str(value)


# ---- one field


_OF_FIELDS: Final = frozenset(("SigmaNull", "SigmaExists", "SigmaFieldReference", "SigmaTimestampPart"))
"""The kinds of values that are conditions on a field as a whole."""


def _of_field(field: str, value: Any, reader: Reader) -> Expression:
    """The condition of a value of `_OF_FIELDS`."""
    kind = type(value).__name__
    if kind == "SigmaNull":
        return not_true(reader.has_value(_path_of(field)))
    if kind == "SigmaExists":
        found = reader.has_value(_path_of(field))
        return found if value.exists else not_true(found)
    if kind == "SigmaFieldReference":
        return _of_other(field, value, reader)
    part = value.timestamp_part.name.lower()
    if part != "hour":
        reader.refuse(part)
    hour = Comparison("=", call("HOUR", VALUE), Constant(float(value.number)))
    return reader.some(_path_of(field), hour)


def _path_of(field: str) -> list[str]:
    """The names that lead to a field, through objects and lists of objects."""
    names = field.split(".")
    return names if all(names) else [field]


def _of_other(field: str, value: Any, reader: Reader) -> Expression:
    """Whether a field is equal to another. Texts are compared without case, and numbers by value."""
    if value.starts_with or value.ends_with:
        reader.refuse("fieldref with startswith or endswith")
    one, other = Attribute(field), Attribute(value.field)
    folded = Comparison("=", call("CASEI", one), call("CASEI", other))
    return any_of([call("HOLDS", folded), call("HOLDS", Comparison("=", one, other))])


_COMPARED: Final[dict[str, ComparisonOperator]] = {"LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "NEQ": "<>"}


def _of_value(value: Any, reader: Reader) -> Expression:
    """The condition on `element` that a value of a field says."""
    kind = type(value).__name__
    if kind == "SigmaExpansion":
        return any_of([_of_value(one, reader) for one in value.values])
    if kind == "SigmaString":
        return _text(value, reader, cased=False)
    if kind == "SigmaCasedString":
        return _text(value, reader, cased=True)
    if kind == "SigmaNumber":
        number = reader.constant(value.number)
        return any_of([Comparison("=", VALUE, number), Comparison("=", VALUE, Constant(str(value.number)))])
    if kind == "SigmaBool":
        truth = bool(value.boolean)
        return any_of([Comparison("=", VALUE, Constant(truth)), equal_ignoring_case(VALUE, [str(truth).lower()])])
    if kind == "SigmaCIDRExpression":
        return reader.made(lambda: call("IP_IN", VALUE, Constant(value.cidr)))
    if kind == "SigmaCompareExpression":
        return Comparison(_COMPARED[value.op.name], VALUE, reader.constant(value.number.number))
    if kind == "SigmaRegularExpression":
        options = "".join(one.name[0].lower() if one.name != "DOTALL" else "s" for one in value.flags)
        pattern = re2_of(_regex_text(value, reader), options, reader)
        return reader.made(lambda: call("MATCHES", VALUE, Constant(pattern)))
    return reader.refuse(f"a value of the kind {kind}", "tocsin has no condition for it")


def _regex_text(value: Any, reader: Reader) -> str:
    if not hasattr(value.regexp, "s"):
        reader.fail(f"re needs a text, not {shown(value.regexp)}")
    signs = {"WILDCARD_MULTI": "*", "WILDCARD_SINGLE": "?"}
    return "".join([one if isinstance(one, str) else signs[one.name] for one in value.regexp.s])


def _parts(text: Any, reader: Reader) -> list[str | Wild]:
    wild = {"WILDCARD_MULTI": Wild.RUN, "WILDCARD_SINGLE": Wild.ONE}
    parts: list[str | Wild] = []
    for one in text.s:
        if isinstance(one, str):
            parts.append(one)
        elif getattr(one, "name", "") in wild:
            parts.append(wild[one.name])
        else:
            reader.refuse("expand")
    return parts


def _text(text: Any, reader: Reader, *, cased: bool) -> Expression:
    parts = _parts(text, reader)
    if any(isinstance(one, Wild) for one in parts):
        condition = (like if cased else like_ignoring_case)(VALUE, *parts)
    else:
        plain = "".join(one for one in parts if isinstance(one, str))
        condition = Comparison("=", VALUE, Constant(plain)) if cased else equal_ignoring_case(VALUE, [plain])
    return any_of([condition, *_not_texts(parts, cased)])


_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{0,5}[1-9])?")


def _not_texts(parts: Sequence[str | Wild], cased: bool) -> list[Expression]:
    """The numbers and booleans that a pattern without the runs at its ends spells; a run alone spells all of them."""
    inner = [part for part in parts if part != ""]
    while inner and inner[0] is Wild.RUN:
        inner.pop(0)
    while inner and inner[-1] is Wild.RUN:
        inner.pop()
    if not inner:
        return [IS_NUMBER, IS_BOOLEAN] if Wild.RUN in parts else []
    spelled = "".join([part if isinstance(part, str) else part.value for part in inner])
    if (spelled if cased else spelled.lower()) in ("true", "false"):
        return [Comparison("=", VALUE, Constant(spelled.lower() == "true"))]
    return [Comparison("=", VALUE, Constant(float(spelled)))] if _NUMBER.fullmatch(spelled) else []


# ---- keywords


def _contains(value: Any, reader: Reader) -> Expression:
    """Whether a value contains a keyword, without case."""
    kind = type(value).__name__
    if kind == "SigmaExpansion":
        return any_of([_contains(one, reader) for one in value.values])
    if kind == "SigmaNumber":
        text = str(value.number)
        return any_of([Comparison("=", VALUE, reader.constant(value.number)), like(VALUE, Wild.RUN, text, Wild.RUN)])
    if kind in ("SigmaString", "SigmaCasedString"):
        cased = kind == "SigmaCasedString"
        parts = [Wild.RUN, *_parts(value, reader), Wild.RUN]
        return any_of([(like if cased else like_ignoring_case)(VALUE, *parts), *_not_texts(parts, cased)])
    if kind == "SigmaRegularExpression":
        return _of_value(value, reader)
    return reader.refuse(f"a keyword of the kind {kind}", "write it as the value of a field")
