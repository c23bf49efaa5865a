"""Explanations of single matches. They evaluate the source tree, not the compiled form, and so check the latter."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, cast

from tocsin.engine.resembling import explain_similar
from tocsin.errors import InvalidInput
from tocsin.language import Explanation, parse_any
from tocsin.language import explain as explain_tree
from tocsin.language.keywords import lines_of
from tocsin.language.stored import stored_expression
from tocsin.model.elements import Values, values_for
from tocsin.model.expression import Expression
from tocsin.model.ranking import Similar
from tocsin.model.readings import as_text
from tocsin.model.subscription import Subscription
from tocsin.model.texts import Text
from tocsin.model.values import Value
from tocsin.records import subscription_of


def explain(
    subscription: str | Mapping[str, Any] | Subscription, event: Mapping[str, Any], *, ranking: Similar | None = None
) -> Explanation:
    """Explain why one subscription matches one event, or does not.

    Parameters
    ----------
    subscription : str, mapping or Subscription
        An expression as CQL2 text or JSON, or a subscription's record.
    event : mapping
        The event.
    ranking : Similar, optional
        Explain how similar the two are, and whether that is enough, instead of whether they match.

    Returns
    -------
    Explanation
        The predicates that hold and those that do not; `str` gives it as text.

    Raises
    ------
    ExpressionError, RecordError
        If the subscription or the event cannot be read.
    InvalidInput
        For another ranking.

    Examples
    --------
    >>> print(explain("model = 'iphone5s' AND price <= 580", {"model": "iphone5s", "price": 600}))
    does not match
      all of:
        holds    model = 'iphone5s': model = 'iphone5s'
        fails    price <= 580: price = 600; needed: price <= 580
    """
    if isinstance(subscription, str) or (isinstance(subscription, Mapping) and "where" not in subscription):
        tree = parse_any(subscription)
    else:
        tree = subscription_of(subscription).where
    return _explained(tree, values_for([tree], event), ranking)


def explain_stored(
    text: str, event: Mapping[str, Any], texts: Mapping[str, Text] | None = None, ranking: Similar | None = None
) -> Explanation:
    """Explain a subscription from its stored text. Values of the attributes in `texts` become lists of words."""
    tree = stored_expression(text)
    values = dict(values_for([tree], event))
    for name, how in (texts or {}).items():
        value = cast(Value | None, values.get(name))
        if (lines := lines_of(value, how)) is not None:
            values |= {as_text(name): cast(Value, value), name: tuple(dict.fromkeys(chain(*lines)))}
    return _explained(tree, values, ranking)


def _explained(tree: Expression, values: Values, ranking: Similar | None) -> Explanation:
    if ranking is None:
        return explain_tree(tree, values)
    if isinstance(ranking, Similar):
        return explain_similar(tree, values, ranking)
    raise InvalidInput(f"ranking is {ranking!r:.60}; explain takes only Similar. Leave it out to explain a match.")
