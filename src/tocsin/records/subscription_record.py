"""Validation of one subscription's record: an id, an expression, and optionally score, weights and payload."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from tocsin.errors import ExpressionError, InvalidInput, RecordError
from tocsin.language import Instance, Templates, parse_any, parse_json, to_text
from tocsin.language.dialects import CQL2, MARK, is_tagged, read_tagged, tagged
from tocsin.language.keywords import TEXT
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.named import naming
from tocsin.language.operators.over_time import key_of, with_key
from tocsin.language.operators.text import settled
from tocsin.language.rules import attribute
from tocsin.language.templates import slot_of
from tocsin.model.expression import Attribute, Expression, attributes, conjunction, walk
from tocsin.model.subscription import Subscription, SubscriptionId, checked_id, checked_score, shown
from tocsin.model.texts import Text
from tocsin.model.values import class_of
from tocsin.records.bulk import conjunction_of
from tocsin.records.extras import Extras
from tocsin.records.subscription_chunk import payload_text

FIELDS: Final = ("id", "where", "language", "named", "predicates", "by", "score", "weights", "payload")
_FIELDS: Final = frozenset(FIELDS)

_MOST_ALIKE: Final = 80
"""Rules of more nodes hardly ever have the same form."""


class Parsed(NamedTuple):
    """A checked record. `where` is a tree, or an instance of a template; `payload` is JSON text."""

    id: SubscriptionId
    where: Expression | Instance
    source: str
    score: float
    payload: str | None
    weights: str | None = None  # JSON text of an object, keys in order


def subscription_of(record: Mapping[str, Any] | Subscription) -> Subscription:
    """Make a subscription from its record `{"id", "where", "score"?, "weights"?, "payload"?}`; raises `RecordError`.

    `predicates`, a list of `{"attribute", "op", "value"}`, may replace `where`. `language` names that of `where`.
    `named` maps names to conditions, which `where` uses by their names.

    >>> subscription_of({"id": "s1", "where": "price <= 580"}).score
    1.0
    """
    if isinstance(record, Subscription):
        return record
    parsed = parsed_record(record, None)
    assert not isinstance(parsed.where, Instance)
    weights = None if parsed.weights is None else json.loads(parsed.weights)
    return Subscription(parsed.id, parsed.where, parsed.source, parsed.score, record.get("payload"), weights)


def parsed_record(
    record: Mapping[str, Any] | Subscription, templates: Templates | None, extras: Extras | None = None
) -> Parsed:
    """Check a record and parse its expression, or find its template; raises `RecordError`.

    Unknown fields are ignored and recorded in `extras`, which decides which of them go into the payload.
    """
    if isinstance(record, Subscription):
        tree = settled(record.where, templates.texts) if templates is not None and templates.texts else record.where
        source = record.source if tree == record.where else to_text(tree)
        weights = _weights(record.weights, tree)
        return Parsed(record.id, tree, source, record.score, _payload(record.payload), weights)
    if type(record) is not dict and not isinstance(record, Mapping):
        raise RecordError(f"a subscription is an object with id and where, not {class_of(record)}")
    payload = record.get("payload")
    if extras is not None and not record.keys() <= _FIELDS:
        extras.see(record)
        payload = extras.payload_of(record)
    name = checked_id(record.get("id"))
    where, source, of_rule = _expression_of(record, templates)
    if record.get("by") is not None:
        where, source = _with_key(where, record["by"])
    weights = _weights(record.get("weights"), where)
    score = checked_score(of_rule if record.get("score") is None else record["score"])
    return Parsed(name, where, source, score, _payload(payload), weights)


def _payload(payload: Any) -> str | None:
    if payload is None:
        return None
    try:
        text = payload_text(payload)
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"the payload is not JSON: {error}", "payload") from None
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RecordError("the payload is not valid Unicode: it has a lone surrogate", "payload") from None
    return text


def _expression_of(
    record: Mapping[str, Any], templates: Templates | None
) -> tuple[Expression | Instance, str, float | None]:
    """The expression of a record's `where` or, in the bulk form, its `predicates`; its text; and its rule's score."""
    where, predicates = record.get("where"), record.get("predicates")
    language = record.get("language")
    if language is not None and language != CQL2:
        where = _tagged(where, language)
    if record.get("named") is not None:
        where = with_named(where, record["named"])
    if templates is not None and templates.texts and predicates is None and isinstance(where, str | Mapping):
        where = _with_settings(where, templates.texts)
    if isinstance(where, str) and where.startswith(MARK):
        return _rule_of(where, templates)
    if isinstance(where, str) and predicates is None and templates is not None:
        instance = templates.instance(where)
        if instance is not None:
            return instance, where, None
    if predicates is not None and where is None:
        tree = conjunction_of(predicates)
        return tree, to_text(tree), None
    if where is None:
        raise RecordError("the subscription has no expression; give CQL2 text or JSON under 'where'", "where")
    if predicates is not None:
        raise RecordError("a subscription has either 'where' or 'predicates', not both", "predicates")
    if not isinstance(where, str | Mapping | bool):
        raise RecordError(f"an expression is CQL2 text or a CQL2 JSON object, not {class_of(where)}", "where")
    try:
        tree = parse_json(where) if isinstance(where, bool) else parse_any(where)
    except ExpressionError as error:
        raise RecordError(str(error), "where") from None
    if templates is not None:
        templates.advise(tree, where if isinstance(where, str) else "")
    return tree, where if isinstance(where, str) else to_text(tree), None


def _with_key(where: Expression | Instance, by: object) -> tuple[Expression, str]:
    """A condition with a key of its own, and its text. The key is a name, or a list of names."""
    names = [by] if isinstance(by, str) else by
    if not isinstance(names, list | tuple) or not names or not all(isinstance(one, str) and one for one in names):
        raise RecordError(f"by names the attributes that identify objects, as in ['user']; this is {shown(by)}", "by")
    tree = where.tree() if isinstance(where, Instance) else where
    if key_of(tree):
        raise RecordError("the condition has a BY already", "by")
    try:
        keyed = with_key(tree, [str(attribute(name).name) for name in names])
    except Misplaced as error:
        raise RecordError(error.reason, "by") from None
    return keyed, to_text(keyed)


def _rule_of(where: str, templates: Templates | None) -> tuple[Expression | Instance, str, float | None]:
    """The expression of a rule of another system. Rules of one form share a template from the fourth on."""
    try:
        tree, _, score = read_tagged(where)
    except ExpressionError as error:
        raise RecordError(str(error), "where") from None
    if templates is None or len(list(islice(walk(tree), _MOST_ALIKE + 1))) > _MOST_ALIKE:
        return tree, where, score
    instance = templates.instance(to_text(tree), advises=False, waits=True)
    return tree if instance is None else instance, where, score


def with_named(where: object, named: object) -> str:
    """CQL2 text in which the names of `named` stand for its conditions. Without `where` all of them are needed."""
    if isinstance(named, list | tuple) and all(isinstance(one, tuple) and len(one) == 2 for one in named):
        named = dict(named)  # as in Arrow
    if isinstance(named, Mapping):
        named = {name: condition for name, condition in named.items() if condition is not None}
    if not isinstance(named, Mapping) or not named or not all(isinstance(name, str) for name in named):
        raise RecordError(f"named maps names to conditions; this is {shown(named)}", "named")
    if where is not None and (not isinstance(where, str | Mapping) or (isinstance(where, str) and is_tagged(where))):
        raise RecordError("named is for conditions in CQL2", "named")
    try:
        parts = {name: parse_any(condition) for name, condition in named.items()}
        tree = conjunction(map(Attribute, parts)) if where is None else parse_any(where)
        return to_text(naming(tree, parts))
    except (ExpressionError, TypeError, AttributeError) as error:
        raise RecordError(f"a named condition cannot be used: {error}", "named") from None


def _tagged(where: object, language: object) -> str:
    """A rule of another system as a text that names its language."""
    if where is None:
        raise RecordError("the subscription has no rule; give it under 'where'", "where")
    try:
        return tagged(where, language)
    except ExpressionError as error:
        raise RecordError(str(error), "where") from None
    except InvalidInput as error:
        raise RecordError(str(error), "language") from None


def _with_settings(where: str | Mapping[str, Any], texts: Mapping[str, Text]) -> str | Mapping[str, Any]:
    """The expression with settings written into its TEXTs; unchanged if there is nothing to write."""
    if isinstance(where, str) and TEXT not in where.upper():
        return where
    try:
        tree = parse_any(where)
        other = settled(tree, texts)
    except ValueError:  # it is rejected later, with a better message
        return where
    return where if other == tree else to_text(other)


def _weights(weights: object, where: Expression | Instance) -> str | None:
    """Weights as stored. They map attributes of the expression to numbers: a mapping, or pairs as in Arrow."""
    if weights is None:
        return None
    if isinstance(weights, list | tuple) and all(isinstance(w, list | tuple) and len(w) == 2 for w in weights):
        items = [(name, weight) for name, weight in weights]
    elif isinstance(weights, Mapping):
        items = list(weights.items())
    else:
        raise RecordError(f"weights map attributes to numbers; this is {shown(weights)}", "weights")
    names = _names(where)
    for name, weight in items:
        if not isinstance(name, str) or not _is_weight(weight):
            raise RecordError(
                f"the weight of {shown(name)} is {shown(weight)}; it must be a finite number >= 0", "weights"
            )
        if name not in names:
            known = ", ".join(sorted(names)) or "none"
            raise RecordError(
                f"weights has {shown(name)}, which the expression does not name; it names {known:.200}", "weights"
            )
    return json.dumps({name: float(weight) + 0.0 for name, weight in sorted(items)}) if items else None


def _names(where: Expression | Instance) -> set[str]:
    """The attributes in an expression."""
    if isinstance(where, Instance):
        named = [(name, slot_of(name)) for name in attributes(where.template.tree)]
        return {name if slot is None else str(where.values[slot]) for name, slot in named}
    return set(attributes(where))


def _is_weight(weight: object) -> bool:
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        return False
    try:
        return math.isfinite(float(weight)) and weight >= 0
    except OverflowError:
        return False
