"""tocsin index list: the available indexes, with the questions that they answer and their sources.

Windows come last.
"""

from __future__ import annotations

import argparse

from tocsin.index import disseminators, registrations


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("index", help="show the available indexes")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    verbs.add_parser("list", help="list every index").set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    rows = [("name", "question", "accepts", "role", "source")]
    rows += [
        (r.name, ", ".join([r.question, *r.also]), r.shapes, "baseline" if r.is_baseline else "index", r.source)
        for r in (*registrations(), *disseminators())
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) + "  " + row[-1])
    return 0
