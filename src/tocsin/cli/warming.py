"""tocsin warm: ahead-of-time compilation of every kernel, for this machine, an image, or a cluster."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tocsin.cli.folders import refuse_file
from tocsin.cli.options import Commands, new_command
from tocsin.cli.rejects import counted
from tocsin.jit.compiling.stores import LEVELS, SHIPPED, VARIABLE, own
from tocsin.progress import ShareBar
from tocsin.warming import expected_s, is_warm, warm


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "warm",
        help="compile all kernels before the first use",
        description="Compiles all kernels before the first use and keeps them in a cache for this user, or in a folder "
        "for an image or a cluster. Without it, the first command that needs a kernel compiles it.",
        examples=("tocsin warm", "tocsin warm --into kernels/ --level x86-64-v3 --processes 4"),
    )
    parser.add_argument(
        "--into",
        metavar="FOLDER",
        help=f"the folder for the kernels; set {VARIABLE} to use it (default: the cache of the user)",
    )
    parser.add_argument(
        "--level",
        metavar="LEVEL",
        help=f"with --into: compile for all processors of a level, {' or '.join(LEVELS)} (default: this processor)",
    )
    parser.add_argument(
        "--processes", type=int, metavar="N", help="the number of processes (default: one for each core)"
    )
    parser.add_argument(
        "--papers",
        action="store_true",
        help="also compile the kernels of indexes from papers and from other packages",
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    into = None if given.into is None else Path(given.into)
    if into is not None:
        refuse_file(given.into)
    if not sys.stderr.isatty() and not (into is None and is_warm(papers=given.papers)):
        minutes = max(round(expected_s(given.processes, papers=given.papers) / 60), 1)
        print(f"compiling kernels: about {counted(minutes, 'minute')}", file=sys.stderr, flush=True)
    with ShareBar("compiling kernels") as bar:
        compiled = warm(
            into,
            level=given.level,
            processes=given.processes,
            papers=given.papers,
            progress=lambda done, functions: bar.update(done, f"{functions:,} functions"),
        )
    where = own() if into is None else into
    if compiled:
        print(f"{counted(compiled, 'function')} compiled, kept in {where}")
    else:
        print(f"nothing to compile: all kernels are in {SHIPPED if SHIPPED.is_dir() else where}")
    return 0
