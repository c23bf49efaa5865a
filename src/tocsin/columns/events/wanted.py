"""The attributes and derived values that subscriptions need from events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tocsin.model.expression import EVERYTHING
from tocsin.model.readings import NOW, PART, Reading, as_instant, attribute_of, reading_of


class Wanted:
    """The attributes that any subscription uses; the rest of an event is not read.

    `names=None` wants every attribute.
    """

    def __init__(self, names: Iterable[str] | None = None) -> None:
        self.names: set[str] | None = None if names is None else set()
        self.ordered: list[str] = []  # the wanted names, including readings; numbered in a list that only grows
        self.numbers: dict[str, int] = {}  # number by attribute
        self.readings: dict[
            str, int
        ] = {}  # number of each attribute's reading as an instant, by attribute: `model.readings`
        self.nulls: dict[str, int] = {}  # number of what is TRUE for each attribute's null, by attribute
        self.kept: dict[str, Any] = {}  # caches of readers, by reader, kept from chunk to chunk
        self.asked: dict[str, int] = {}  # number of each derived value, by its whole name
        self.conditions: dict[str, list[str]] = {}  # the conditions on elements among these, by the list's attribute
        self.elements: dict[str, Wanted] = {}  # what is wanted of the elements, by the list's attribute
        self.places: dict[
            str, list[str]
        ] = {}  # the spatial predicates among the derived values, by the place's attribute
        self.texts: dict[str, list[str]] = {}  # the readings of texts among the derived values, by the text's attribute
        self.arrays: list[str] = []  # the arrays of attributes among the derived values
        self.values: list[str] = []  # the values of functions among the derived values
        self.outer_values: list[str] = []  # the values of the whole event among the derived values
        self.over_time: list[str] = []  # the values of functions of several events among the derived values
        self.keys: dict[str, None] = {}  # the keys of subscriptions that have one of their own, in JSON
        self.clock: list[str] = []  # the present, and the readings that are relative to it, among the derived values
        self.is_whole = True  # not if adding names has failed in the middle
        self._prefixes: set[str] = set()
        self._lists: set[str] = set()  # the attributes of lists with wanted elements, and their prefixes
        self.add(names or ())

    def add(self, names: Iterable[str]) -> None:
        """Add names; other threads may be reading meanwhile."""
        if self.names is None:
            return
        was_whole, self.is_whole = self.is_whole, False
        for name in names:
            if name == NOW:
                self._add_of_clock(name)
            elif PART in name:
                self._add_reading(name, reading_of(name))
            elif name not in self.names:
                self._add_attribute(name)
        self.is_whole = was_whole

    def _add_attribute(self, name: str) -> None:
        assert self.names is not None
        self._prefixes.update(_prefixes(name))
        self.ordered.append(name)
        self.numbers[name] = len(self.ordered) - 1
        self.names.add(name)

    def _add_reading(self, name: str, reading: Reading) -> None:
        if reading.is_condition or reading.is_of_elements:
            self._add_asked(name, reading)
            return
        if reading.is_key:
            if name not in self.asked:
                self._number(name)
                self.keys[reading.rest] = None
            return
        if reading.is_over_time:
            if name not in self.asked:
                self._number(name)
                self.over_time.append(name)
            return
        if (reading.is_of_place or reading.is_of_text) and name not in self.asked:
            self._number(name)
            asked = self.places if reading.is_of_place else self.texts
            asked.setdefault(reading.attribute, []).append(name)
        for is_such, names in (
            (reading.is_array, self.arrays),
            (reading.is_value, self.values),
            (reading.is_outer, self.outer_values),
        ):
            if is_such and name not in self.asked:
                self._number(name)
                names.append(name)
        attribute = reading.attribute
        if self.names is not None and attribute not in self.names:
            self._add_attribute(attribute)
        if (reading.is_instant or reading.is_since) and attribute not in self.readings:
            self.ordered.append(as_instant(attribute))
            self.readings[attribute] = len(self.ordered) - 1
        if reading.is_since:
            self._add_of_clock(name)
        if reading.is_null and attribute not in self.nulls:
            self.nulls[attribute] = len(self.ordered)
            self._number(name)

    def _add_asked(self, name: str, reading: Reading) -> None:
        if name in self.asked:
            return
        attribute = reading.attribute
        if attribute not in self.elements:
            self._lists.update((attribute, *_prefixes(attribute)))
            self.conditions[attribute] = []
            self.elements[attribute] = Wanted(())
        if reading.is_of_elements:
            inner = self.elements[attribute]
            inner.add([reading.rest])
            self.add(inner.outer_values)  # elements get these from the event that they are in
        self._number(name)
        if reading.is_condition:
            self.conditions[attribute].append(name)

    def _add_of_clock(self, name: str) -> None:
        if name not in self.asked:
            self._number(name)
            self.clock.append(name)

    def _number(self, name: str) -> None:
        """Number a derived value. Appends to `ordered` last, since readers rely on everything up to its end."""
        self.asked[name] = len(self.ordered)
        self.ordered.append(name)

    def number(self, name: str) -> int:
        """The number of a wanted name, either an attribute or a reading."""
        for known in (self.numbers, self.asked):
            if name in known:
                return known[name]
        return self.readings[attribute_of(name)]

    def __contains__(self, name: str) -> bool:
        return self.names is None or name in self.names

    def also(self, names: set[str]) -> Wanted:
        """These names and some more."""
        return self if self.names is None or names <= self.names else Wanted([*self.ordered, *names])

    def outer(self, count: int) -> set[str]:
        """The names that enclose one of the first `count` wanted names and are not wanted themselves."""
        ordered, lists = self.ordered[:count], self.elements.copy()
        named = (*map(attribute_of, ordered), *lists)
        return {outer for name in named for outer in _prefixes(name)}.union(lists).difference(ordered)

    def inside(self, name: str) -> bool:
        """Whether the attribute itself, one nested in it, or an element of a list in it is wanted."""
        return name in self or self.leads_inside(name) or EVERYTHING in self.elements

    def leads_to_list(self, name: str) -> bool:
        """Whether the elements of a list under this name, or within an object of this name, are wanted."""
        return name in self._lists

    def leads_inside(self, name: str) -> bool:
        """Whether anything nested in an attribute is wanted."""
        return self.names is None or name in self._prefixes or name in self._lists

    def holds(self, name: str) -> bool:
        """Whether the attribute itself, or one nested in it, is wanted."""
        return name in self or name in self._prefixes


def _prefixes(name: str) -> list[str]:
    """The enclosing names of a dotted name."""
    return [name[:at] for at, letter in enumerate(name) if letter == "."]
