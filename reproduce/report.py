"""Reports of measured figures: a table, a plot, and the claims that held or did not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduce.figure import MEASURES, Figure, Panel
from reproduce.measuring import Point

Points = Mapping[str, Sequence[Point]]


def tables(figure: Figure, panel: Panel, points: Points, scale: float) -> list[str]:
    """The points of a panel, why some are missing and, if configured, their ratios to one series."""
    notes = {f"{name}: {point.note}": None for name, line in points.items() for point in line if point.note}
    first = [f"({panel.name}) {panel.title}, {MEASURES[panel.measure]}", *_table(figure, panel, points, scale), *notes]
    if panel.beside is None:
        return first
    ratios = {
        name: [_ratio(*pair) for pair in zip(line, points[panel.beside], strict=True)] for name, line in points.items()
    }
    return [*first, f"the same by {panel.beside}", *_table(figure, panel, ratios, scale)]


def _ratio(point: Point, other: Point) -> Point:
    return Point(None) if point.value is None or not other.value else Point(point.value / other.value)


def _table(figure: Figure, panel: Panel, points: Points, scale: float) -> list[str]:
    """A row for each value of the panel's parameter."""
    head = [panel.parameter, *points]
    rows = [
        [_shown(panel.at(value, scale, figure.scaled)[panel.parameter]), *(_cell(line[i]) for line in points.values())]
        for i, value in enumerate(panel.values)
    ]
    widths = [max(len(row[c]) for row in [head, *rows]) for c in range(len(head))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]]


def verdicts(panel: Panel, points: Points) -> tuple[list[str], int]:
    """Each claim with its numbers, and how many did not hold."""
    lines = {name: [point.value for point in line] for name, line in points.items()}
    checked = [claim.check(lines) for claim in panel.claims]
    words = {True: "held", False: "DID NOT HOLD", None: "not to be told"}
    return [f"  {words[held]}: {text}" for held, text in checked], sum(held is False for held, _ in checked)


def draw(figure: Figure, measured: Sequence[tuple[Panel, Points]], scale: float, path: Path) -> None:
    """Draw all panels side by side."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(4.2 * len(measured), 4.0), layout="constrained", dpi=120)
    for place, (panel, points) in enumerate(measured):
        axes = canvas.add_subplot(1, len(measured), place + 1)
        values: list[Any] = [panel.at(value, scale, figure.scaled)[panel.parameter] for value in panel.values]
        for marker, (name, line) in zip("os^vDPX*", points.items(), strict=False):
            known = [(x, p.value) for x, p in zip(values, line, strict=True) if p.value is not None]
            axes.plot([x for x, _ in known], [y for _, y in known], marker=marker, label=name)
        if panel.log:
            axes.set_yscale("log")
        axes.set_xlabel(panel.parameter)
        axes.set_ylabel(MEASURES[panel.measure])
        axes.set_title(f"({panel.name}) {panel.title}", fontsize=10)
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3)
    canvas.suptitle(f"{figure.name}: {figure.title}", fontsize=11)
    canvas.savefig(path)


def _cell(point: Point) -> str:
    return "-" if point.value is None else f"{point.value:,.4g}"


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value}"
