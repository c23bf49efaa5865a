"""Conversion of rules: one rule into CQL2, or the documents in which other systems keep their rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, cast

from tocsin.errors import InvalidInput
from tocsin.language.canonical import to_text
from tocsin.language.dialects.table import read_rule
from tocsin.language.json_form import to_json
from tocsin.language.operators.over_time import key_of
from tocsin.model.expression import Call, Expression
from tocsin.model.subscription import shown

Form = Literal["cql2", "cql2-json"]
FORMS: Final = ("cql2", "cql2-json")


def convert(rule: Any, *, from_: str, to: Form = "cql2") -> Any:
    """Convert a rule of another system into CQL2, with the same meaning.

    Parameters
    ----------
    rule : str, mapping or list
        The rule, as text or decoded. Of Sigma, it may be a correlation and the rules to which it refers.
    from_ : str
        Its language: `eventbridge`, `sigma`, `mongodb`, `elasticsearch`, `jsonlogic`, `json-rules-engine` or
        `sql`.
    to : {"cql2", "cql2-json"}
        CQL2 as text, or as JSON.

    Returns
    -------
    str or dict
        The condition, with functions that are tocsin's own (docs/language.md). A correlation of Sigma becomes
        `BY(key, condition)`.

    Raises
    ------
    ExpressionError
        If the rule is not valid, with the place in it.
    UnsupportedError
        If tocsin cannot say what it says.
    InvalidInput
        If there is no such language or form.
    MissingExtra
        If reading the language needs a package that is not installed.

    Examples
    --------
    >>> convert({"detail": {"state": ["running"]}}, from_="eventbridge")
    "SOME(detail.state, SOME(element, element = 'running'))"
    """
    if to not in FORMS:
        raise InvalidInput(f"to is {shown(to)}; give one of {', '.join(FORMS)}")
    return _written(read_rule(rule, from_).tree, to)


def converted(rule: Any, *, from_: str, to: Form = "cql2") -> dict[str, Any]:
    """The fields of a subscription with a rule of another system: `where`, and `by` if the rule has a key of its own.

    >>> converted({"state": ["running"]}, from_="eventbridge")
    {'where': "SOME(state, SOME(element, element = 'running'))"}
    """
    tree = read_rule(rule, from_).tree
    key = key_of(tree)
    condition = cast(Call, tree).arguments[-1] if key else tree
    return {"where": _written(condition, to), **({"by": list(key)} if key else {})}


def _written(tree: Expression, to: Form) -> Any:
    return to_text(tree) if to == "cql2" else to_json(tree)


class Found(NamedTuple):
    """A rule in a document, and what the document says about it."""

    rule: Any
    id: Any = None
    """The name of the rule; None if it has none."""
    others: Mapping[str, Any] = {}
    """Further fields of a subscription: score, payload, weights, and those of the service."""


_NAMES: Final = ("id", "name", "Name", "_id")


def rules_in(document: Any) -> Iterator[Found]:
    """The rules in a document: a rule, a list of rules, a record with a rule, or what other systems export.

    >>> [found.id for found in rules_in({"Rules": [{"Name": "a", "EventPattern": "{}"}]})]
    ['a']
    """
    if isinstance(document, list):
        for one in document:
            yield from rules_in(one)
        return
    if isinstance(document, Mapping):
        for field in ("Rules", "hits"):  # of `aws events list-rules`, and of a search for percolator queries
            inner = document.get(field)
            if isinstance(inner, list | Mapping) and (field == "Rules" or "hits" in document):
                yield from rules_in(inner)
                return
        name = next((document[key] for key in _NAMES if isinstance(document.get(key), str | int)), None)
        for field in ("where", "rule", "EventPattern"):
            if field in document and name is not None:
                taken = {field, "language", *_NAMES}
                others = {} if field == "EventPattern" else {k: v for k, v in document.items() if k not in taken}
                yield Found(document[field], str(name) if field == "EventPattern" else name, others)
                return
        if isinstance(document.get("_source"), Mapping):
            yield Found(document["_source"].get("query", document["_source"]), None if name is None else str(name))
            return
        if "conditions" in document and "event" in document:  # json-rules-engine
            yield Found(document, None if name is None else str(name), {"payload": document["event"]})
            return
        if "detection" in document or "correlation" in document:  # Sigma
            yield Found(document, str(document.get("title") if name is None else name))
            return
    yield Found(document)
