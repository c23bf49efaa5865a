"""Documents of Sigma that name each other: a correlation, and the rules that it refers to by name or id.

A correlation becomes one rule with the documents that it needs, under `rules`. So it can be stored by itself.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from tocsin.language.dialects.dialect import Json

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATORS = frozenset(("and", "or", "not"))


class Documents:
    """Documents by their names and ids."""

    def __init__(self, documents: Sequence[Json]) -> None:
        self._named: dict[str, list[Mapping[str, Json]]] = {}
        for document in documents:
            if isinstance(document, Mapping):
                for name in {str(document[key]).lower() for key in ("name", "id") if document.get(key) is not None}:
                    self._named.setdefault(name, []).append(document)

    def named(self, reference: str) -> Sequence[Mapping[str, Json]]:
        """The documents with a name or an id, of which there should be one."""
        return self._named.get(reference.lower(), ())

    def needed_by(self, document: Mapping[str, Json]) -> list[Mapping[str, Json]]:
        """The documents that a correlation refers to, directly or through others, each once."""
        found: list[Mapping[str, Json]] = []
        seen, waiting = {id(document)}, deque([document])
        while waiting:
            for reference in references_in(waiting.popleft()):
                for other in self.named(reference):
                    if id(other) not in seen:
                        seen.add(id(other))
                        found.append(other)
                        waiting.append(other)
        return found


def references_in(document: Mapping[str, Json]) -> Iterator[str]:
    """The names and ids of rules that a correlation refers to; none for other documents."""
    correlation = document.get("correlation")
    if not isinstance(correlation, Mapping):
        return
    rules, condition = correlation.get("rules"), correlation.get("condition")
    yield from (str(one) for one in (rules if isinstance(rules, list) else [rules]) if isinstance(one, str | int))
    if isinstance(condition, str):
        yield from (word for word in _WORD.findall(condition) if word not in _OPERATORS)


def serving(documents: Sequence[Json]) -> set[int]:
    """The `id` of each document that only serves others.

    A rule that a correlation refers to is not a rule by itself, unless the correlation says `generate: true`.
    """
    names = Documents(documents)
    correlations = [one for one in documents if _is_open(one) and not _generates(one)]
    return {id(other) for one in correlations for name in references_in(one) for other in names.named(name)}


def linked(documents: Sequence[Json]) -> list[Json | None]:
    """Each document with those that it refers to, or None for one that only serves others.

    Of correlations that refer to each other in a circle the first one stands for all, and cannot be read.
    """
    names, inner = Documents(documents), serving(documents)
    whole: dict[int, Json] = {}
    served = set[int]()
    for document in sorted(documents, key=lambda one: id(one) in inner):
        if id(document) in served:
            continue
        needed = names.needed_by(document) if _is_open(document) else []
        served.update(id(one) for one in needed if id(one) in inner)
        whole[id(document)] = {**document, "rules": needed} if needed else document
    return [None if id(one) in served else whole[id(one)] for one in documents]


def _is_open(document: Json) -> bool:
    """Whether a document is a correlation without its rules."""
    return isinstance(document, Mapping) and "correlation" in document and "rules" not in document


def _generates(document: Mapping[str, Json]) -> bool:
    """Whether the rules of a correlation are also rules by themselves."""
    correlation = document["correlation"]
    return isinstance(correlation, Mapping) and correlation.get("generate") is True
