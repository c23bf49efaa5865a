"""Explanations of where an object is at a subscription: what is TRUE now, and how far the rest has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

import numpy as np

from tocsin.engine.explaining import event_values
from tocsin.language import Explanation
from tocsin.language.explain import explain
from tocsin.language.operators.over_time import OverTime, is_by, key_of, name_of, term_of
from tocsin.language.operators.threshold import threshold_in
from tocsin.language.stored import stored_rule
from tocsin.model.change import Identity
from tocsin.model.elements import ReadValues, at_moment
from tocsin.model.expression import Call, Expression, attributes, walk
from tocsin.model.instants import present
from tocsin.model.subscription import SubscriptionId
from tocsin.model.texts import Text
from tocsin.model.values import Value
from tocsin.monitor.latest import parsed
from tocsin.monitor.processing import Processing
from tocsin.monitor.progress import Seen, shown_instant, shown_span
from tocsin.monitor.terms.registry import KINDS
from tocsin.monitor.turns import State, TurnRules
from tocsin.records.csv_files import checked_types

_NOTHING: Final = np.empty((0, 1), np.int64)
_TRUTHS: Final = {True: "TRUE", False: "FALSE", None: "UNKNOWN"}
_NOT_KEPT: Final = "is not known: an event is kept only while something of its object is remembered"


@dataclass(frozen=True, slots=True)
class MonitorExplanation(Explanation):
    """Why a subscription is TRUE for an object now, or is not, with how far it has come.

    Attributes
    ----------
    truth, held, failed, lines, index, score
        As the result of `tocsin.explain` has them. There is no `index` and no `score`.
    microseconds : int
        The instant that it is about, since 1970: that up to which the monitor has processed the object.
    since : int or None
        Since when the object is in the subscription, in microseconds; None if it is not.
    """

    microseconds: int = 0
    since: int | None = None


class Asked(NamedTuple):
    """An object at a subscription."""

    id: SubscriptionId
    object: Identity
    number: int  # of the object
    instant: int
    state: State | None


def explained(process: Processing, text: str, texts: Mapping[str, Text], asked: Asked) -> MonitorExplanation:
    """Explain a subscription, from its stored text, for an object."""
    rule = stored_rule(text)
    tree = whole = rule.tree
    if isinstance(whole, Call) and is_by(whole):
        tree = whole.arguments[-1]  # here functions have no key, as in the rule
    seen = _seen(process, tree, key_of(whole), asked)
    values = _latest_values(process, tree, texts, asked.number)
    for name, one in seen.items():
        value = one.value(process.matcher.codes)
        if value is not None:
            values[name] = value

    def progress(node: Expression, wanted: bool, truth: bool | None) -> Sequence[str]:
        threshold = threshold_in(node, not wanted)
        names = dict.fromkeys(name_of(one) for one in walk(node) if isinstance(one, OverTime))
        values_over_time = cast("Mapping[str, Value]", values)
        return [line for name in names for line in seen[name].lines(values_over_time.get(name), threshold, truth)]

    found = explain(tree, values, rule.written, progress=progress)
    lines = (*_headlines(found.truth, asked, process.options.rules), *found.lines[1:])
    since = None if asked.state is None else asked.state.begun
    return MonitorExplanation(found.truth, found.held, found.failed, lines, microseconds=asked.instant, since=since)


def _seen(process: Processing, tree: Expression, by: tuple[str, ...], asked: Asked) -> dict[str, Seen]:
    """What the functions over time in a condition have seen of an object, by the name of their values."""
    matcher = process.matcher
    entries = dict(matcher.memory.cells_of(asked.number))
    found = {}
    for node in (one for one in walk(tree) if isinstance(one, OverTime)):
        term = matcher.registry.find(OverTime(node.name, node.arguments, by=by))
        span = term_of(node).span or 0
        own = _NOTHING if term is None else entries.get(term, _NOTHING)
        most = matcher.memory.most_of(term)
        found[name_of(node)] = Seen.at(KINDS[node.name], span, most, asked.instant, own)
    return found


def _latest_values(process: Processing, tree: Expression, texts: Mapping[str, Text], number: int) -> ReadValues:
    """The attributes of an object's latest event."""
    latest = process.matcher.latest.records.get(number)
    if latest is None:
        values = ReadValues({})
        values.unread = dict.fromkeys(attributes(tree), _NOT_KEPT)
        at_moment(values, present())
        return values
    record, how = latest
    return event_values(tree, parsed(record), {**texts, **checked_types(how.schema)}, how.points, None)


def _headlines(truth: bool | None, asked: Asked, rules: TurnRules) -> list[str]:
    """The truth, and where the object is: it may be in a subscription that is FALSE, until `exit_after`."""
    line = f"{asked.id!r} is {_TRUTHS[truth]} for {asked.object!r} at {shown_instant(asked.instant)}"
    state = asked.state
    if state is None or state.begun is None:
        lines = [line, "  the object is not in it"]
    else:
        span = shown_span(max(asked.instant - state.begun, 0))
        lines = [line, f"  the object is in it since {shown_instant(state.begun)}, for {span}"]
    due = None if state is None else state.due(rules)
    if due is not None:
        lines.append(f"  {due[1]} at {shown_instant(due[0])}, unless its truth changes before")
    elif state is not None and state.truth is not (state.begun is not None):
        steps = rules.enter_steps if state.truth else rules.exit_steps
        lines.append(f"  {_TRUTHS[state.truth]} {state.run_steps} of {steps} times in a row")
    return lines
