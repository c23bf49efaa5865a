"""What does the record of one subscription say? An id, an expression, perhaps a score, weights, a payload."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from tocsin.errors import ExpressionError, RecordError
from tocsin.language import parse_any, parse_json, to_text
from tocsin.model.expression import Expression
from tocsin.model.subscription import Subscription, checked_id, checked_score, shown
from tocsin.records.bulk import conjunction_of

FIELDS: Final = ("id", "where", "predicates", "score", "weights", "payload")


def subscription_of(record: Mapping[str, Any] | Subscription) -> Subscription:
    """One subscription from its record `{"id", "where", "score"?, "weights"?, "payload"?}`; raises `RecordError`.

    `predicates`, a list of `{"attribute", "op", "value"}`, may stand for `where`.

    >>> subscription_of({"id": "s1", "where": "price <= 580"}).score
    1.0
    """
    if isinstance(record, Subscription):
        return record
    if not isinstance(record, Mapping):
        raise RecordError(f"a subscription is an object with id and where, not a {type(record).__name__}")
    unknown = [key for key in record if key not in FIELDS]
    if unknown:
        raise RecordError(f"a subscription has no field {unknown[0]!r}; it has {', '.join(FIELDS)}", str(unknown[0]))
    name = checked_id(record.get("id"))
    tree, source = _expression_of(record)
    _check_weights(record.get("weights"))
    return Subscription(name, tree, source, checked_score(record.get("score")), record.get("payload"))


def _expression_of(record: Mapping[str, Any]) -> tuple[Expression, str]:
    """The tree and the text of a record's `where` or, in the bulk form, of its `predicates`."""
    where, predicates = record.get("where"), record.get("predicates")
    if predicates is not None and where is None:
        tree = conjunction_of(predicates)
        return tree, to_text(tree)
    if where is None:
        raise RecordError("the subscription has no expression; give CQL2 text or JSON under 'where'", "where")
    if predicates is not None:
        raise RecordError("a subscription has either 'where' or 'predicates', not both", "predicates")
    if not isinstance(where, str | Mapping | bool):
        raise RecordError(f"an expression is CQL2 text or a CQL2 JSON object, not a {type(where).__name__}", "where")
    try:
        tree = parse_json(where) if isinstance(where, bool) else parse_any(where)
    except ExpressionError as error:
        raise RecordError(str(error), "where") from None
    return tree, where if isinstance(where, str) else to_text(tree)


def _check_weights(weights: object) -> None:
    """Weights map attributes to numbers: a mapping, or a list of pairs as Arrow gives a map."""
    if weights is None:
        return
    if isinstance(weights, list | tuple) and all(isinstance(w, list | tuple) and len(w) == 2 for w in weights):
        items = [(name, weight) for name, weight in weights]
    elif isinstance(weights, Mapping):
        items = list(weights.items())
    else:
        raise RecordError(f"weights map attributes to numbers; this is {shown(weights)}", "weights")
    for name, weight in items:
        if not isinstance(name, str) or not _is_weight(weight):
            raise RecordError(
                f"the weight of {shown(name)} is {shown(weight)}; it must be a finite number >= 0", "weights"
            )


def _is_weight(weight: object) -> bool:
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        return False
    try:
        return math.isfinite(float(weight)) and weight >= 0
    except OverflowError:
        return False
