"""Explanations of single matches. They evaluate the source tree, not the compiled form, and so check the latter."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from tocsin.columns.events.decoding import values_of
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.encoding import Points, checked_points, encode_chunk, with_coordinates
from tocsin.engine.resembling import explain_similar
from tocsin.errors import InvalidInput
from tocsin.language import Explanation
from tocsin.language import explain as explain_tree
from tocsin.language.dialects import read_any
from tocsin.language.explain import Written, value_shown
from tocsin.language.operators.over_time import functions_in, needs_monitor
from tocsin.language.operators.text import settled
from tocsin.language.stored import stored_rule
from tocsin.model.elements import ReadValues, Values, at_moment, values_for
from tocsin.model.expression import Expression, attributes
from tocsin.model.instants import given_moment, present
from tocsin.model.ranking import Similar
from tocsin.model.readings import as_elements, as_text
from tocsin.model.subscription import Subscription
from tocsin.model.texts import Text, texts_in
from tocsin.model.values import UNTYPED
from tocsin.records import ObjectChunk, subscription_of
from tocsin.records.csv_files import ColumnType, checked_types
from tocsin.schemas import require_asked


def explain(
    subscription: str | Mapping[str, Any] | Subscription,
    event: Mapping[str, Any],
    *,
    ranking: Similar | None = None,
    schema: Mapping[str, ColumnType] | None = None,
    points: Points | None = None,
    now: dt.datetime | str | None = None,
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
    schema
        As in `tocsin.match`.
    points
        As in `tocsin.match`.
    now
        As in `tocsin.match`.

    Returns
    -------
    Explanation
        The predicates that hold and those that do not; `str` gives it as text.

    Raises
    ------
    ExpressionError, RecordError
        If the subscription or the event cannot be read.
    InvalidInput
        For another ranking, or an invalid schema or points.

    Examples
    --------
    >>> print(explain("model = 'iphone5s' AND price <= 580", {"model": "iphone5s", "price": 600}))
    does not match
      all of:
        holds    model = 'iphone5s': model = 'iphone5s'
        fails    price <= 580: price = 600; needed: price <= 580
    """
    if isinstance(subscription, str) or (isinstance(subscription, Mapping) and "where" not in subscription):
        read = read_any(subscription)
    else:
        read = read_any(subscription_of(subscription).source)
    types = checked_types(schema)
    texts = texts_in(types)
    tree = settled(read.tree, texts) if texts else read.tree
    return _explained(tree, event_values(tree, event, types, points, now), ranking, read.written)


def explain_stored(
    text: str,
    event: Mapping[str, Any],
    texts: Mapping[str, Text] | None = None,
    *,
    ranking: Similar | None = None,
    schema: Mapping[str, ColumnType] | None = None,
    points: Points | None = None,
    unread: Mapping[str, str] | None = None,
    now: dt.datetime | str | None = None,
) -> Explanation:
    """Explain a subscription from its stored text. The attributes in `texts` are texts, unless the schema differs.

    `unread` has the reasons why values could not be read from a file, by attribute.
    """
    read = stored_rule(text)
    tree = read.tree
    values = event_values(tree, event, {**(texts or {}), **checked_types(schema)}, points, now, unread)
    return _explained(tree, values, ranking, read.written)


def event_values(
    tree: Expression,
    event: Mapping[str, Any],
    schema: Mapping[str, ColumnType],
    points: Points | None,
    now: dt.datetime | str | None,
    unread: Mapping[str, str] | None = None,
) -> ReadValues:
    """The event's values and the present. A match reads those that a schema or points define; others are as given."""
    points, values = checked_points(points), values_for([tree], event)
    reasons = _read_as_told(values, tree, event, schema, points) if schema or points else {}
    values.note_unread(event, {**reasons, **(unread or {})})
    for name, pair in points.items():
        others = [one for one in pair if not isinstance(values.get(one), float)]
        if name not in values and others:
            values.unread[name] = _no_point(values, others)
    at_moment(values, given_moment(now) or present())
    return values


def _no_point(values: ReadValues, others: list[str]) -> str:
    """Why an event has no point: coordinates could not be read, or one is absent. `others` are those not numbers."""
    told = [
        value_shown(values, one) + ("" if values[one] is UNTYPED else " is not a number")
        for one in others
        if one in values
    ]
    return f"could not be read ({'; '.join(told)})" if told else f"is absent ({value_shown(values, others[0])})"


def _read_as_told(
    values: ReadValues,
    tree: Expression,
    event: Mapping[str, Any],
    schema: Mapping[str, ColumnType],
    points: Points,
) -> dict[str, str]:
    """Change the values that a schema or points define; returns why some of them could not be read."""
    wanted = with_coordinates(Wanted([*attributes(tree), *compile_expressions([tree]).attributes]), points)
    require_asked(wanted, texts_in(schema))
    batches, refused = encode_chunk(ObjectChunk([(0, event)], [], 1.0), wanted, schema, points)
    read = values_of(batches[0], 0)
    defined = {key for name in (*schema, *points) if name in wanted for key in (name, as_text(name))}
    inside = {name for name in wanted.elements if any(one.startswith(f"{name}.") for one in schema)}
    defined.update(map(as_elements, inside))
    for name in defined:
        values.pop(name, None)
    values.update((name, value) for name, value in read.items() if name in defined)
    return {reject.field: reject.reason for reject in (*refused, *batches[0].rejects) if reject.field in defined}


def _explained(
    tree: Expression, values: Values, ranking: Similar | None, written: Written | None = None
) -> Explanation:
    for function in functions_in(tree):
        raise InvalidInput(needs_monitor(function.name))
    if ranking is None:
        return explain_tree(tree, values, written)
    if isinstance(ranking, Similar):
        return explain_similar(tree, values, ranking)
    raise InvalidInput(f"ranking is {ranking!r:.60}; explain takes only Similar. Leave it out to explain a match.")
