"""Reports of measured figures: a table, a plot, and the claims that held or did not."""

from __future__ import annotations

import io
import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from reproduce.figure import MEASURES, Figure, Panel
from reproduce.measuring import Point
from reproduce.shapes import Claim

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
        [_shown(value), *(_cell(line[i]) for line in points.values())]
        for i, value in enumerate(swept(figure, panel, scale))
    ]
    widths = [max(len(row[c]) for row in [head, *rows]) for c in range(len(head))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]]


class Verdict(NamedTuple):
    """A claim, whether it held (None if nothing could be compared), and its numbers."""

    claim: Claim
    held: bool | None
    text: str

    def __str__(self) -> str:
        word = {True: "held", False: "DID NOT HOLD", None: "not to be told"}[self.held]
        return f"  {word}: {self.text}{'' if self.claim.says else ' (ours)'}"


def verdicts(figure: Figure, panel: Panel, points: Points, scale: float) -> list[Verdict]:
    """Each claim of a panel with its numbers."""
    lines = {name: [point.value for point in line] for name, line in points.items()}
    values = swept(figure, panel, scale)
    return [Verdict(claim, *claim.check(lines, values)) for claim in panel.claims]


def swept(figure: Figure, panel: Panel, scale: float) -> list[Any]:
    """The values of a panel's parameter as they were measured."""
    return [panel.at(value, scale, figure.scaled)[panel.parameter] for value in panel.values]


_ACROSS: Final = 3
_TEXT: Final = 9
"""The size of all text in a picture, in points."""
_COLOURS: Final = 64
_SHORT_NAME: Final = 13
"""Letters of a series' name, of which three have room side by side below a panel."""


def draw(figure: Figure, measured: Sequence[tuple[Panel, Points]], scale: float, path: Path) -> None:
    """Draw the panels, at most three in a row."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure as Canvas
    from PIL import Image

    across = min(_ACROSS, len(measured))
    down = math.ceil(len(measured) / across)
    with matplotlib.rc_context({"font.size": _TEXT, "axes.titlesize": _TEXT, "legend.fontsize": _TEXT}):
        canvas = Canvas(figsize=(4.0 * across, 3.4 * down + 0.4), layout="constrained", dpi=100)
        for place, (panel, points) in enumerate(measured):
            _draw_panel(canvas.add_subplot(down, across, place + 1), panel, points, swept(figure, panel, scale))
        canvas.suptitle(f"{figure.name}: {figure.title}", fontsize=_TEXT)
        drawn = io.BytesIO()
        canvas.savefig(drawn, format="png")
    with Image.open(drawn) as picture:  # with few colours it takes a third of the bytes
        picture.convert("RGB").quantize(_COLOURS).save(path, optimize=True)


def _draw_panel(axes: Any, panel: Panel, points: Points, values: Sequence[Any]) -> None:
    for marker, (name, line) in zip(itertools.cycle("os^vDPX*"), points.items(), strict=False):
        known = [(x, p.value) for x, p in zip(values, line, strict=True) if p.value is not None]
        axes.plot([x for x, _ in known], [y for _, y in known], marker=marker, markersize=4, label=name)
    if panel.log:
        _scale_by_factors(axes)
    if _is_exponential(values):
        axes.set_xscale("log", base=2)
        axes.set_xticks(values, [_shown(value) for value in values], minor=False)
    axes.set_xlabel(panel.parameter)
    axes.set_ylabel(MEASURES[panel.measure])
    axes.set_title("\n".join(textwrap.wrap(f"({panel.name}) {panel.title}", 38)))
    across = 3 if max(map(len, points)) <= _SHORT_NAME else 2
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=across, frameon=False, columnspacing=1.0)


def _scale_by_factors(axes: Any) -> None:
    """A logarithmic axis of measures, with ticks at 1, 2 and 5 times the powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _is_exponential(values: Sequence[Any]) -> bool:
    """Whether values grow by about the same factor of 1.5 or more from each to the next."""
    if len(values) < 3 or any(isinstance(value, str) or value <= 0 for value in values):
        return False
    factors = [after / before for before, after in itertools.pairwise(values)]
    return min(factors) >= 1.5 and max(factors) <= 1.5 * min(factors)


def _cell(point: Point) -> str:
    return "-" if point.value is None else f"{point.value:,.4g}"


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value}"
