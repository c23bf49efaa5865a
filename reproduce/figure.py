"""The description of a figure: a workload, panels that vary a parameter, series, and the shape that the paper shows."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

from reproduce.shapes import Claim, claim_of

Value = int | float | str
_PANEL = {"name", "title", "sweep", "measure", "series", "expect", "workload", "log", "beside"}
_FIGURE = {"paper", "figure", "title", "note", "workload", "scaled", "series", "panel", "unchecked"}
MEASURES = {
    "match": "us an event",
    "build": "seconds",
    "insert": "us a subscription",
    "memory": "MB",
    "load": "activated VCRs a place of the table",
    "candidates": "candidates an event",
    "searches": "re-evaluations an event",
    "buffered": "messages a subscription",
}


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a plot: an index by name, with its options, and upper limits of parameters for which it is measured.

    An option may be one of the point's parameters: `be_tree(max_cap={max_cap})`. `workload` has parameters that are
    this line's alone.
    """

    name: str
    index: str
    most: Mapping[str, int] = field(default_factory=dict)
    workload: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> set[str]:
        """The parameters that its options name."""
        return {name for _, name, _, _ in Formatter().parse(self.index) if name}


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot: a measure of each series for several values of a parameter.

    `beside` names the series by which the others are divided, in a second table.
    """

    name: str
    title: str
    parameter: str
    values: tuple[Value, ...]
    measure: str
    series: tuple[Series, ...]
    claims: tuple[Claim, ...]
    workload: Mapping[str, Any]
    log: bool
    beside: str | None

    def at(self, value: Value, scale: float, scaled: Sequence[str]) -> dict[str, Any]:
        """The workload's parameters at one point, with sizes scaled."""
        given = {**self.workload, self.parameter: value}
        for name in scaled:
            given[name] = max(round(given[name] * scale), _LEAST.get(name, 1))
        return given


class Unchecked(NamedTuple):
    """A sentence of a paper about a figure that no claim checks, and why."""

    says: str
    why: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a paper. `scaled` names the parameters that `--scale` multiplies."""

    paper: str
    number: str
    title: str
    note: str
    scaled: tuple[str, ...]
    panels: tuple[Panel, ...]
    unchecked: tuple[Unchecked, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.paper}/{self.number}"


_LEAST = {"attributes": 150}
"""Minimum sizes: an event of 120 attributes needs that many to exist."""


def read_figure(path: Path) -> Figure:
    """The figure that a TOML file describes. Raises `ValueError` that names the file and the problem."""
    try:
        given = tomllib.loads(path.read_text())
        _known(given, _FIGURE)
        series = {name: Series(name, **about) for name, about in given["series"].items()}
        panels = tuple(_panel(one, given["workload"], series) for one in given["panel"])
        scaled = tuple(given.get("scaled", ()))
        unchecked = tuple(Unchecked(**one) for one in given.get("unchecked", ()))
        about = given["paper"], given["figure"], given["title"], given.get("note", "")
        return Figure(*about, scaled, panels, unchecked)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {type(error).__name__}: {error}") from error


def _panel(given: dict[str, Any], workload: Mapping[str, Any], series: Mapping[str, Series]) -> Panel:
    _known(given, _PANEL)
    ((parameter, values),) = given["sweep"].items()
    if given["measure"] not in MEASURES:
        raise ValueError(f"measure {given['measure']!r} is none of {', '.join(MEASURES)}")
    if given.get("beside") not in [None, *given["series"]]:
        raise ValueError(f"beside {given['beside']!r} is none of {', '.join(given['series'])}")
    return Panel(
        given["name"],
        given["title"],
        parameter,
        tuple(values),
        given["measure"],
        tuple(series[name] for name in given["series"]),
        tuple(claim_of(one) for one in given.get("expect", ())),
        {**workload, **given.get("workload", {})},
        given.get("log", True),
        given.get("beside"),
    )


def _known(given: Mapping[str, Any], names: set[str]) -> None:
    if unknown := sorted(set(given) - names):
        raise ValueError(f"{unknown[0]!r} is none of {', '.join(sorted(names))}")
