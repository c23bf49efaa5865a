"""Rules of Sigma, the format of detections in logs, and correlations of such rules, read by pySigma.

`logsource` says which logs a rule is for; choose them before you match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tocsin.errors import ExpressionError
from tocsin.language.dialects.dialect import Dialect, Json, Reader, library
from tocsin.language.dialects.sigma.correlations import correlation_of
from tocsin.language.dialects.sigma.detections import condition_of
from tocsin.language.dialects.sigma.documents import linked, serving
from tocsin.model.expression import Expression
from tocsin.model.subscription import shown


class Sigma(Dialect):
    name, title = "sigma", "Sigma"
    taken: ClassVar[Mapping[str, str]] = {
        "field: text": "equal without case; * and ? are wildcards, as in LIKE",
        "field: '3', field: 'true'": "also the number, or the boolean; with * at the ends, too",
        "field: '*'": "a text, a number or a boolean",
        "field: false": "the boolean, or its text",
        "field: 4688": "the number, or its digits as a text",
        "field: null": "absent or null",
        "field: ''": "an empty text",
        "field: [a, b]": "OR; AND with the modifier all",
        "a list of maps": "OR",
        "keywords": "ANY_ATTRIBUTE: some value of the event contains the text",
        "contains, startswith, endswith": "LIKE",
        "cased": "with case",
        "re, i, m, s": "MATCHES",
        "cidr": "IP_IN",
        "lt, lte, gt, gte, neq": "a comparison with a number",
        "exists": "whether there is a value",
        "fieldref": "equal to the value of another field, where neither is a list; texts without case",
        "windash, base64, base64offset, wide, utf16": "as pySigma expands them",
        "hour": "HOUR, in UTC",
        "expand": "OR of the values that the rule has for a placeholder under placeholders",
        "1 of, all of, any of": "OR, AND of the detections that the pattern names",
        "and, or, not": "AND, OR, NOT; NOT is TRUE without a value",
        "correlation": "a condition over several events: BY and functions such as COUNT",
        "event_count": "COUNT of the events that satisfy one of the rules",
        "value_count": "COUNT_DISTINCT",
        "value_sum, value_avg": "SUM, AVG",
        "value_median, value_percentile": "the number at this rank, as PERCENTILE_DISC of SQL; by COUNT",
        "temporal": "COUNT of each rule is 1 at least; AT_LEAST with a number",
        "temporal_ordered": "SINCE, for two rules",
        "group-by, aliases": "BY",
        "timespan": "a closed span; M and y are pySigma's averages",
        "condition: {gt: 5, lte: 10}": "AND",
        "condition: a and (b or c)": "the rules that have events within the span",
        "generate": "whether the rules are also subscriptions",
    }
    refused: ClassVar[Mapping[str, str]] = {
        "expand": "the placeholder has no value; write placeholders: {name: [value]} in the rule",
        "fieldref with startswith or endswith": "the pattern of a LIKE is a constant",
        "minute": "tocsin has HOUR, WEEKDAY and DATE_OF",
        "day": "tocsin has HOUR, WEEKDAY and DATE_OF",
        "week": "tocsin has HOUR, WEEKDAY and DATE_OF",
        "month": "tocsin has HOUR, WEEKDAY and DATE_OF",
        "year": "tocsin has HOUR, WEEKDAY and DATE_OF",
        "correlation without group-by": "functions over several events are about one object; name its attributes",
        "an alias for several fields": "the same attributes identify an object in all events; copy them to one "
        "attribute first",
        "another group-by in a rule of a correlation": "all functions of a condition are about the same object",
        "temporal_ordered of more than two rules": "SINCE measures from one event; correlate two rules",
        "temporal_ordered of some of its rules": "tocsin reads the order of all rules",
        "or, not in the condition of temporal_ordered": "the specification does not say which order they have",
        "not in the condition of a correlation": "the specification does not say whether events before or after count",
        "several names in field": "COUNT_DISTINCT counts the values of one attribute",
        "filter": "it changes other rules; apply it with pySigma before",
        "several conditions": "write a rule for each",
    }

    def decode(self, rule: Json) -> Json:
        if not isinstance(rule, str | list):
            return rule
        documents = self.documents(rule) if isinstance(rule, str) else [one for one in rule if one is not None]
        inner = serving(documents)
        if sum(id(one) not in inner for one in documents) != 1 and len(documents) != 1:
            raise ExpressionError(
                f"a rule is one YAML document, or a correlation with the rules that it names; these {len(documents)} "
                f"documents are not"
            )
        return next(one for one in linked(documents) if one is not None)

    def documents(self, text: str) -> Sequence[Json]:
        yaml = library("yaml", "sigma")
        try:
            found = [one for one in yaml.load_all(text, _loader(yaml)) if one is not None]
        except (yaml.YAMLError, UnicodeEncodeError) as error:
            raise ExpressionError(f"this is not YAML: {' '.join(str(error).split())}") from None
        return [one for document in found for one in (document if isinstance(document, list) else [document])]

    def linked(self, documents: Sequence[Json]) -> Sequence[Json | None]:
        return linked(documents)

    def read(self, rule: Json, reader: Reader) -> Expression:
        if not isinstance(rule, Mapping):
            reader.fail(f"a rule is a map, not {shown(rule)}")
        if "filter" in rule:
            reader.refuse("filter")
        return correlation_of(rule, reader) if "correlation" in rule else condition_of(rule, reader)


def _loader(yaml: Any) -> Any:
    """The safe loader in C, nine times as fast; the one in Python where PyYAML was built without it."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)
