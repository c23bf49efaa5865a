"""Pictures of the demo: a map of where alerts match, a year of when, and maps of fences and of the window.

The land on the map consists only of the airfields of the United States, one faint dot each.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tocsin.demo.summary import Hour, Link
from tocsin.errors import needing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure

Points = NDArray[np.float64]


class Fenced(Protocol):
    """A place with a ring around it."""

    @property
    def code(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def ring(self) -> Points: ...


NIGHT: Final = "#0b1021"
INK: Final = "#e8eaf2"
FAINT: Final = "#8a93b2"
LAND: Final = "#4a5a8c"
AIRPORTS: Final = {"EWR": "#4cc9f0", "JFK": "#f9c74f", "LGA": "#f472b6"}
HEAT: Final = "inferno"
YEAR: Final = 2013


def draw_map(links: Sequence[Link], airfields: Sequence[tuple[float, float, str]], path: Path) -> None:
    """Draw where alerts match: an arc for each route, a disc for each destination, on a map of airfields."""
    figure = _figure(15, 9.2)
    axes = figure.add_axes((0.0, -0.05, 1.0, 0.99))
    axes.set_axis_off()
    axes.set_aspect("equal")
    land = _project(np.array([(x, y) for x, y, _ in airfields], dtype=np.float64).reshape(-1, 2))
    axes.scatter(land[:, 0], land[:, 1], s=2.2, c=LAND, alpha=0.85, linewidths=0)
    _arcs(axes, links)
    discs = _discs(axes, links)
    axes.set_xlim(-2560, 3450)
    axes.set_ylim(-1960, 1720)
    _legends(figure, discs, links)
    total = sum(link.alerts for link in links)
    _title(figure, "Where the alerts ring", f"{total:,} travel alerts on the flights out of New York in {YEAR}")
    figure.savefig(path, facecolor=NIGHT)


def draw_year(hours: Sequence[Hour], path: Path) -> None:
    """Draw when alerts match: every hour of the year, the days above it, and notes on the worst days."""
    figure = _figure(16, 8.6)
    days = figure.add_axes((0.055, 0.52, 0.865, 0.37))
    grid = figure.add_axes((0.055, 0.09, 0.865, 0.42), sharex=days)
    by_hour = np.zeros((24, 365))
    for hour in hours:
        by_hour[hour.hour, _day(hour)] += hour.alerts
    _bars(days, by_hour.sum(axis=0), hours)
    shades = grid.pcolormesh(
        np.arange(366), np.arange(25), np.sqrt(by_hour), cmap=HEAT, rasterized=True, shading="flat"
    )
    _months(grid)
    bar = figure.colorbar(shades, cax=figure.add_axes((0.932, 0.09, 0.012, 0.42)))
    ticks = [tick for tick in (10, 100, 250, 500, 1000, 2000, 4000, 8000) if tick <= by_hour.max()]
    bar.set_ticks([tick**0.5 for tick in ticks], labels=[f"{tick:,}" for tick in ticks])
    _plain(bar.ax)
    bar.outline.set_visible(False)
    bar.ax.set_title("alerts an hour", color=FAINT, fontsize=9, loc="left")
    _title(figure, "When the alerts ring", "Travel alerts by day, and by scheduled hour of departure")
    figure.savefig(path, facecolor=NIGHT)


def draw_fences(
    tracks: Sequence[Points],
    entered: Points,
    cities: Sequence[Fenced],
    visits: Mapping[str, int],
    airfields: Sequence[tuple[float, float, str]],
    path: Path,
    day: str,
) -> None:
    """Draw a day's flights, the fences coloured by the number of planes that entered, and the points of entry."""
    from matplotlib.collections import LineCollection, PolyCollection

    figure = _figure(15, 9.2)
    axes = figure.add_axes((0.0, -0.05, 1.0, 0.99))
    axes.set_axis_off()
    axes.set_aspect("equal")
    land = _project(np.array([(x, y) for x, y, _ in airfields], dtype=np.float64).reshape(-1, 2))
    axes.scatter(land[:, 0], land[:, 1], s=2.2, c=LAND, alpha=0.5, linewidths=0)
    ways = [part for track in tracks for part in _whole_parts(_project(track))]
    axes.add_collection(LineCollection(ways, linewidths=0.5, colors=AIRPORTS["EWR"], alpha=0.22, zorder=2))
    counts = np.array([visits.get(f"{city.name} ({city.code})", 0) for city in cities], dtype=np.float64)
    rings = [_project(city.ring) for city in cities]
    fences = PolyCollection(
        rings, array=np.sqrt(counts), cmap=HEAT, alpha=0.55, edgecolors=INK, linewidths=0.6, zorder=3
    )
    axes.add_collection(fences)
    spots = _project(entered) if len(entered) else entered
    axes.scatter(spots[:, 0], spots[:, 1], s=3.5, c=AIRPORTS["JFK"], alpha=0.8, linewidths=0, zorder=4)
    named: list[Points] = []
    for rank in np.argsort(-counts, kind="stable")[:30]:
        middle = rings[rank].mean(axis=0)
        if any(np.hypot(*(middle - other)) < _APART_KM for other in named):
            continue
        named.append(middle)
        axes.annotate(
            f"{cities[rank].code} {counts[rank]:.0f}", middle, color=INK, fontsize=8.5, ha="center", va="center",
            fontweight="bold", zorder=5,
        )  # fmt: skip
    axes.set_xlim(-2560, 3450)
    axes.set_ylim(-1960, 1720)
    below = f"{len(tracks):,} planes out of New York on {day}; a dot where one enters the fence of a city"
    _title(figure, "Who passes where", below)
    figure.savefig(path, facecolor=NIGHT)


class Star(NamedTuple):
    """A subscriber and its best deals. Places are longitude and latitude; a title has two lines."""

    title: str
    place: tuple[float, float]
    ends: Sequence[tuple[float, float]]


def as_points(places: Sequence[tuple[float, float]]) -> Points:
    """Places as an array of two columns."""
    return np.array(places, np.float64).reshape(-1, 2)


def draw_window(waiting: Points, deals: Points, stars: Sequence[Star], land: Points, path: Path) -> None:
    """Draw the subscribers, the deals in the window, and lines from a few subscribers to their best deals."""
    from matplotlib.collections import LineCollection

    figure = _figure(15, 9.2)
    axes = figure.add_axes((0.0, -0.05, 1.0, 0.99))
    axes.set_axis_off()
    axes.set_aspect("equal")
    for degrees, size, colour, strength in (
        (land, 2.2, LAND, 0.6), (waiting, 5, FAINT, 0.55), (deals, 16, AIRPORTS["EWR"], 0.35)
    ):  # fmt: skip
        xs, ys = _project(degrees).T
        axes.scatter(xs, ys, s=size, c=colour, alpha=strength, linewidths=0)
    colours = (AIRPORTS["JFK"], AIRPORTS["LGA"], "#9ef01a")
    for row, (star, colour) in enumerate(zip(stars, colours, strict=False)):
        start = _project(as_points([star.place]))[0]
        ends = _project(as_points(star.ends))
        lines = [np.array([start, end]) for end in ends]
        axes.add_collection(LineCollection(lines, linewidths=1.3, colors=colour, alpha=0.8, zorder=4))
        axes.scatter(ends[:, 0], ends[:, 1], s=34, c=colour, linewidths=0, zorder=5)
        axes.scatter(start[0], start[1], s=260, c=colour, marker="*", edgecolors=NIGHT, linewidths=0.8, zorder=6)
        figure.text(0.03, 0.185 - 0.055 * row, "\u2605", color=colour, fontsize=13, va="top")
        figure.text(0.05, 0.185 - 0.055 * row, star.title, color=colour, fontsize=10.5, va="top", linespacing=1.3)
    axes.set_xlim(-2700, 2900)
    axes.set_ylim(-1750, 1720)
    below = (
        f"{len(waiting):,} subscriptions (grey), the last {len(deals):,} deals (blue), "
        f"and lines from {len(stars)} of the first to the best deals for them"
    )
    _title(figure, "The best deals of late", below)
    figure.savefig(path, facecolor=NIGHT)


_APART_KM: Final = 170
"""Only the busiest place within this distance is named."""


def _whole_parts(way: Points) -> list[Points]:
    """Split a path where it jumps into the corner of the map with Hawaii or Alaska."""
    jumps = np.flatnonzero(np.hypot(*np.diff(way, axis=0).T) > 2 * _APART_KM)
    return [part for part in np.split(way, jumps + 1) if len(part) > 1]


def _figure(width: float, height: float) -> Figure:
    with needing("demo"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), dpi=120, facecolor=NIGHT)


def _title(figure: Figure, title: str, below: str) -> None:
    figure.text(0.03, 0.945, title, color=INK, fontsize=22, fontweight="bold", va="baseline")
    figure.text(0.03, 0.912, below, color=FAINT, fontsize=12, va="baseline")


def _project(degrees: Points) -> Points:
    """Longitude and latitude to kilometres: Albers' equal-area conic for the 48 states and the Caribbean.

    Alaska, at 0.35 of its size, and Hawaii are moved below the southwest, as maps of the United States do.
    """
    x, y = degrees[:, 0].copy(), degrees[:, 1]
    x[x > 0] -= 360
    alaska, hawaii = (x < -129) & (y > 50), (x < -150) & (y < 30)
    places = _albers(x, y, -96, 37.5, (29.5, 45.5))
    places[alaska] = 0.35 * _albers(x[alaska], y[alaska], -154, 63, (55, 65)) + np.array([-1780, -1330])
    places[hawaii] = _albers(x[hawaii], y[hawaii], -157.5, 20.5, (8, 18)) + np.array([-920, -1560])
    return places


def _albers(x: Points, y: Points, x0: float, y0: float, parallels: tuple[float, float]) -> Points:
    """Snyder's formulas for the sphere (Map Projections: A Working Manual, 1987, section 14)."""
    first, second = np.radians(parallels)
    cone = (np.sin(first) + np.sin(second)) / 2
    base = np.cos(first) ** 2 + 2 * cone * np.sin(first)
    angle = cone * np.radians(x - x0)
    radius, centre = (6371 / cone * np.sqrt(base - 2 * cone * np.sin(np.radians(v))) for v in (y, y0))
    return np.column_stack([radius * np.sin(angle), centre - radius * np.cos(angle)])


def _arcs(axes: Axes, links: Sequence[Link]) -> None:
    """A curve from New York to every destination, wider for more alerts."""
    from matplotlib.collections import LineCollection

    most = max((link.alerts for link in links), default=0) or 1
    bends = dict(zip(AIRPORTS, (0.12, 0.19, 0.26), strict=True))
    start = _project(np.array([[-73.95, 40.7]]))[0]
    t = np.linspace(0, 1, 60)[:, None]
    for origin, colour in AIRPORTS.items():
        leaving = [link for link in links if link.origin == origin]
        curves, strengths = [], []
        for link in leaving:
            end = _project(np.array([[link.longitude, link.latitude]]))[0]
            across = np.array([-(end - start)[1], (end - start)[0]])
            # Bent upwards in either direction.
            bend = (start + end) / 2 + bends[origin] * across * np.sign(across[1] or 1)
            curves.append((1 - t) ** 2 * start + 2 * t * (1 - t) * bend + t**2 * end)
            strengths.append((link.alerts / most) ** 0.5)
        widths = [0.25 + 2.6 * strength for strength in strengths]
        shades = [0.10 + 0.55 * strength for strength in strengths]
        axes.add_collection(LineCollection(curves, linewidths=widths, colors=colour, alpha=shades, zorder=2))


def _discs(axes: Axes, links: Sequence[Link]) -> PathCollection:
    """A disc for each destination: its area shows the alerts, its colour the alerts a flight."""
    ends = _ends(links)
    places = _project(np.array([(e.longitude, e.latitude) for e in ends], dtype=np.float64).reshape(-1, 2))
    alerts = np.array([e.alerts for e in ends], dtype=np.float64)
    each = alerts / np.array([e.flights for e in ends], dtype=np.float64)
    sizes = 8 + 620 * alerts / max(alerts.max(initial=0), 1)
    top = np.percentile(each, 97) if len(each) else 1
    discs = axes.scatter(
        places[:, 0], places[:, 1], s=sizes, c=each, cmap=HEAT, vmin=0, vmax=top, alpha=0.9, zorder=3,
        edgecolors=INK, linewidths=0.5,
    )  # fmt: skip
    named: list[Points] = []
    for rank in np.argsort(-alerts, kind="stable")[:30]:
        # One name for each neighbourhood, that of the busiest airport.
        if any(np.hypot(*(places[rank] - other)) < _APART_KM for other in named):
            continue
        named.append(places[rank])
        lift = np.sqrt(sizes[rank] / np.pi) + 3
        axes.annotate(
            ends[rank].dest, places[rank], xytext=(0, lift), textcoords="offset points", color=INK,
            fontsize=8.5, ha="center", fontweight="bold", zorder=4,
        )  # fmt: skip
    return discs


def _ends(links: Sequence[Link]) -> list[Link]:
    """One link for each destination, with the flights and alerts of all three airports."""
    ends: dict[str, Link] = {}
    for link in links:
        known = ends.get(link.dest)
        flights, alerts = (known.flights, known.alerts) if known else (0, 0)
        ends[link.dest] = link._replace(flights=flights + link.flights, alerts=alerts + link.alerts)
    return list(ends.values())


def _legends(figure: Figure, discs: PathCollection, links: Sequence[Link]) -> None:
    """The scale of the colours, and the three airports with their sums."""
    bar = figure.colorbar(discs, cax=figure.add_axes((0.79, 0.60, 0.18, 0.014)), orientation="horizontal")
    bar.outline.set_visible(False)
    _plain(bar.ax)
    bar.ax.set_title("colour: alerts a flight; area: alerts", color=FAINT, fontsize=10, loc="left")
    for row, (origin, colour) in enumerate(AIRPORTS.items()):
        total = sum(link.alerts for link in links if link.origin == origin)
        y = 0.745 - 0.03 * row
        figure.text(0.79, y, "\u2014", color=colour, fontsize=16, fontweight="bold", va="center")
        figure.text(0.815, y, f"from {origin}: {total:,} alerts", color=INK, fontsize=11, va="center")


def _bars(axes: Axes, alerts: Points, hours: Sequence[Hour]) -> None:
    """A bar for each day, and notes at the worst days."""
    worst = _peaks(alerts, count=8, apart=24)
    colours = [AIRPORTS["JFK"] if day in worst else "#5b6ea8" for day in range(365)]
    axes.bar(np.arange(365) + 0.5, alerts, width=1.0, color=colours)
    axes.set_ylim(0, max(alerts.max(initial=0), 1) * 1.36)
    for day in worst:
        axes.annotate(
            _note(day, alerts[day], hours), (day + 0.5, alerts[day]), xytext=(0, 5),
            textcoords="offset points", color=INK, fontsize=8, ha="center", va="bottom", linespacing=1.25,
        )  # fmt: skip
    _plain(axes)
    axes.tick_params(labelbottom=False)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_ylabel("alerts a day", color=FAINT)


def _months(axes: Axes) -> None:
    """Months along the bottom, hours up the side, midnight below."""
    firsts = [(dt.date(YEAR, month, 1) - dt.date(YEAR, 1, 1)).days for month in range(1, 13)]
    names = [dt.date(YEAR, month, 1).strftime("%b") for month in range(1, 13)]
    axes.set_xticks([first + 15 for first in firsts], labels=names)
    axes.vlines(firsts[1:], 5, 24, colors=INK, alpha=0.18, linewidth=0.6)
    axes.set_ylim(5, 24)
    axes.set_yticks([6, 9, 12, 15, 18, 21], labels=["06:00", "09:00", "12:00", "15:00", "18:00", "21:00"])
    axes.set_xlim(0, 365)
    axes.set_ylabel("scheduled departure", color=FAINT)
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.set_facecolor(NIGHT)
    axes.tick_params(colors=FAINT, length=0, labelsize=9)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _day(hour: Hour) -> int:
    return (dt.date(YEAR, hour.month, hour.day) - dt.date(YEAR, 1, 1)).days


def _peaks(alerts: Points, *, count: int, apart: int) -> list[int]:
    """The days with the most alerts, at least `apart` days apart, so that their notes fit."""
    chosen: list[int] = []
    for day in np.argsort(-alerts, kind="stable").tolist():
        if alerts[day] > 0 and len(chosen) < count and all(abs(day - other) >= apart for other in chosen):
            chosen.append(day)
    return chosen


def _note(day: int, alerts: float, hours: Sequence[Hour]) -> str:
    """The date, the alerts, and possible causes found in the data."""
    those = [hour for hour in hours if _day(hour) == day]
    flights, cancelled = sum(h.flights for h in those), sum(h.cancelled for h in those)
    gust = max((h.gust_mph for h in those if h.gust_mph is not None), default=None)
    wet = sum(h.precipitation_in or 0 for h in those)
    date = dt.date(YEAR, 1, 1) + dt.timedelta(days=day)
    share = cancelled / max(flights, 1)
    lines = [f"{date:%a} {date.day} {date:%b}", f"{alerts:,.0f} alerts", f"{share:.0%} cancelled"]
    if gust is not None:
        lines.append(f"gusts {gust:.0f} mph")
    if wet >= 0.1:
        lines.append(f"precip. {wet:.1f} in")
    return "\n".join(lines)
