"""Why did it match, or why not? The source tree is evaluated, never the compiled form, so that it checks it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, cast

from tocsin.language import Explanation, parse_any
from tocsin.language import explain as explain_tree
from tocsin.language.keywords import lines_of
from tocsin.language.stored import stored_expression
from tocsin.model.elements import values_for
from tocsin.model.readings import as_text
from tocsin.model.subscription import Subscription
from tocsin.model.texts import Text
from tocsin.model.values import Value
from tocsin.records import subscription_of


def explain(subscription: str | Mapping[str, Any] | Subscription, event: Mapping[str, Any]) -> Explanation:
    """Explain one subscription (its record, or just its expression as text) on one event.

    Raises `ExpressionError` or `RecordError` when either cannot be read.

    >>> print(explain("price <= 580", {"price": 600}).matched)
    False
    """
    if isinstance(subscription, str) or (isinstance(subscription, Mapping) and "where" not in subscription):
        tree = parse_any(subscription)
    else:
        tree = subscription_of(subscription).where
    return explain_tree(tree, values_for([tree], event))


def explain_stored(text: str, event: Mapping[str, Any], texts: Mapping[str, Text] | None = None) -> Explanation:
    """Explain a subscription whose text an engine keeps; `texts` are attributes whose values become their words."""
    tree = stored_expression(text)
    values = dict(values_for([tree], event))
    for name, how in (texts or {}).items():
        value = cast(Value | None, values.get(name))
        if (lines := lines_of(value, how)) is not None:
            values |= {as_text(name): cast(Value, value), name: tuple(dict.fromkeys(chain(*lines)))}
    return explain_tree(tree, values)
