"""Rerun figures of papers: print each as a table, draw it, and check whether its shape holds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from reproduce.figure import Figure, Panel, read_figure
from reproduce.measuring import Point, compile_kernels, measure
from reproduce.report import draw, tables, verdicts
from reproduce.summary import Judged, in_one_line, judge, summary

HERE = Path(__file__).parent
DEFAULT_SCALE = 0.02

EXAMPLES = """examples:

    python -m reproduce location_aware/fig-07
    python -m reproduce --scale 0.1 --out reproduced/
    python -m reproduce --summary
"""


def _given(files: Mapping[str, Path]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m reproduce",
        description="Measures figures of papers again. Prints each as a table, plots it, and checks its claims.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"of {', '.join(files)} (default: all)")
    about = "the sizes as a share of the paper's, above 0 to 1 (default: %(default)s)"
    parser.add_argument("--scale", type=float, default=DEFAULT_SCALE, metavar="SHARE", help=about)
    about = "the folder for tables and plots (default: %(default)s)"
    parser.add_argument("--out", type=Path, default=Path("reproduced"), metavar="FOLDER", help=about)
    about = "print by paper which sentences hold, and write it to summary.md in the folder"
    parser.add_argument("--summary", action="store_true", help=about)
    given = parser.parse_args()
    unknown = [name for name in given.figures if name not in files]
    if unknown or not 0 < given.scale <= 1:
        parser.error(f"there is no figure {unknown[0]!r}" if unknown else "--scale must be above 0 and at most 1")
    return given


def main() -> int:
    files = {f"{path.parent.name}/{path.stem}": path for path in sorted(HERE.glob("*/*.toml"))}
    given = _given(files)
    given.out.mkdir(parents=True, exist_ok=True)
    judged = [
        run(read_figure(files[name]), given.scale, given.out / name.replace("/", "-"))
        for name in given.figures or files
    ]
    if given.summary:
        text = "\n".join(summary(judged)) + "\n"
        print(text)
        (given.out / "summary.md").write_text(text)
    print(in_one_line(judged))
    return 0


def run(figure: Figure, scale: float, out: Path) -> Judged:
    """Measure, print and draw one figure; returns what became of its claims."""
    lines = [f"{figure.name}: {figure.title} (scale {scale:g})", *([figure.note] if figure.note else [])]
    print("\n".join(lines))
    measured, found = [], []
    for panel in figure.panels:
        points = measure_panel(figure, panel, scale)
        measured.append((panel, points))
        own = verdicts(figure, panel, points, scale)
        told = ["", *tables(figure, panel, points, scale), *map(str, own)]
        lines += told
        print("\n".join(told), flush=True)
        found += own
    out.with_suffix(".txt").write_text("\n".join(lines) + "\n")
    draw(figure, measured, scale, out.with_suffix(".png"))
    print(f"\n{out.with_suffix('.txt')}, {out.with_suffix('.png')}\n")
    return judge(figure, found)


def measure_panel(figure: Figure, panel: Panel, scale: float) -> dict[str, list[Point]]:
    """The points of each series, by its name."""
    points: dict[str, list[Point]] = {series.name: [] for series in panel.series}
    for series in panel.series:
        compile_kernels(panel.measure, series, panel.at(panel.values[0], scale, figure.scaled))
    for value in panel.values:
        for series in panel.series:
            points[series.name].append(measure(panel.measure, series, panel.at(value, scale, figure.scaled)))
    return points


if __name__ == "__main__":
    sys.exit(main())
