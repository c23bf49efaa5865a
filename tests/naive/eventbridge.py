"""Does an event pattern match an event? Event Ruler's rules, on the leaves of both, without tocsin's language.

An event is flattened to leaves: a path of names, a value, and for each list of objects on the way which element it came
through. A pattern matches if one leaf can be chosen for each of its paths, so that no two came through different
elements of the same list. Paths come in the order of their names; one that must not exist has no leaf in the elements
that were chosen before.
"""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_ABSENT = object()
List = tuple[tuple[str, ...], tuple[int, ...]]
"""A list, by its path, and by the places that lead to it from the outermost list under this path."""


class Leaf(NamedTuple):
    path: tuple[str, ...]
    value: object
    through: tuple[tuple[List, int], ...]  # lists of objects or lists, and the element of each


def leaves(
    value: object, path: tuple[str, ...] = (), through: tuple[Any, ...] = (), places: tuple[int, ...] = ()
) -> Iterator[Leaf]:
    """The leaves of a value; `places` leads to it through lists within lists."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name), through)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            has_elements = isinstance(inner, Mapping | list)
            chosen = (*through, ((path, places), number)) if has_elements else through
            yield from leaves(inner, path, chosen, (*places, number))
    else:
        yield Leaf(path, value, through)


def matches(pattern: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
    found = list(leaves(event))
    return any(_matches(needs, found) for needs in _rules(pattern, ()))


Needs = dict[tuple[str, ...], list[Any]]
"""The values that fit, by path."""


def _rules(pattern: Mapping[str, Any], path: tuple[str, ...]) -> list[Needs]:
    """What a pattern needs; one for each choice of `$or`. What comes later replaces what was needed of a path."""
    rules: list[Needs] = [{}]
    for name, inner in pattern.items():
        if name == "$or":
            options = [rule for one in inner for rule in _rules(one, path)]
        elif isinstance(inner, Mapping):
            options = _rules(inner, (*path, name))
        else:
            options = [{(*path, name): inner}]
        rules = [{**rule, **option} for rule in rules for option in options]
    return rules


def _matches(needs: Needs, found: list[Leaf]) -> bool:
    return _match_next(sorted(needs.items()), found, {})


def _match_next(needs: list[tuple[tuple[str, ...], list[Any]]], found: list[Leaf], elements: Elements) -> bool:
    """Whether what is needed is there, path by path, in the elements of lists that were chosen before."""
    if not needs:
        return True
    (path, values), *others = needs
    there = [leaf for leaf in found if leaf.path == path and _agrees(leaf, elements)]
    if {"exists": False} in values and not there and _match_next(others, found, elements):
        return True
    return any(
        _match_next(others, found, {**elements, **dict(leaf.through)})
        for leaf in there
        if any(_fits(value, leaf.value) for value in values)
    )


Elements = dict[List, int]
"""The elements that were chosen."""


def _agrees(leaf: Leaf, elements: Elements) -> bool:
    return all(elements.get(one, number) == number for one, number in leaf.through)


def _fits(wanted: object, value: object) -> bool:
    if not isinstance(wanted, Mapping):
        return _same(wanted, value)
    ((name, argument),) = wanted.items()
    if name == "exists":
        return bool(argument)
    if name == "anything-but":
        return _is_none_of(argument, value)
    if name == "numeric":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        pairs = (
            itertools.batched(argument, 2) if hasattr(itertools, "batched") else zip(*[iter(argument)] * 2, strict=True)
        )
        return is_number and all(_COMPARE[op](value, bound) for op, bound in pairs)
    if not isinstance(value, str):
        return False
    if name == "cidr":
        try:
            return ipaddress.ip_address(value) in ipaddress.ip_network(argument, strict=False)
        except ValueError:
            return False
    return _fits_text(name, argument, value)


_COMPARE: dict[str, Any] = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _same(wanted: object, value: object) -> bool:
    if isinstance(wanted, bool) or isinstance(value, bool) or wanted is None or value is None:
        return wanted is value
    return isinstance(wanted, str) == isinstance(value, str) and wanted == value


def _is_none_of(argument: Any, value: object) -> bool:
    if isinstance(argument, Mapping):
        ((name, texts),) = argument.items()
        texts = texts if isinstance(texts, list) else [texts]
        return not any(isinstance(value, str) and _fits_text(name, text, value) for text in texts)
    return not any(_same(one, value) for one in (argument if isinstance(argument, list) else [argument]))


def _fits_text(name: str, argument: Any, value: str) -> bool:
    if isinstance(argument, Mapping):
        argument, value = argument["equals-ignore-case"].casefold(), value.casefold()
    if name == "equals-ignore-case":
        return value.casefold() == argument.casefold()
    if name == "prefix":
        return value.startswith(argument)
    if name == "suffix":
        return value.endswith(argument)
    assert name == "wildcard"
    tokens = re.findall(r"\\[\\*]|.", argument, re.DOTALL)
    regex = "".join(".*" if one == "*" else re.escape(one[-1]) for one in tokens)
    return re.fullmatch(regex, value, re.DOTALL) is not None
