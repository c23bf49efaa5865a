"""tocsin index list: the available indexes, with the questions that they answer and their sources.

Windows come last.
"""

from __future__ import annotations

import argparse

from tocsin.cli.options import Commands, new_command
from tocsin.index import disseminators, registrations


def add_command(commands: Commands) -> None:
    examples = ("tocsin index list", "tocsin index list | grep R-tree")
    parser = new_command(
        commands,
        "index",
        help="show the available indexes",
        description="Shows the available indexes.",
        examples=examples,
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    new_command(
        verbs,
        "list",
        help="list all indexes",
        description="Lists all indexes, one for each line: name, question that it answers, subscriptions that it "
        "accepts, role, and source. The names are those that --index takes.",
        examples=examples,
    ).set_defaults(run=run)


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
