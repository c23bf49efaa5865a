"""Why did it match, or why not? The source tree is evaluated, never the compiled form, so that it checks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tocsin.language import Explanation, parse_any
from tocsin.language import explain as explain_tree
from tocsin.language.stored import stored_expression
from tocsin.model.elements import values_for
from tocsin.model.subscription import Subscription
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


def explain_stored(text: str, event: Mapping[str, Any]) -> Explanation:
    """Explain a subscription whose text an engine keeps."""
    tree = stored_expression(text)
    return explain_tree(tree, values_for([tree], event))
