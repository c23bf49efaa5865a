"""The entry point: parses the command line, runs the command, and turns errors into one clear line.

Exit status: 0 every record was served, 1 some record was not, 2 could not run, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

import tocsin
from tocsin.cli import (
    INTERRUPTED,
    TERMINATED,
    auditing,
    backing_up,
    check,
    compiling,
    converting,
    demo,
    explaining,
    fencing,
    indexes,
    matching,
    monitoring,
    pipeline,
    serving,
    storing,
    tokens,
    updating,
    warming,
)
from tocsin.cli.options import as_option, filled, listed
from tocsin.cli.parsing import Parser
from tocsin.cli.stopping import Terminated, terminating
from tocsin.errors import TocsinError
from tocsin.records.formats import FORMATS, JSON, either
from tocsin.spelling import printable, spelled

CLEAN, REJECTS, FAILED = 0, 1, 2
_EXTRA: Final = re.compile(r"pip install 'tocsin\[(\w+)\]'")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    given, unknown = make_parser().parse_known_args(arguments)
    if unknown:  # the command's parser shows its own usage
        given.parser.refuse(unknown)
    try:
        if given.command == "pipeline":  # its options are in its file, and it ends with a micro-batch
            status: int = given.run(given)
        else:
            with spelled(as_option), terminating():
                status = given.run(given)
        if sys.stdout is not None:
            sys.stdout.flush()
    except TocsinError as error:
        message = _EXTRA.sub(lambda advice: install_command(advice[1]), str(error))
        print(f"tocsin {given.command}: {printable(message, lines=True)}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        # The reader of the output is gone, as with `head`. Python's flush at exit must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLEAN if given.command in ("match", "explain", "index", "pipeline") else FAILED
    except KeyboardInterrupt as ended:
        how, status = ("terminated", TERMINATED) if isinstance(ended, Terminated) else ("interrupted", INTERRUPTED)
        print(f"tocsin {given.command}: {how}; no incomplete output is left", file=sys.stderr)
        return status
    except OSError as error:
        print(f"tocsin {given.command}: {printable(str(error), lines=True)}", file=sys.stderr)
        return FAILED
    return status


def install_command(extra: str) -> str:
    """The command that installs an extra, from the checkout or the wheel that tocsin was installed from.

    Without these, from the package index. Only commands say so: answers of a service have no path of its machine.
    """
    try:
        source = json.loads(metadata.distribution("tocsin").read_text("direct_url.json") or "{}")
        url = urlsplit(source.get("url", ""))
        is_editable = source.get("dir_info", {}).get("editable", False)
    except (metadata.PackageNotFoundError, OSError, ValueError, AttributeError):
        return f"pip install 'tocsin[{extra}]'"
    path = Path(url2pathname(url.path))
    if url.scheme != "file" or not path.exists():
        return f"pip install 'tocsin[{extra}]'"
    return f"pip install {'-e ' if is_editable else ''}{shlex.quote(f'{path}[{extra}]')}"


def make_parser() -> Parser:
    """Build the parser of the command line."""
    formats = either(tuple(row.name for row in FORMATS.values()))
    parser = Parser(
        prog="tocsin",
        description=filled(
            "Matches streams of events against standing subscriptions, exactly. "
            f"The ending of a file gives its format, {formats}; for other files --format does. "
            f"- is standard input or output, in {JSON.name} without --format. "
            "Exit status: 0 if every record was served, 1 if some record was not, 2 if the command could not run."
        ),
        epilog=listed(
            (
                "tocsin match subscriptions.jsonl events.jsonl --out matches.csv",
                "tocsin compile subscriptions.jsonl index/",
                "tocsin match index/ events.jsonl --top 20",
            )
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tocsin {tocsin.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (
        check,
        matching,
        fencing,
        monitoring,
        explaining,
        converting,
        compiling,
        updating,
        storing,
        backing_up,
        serving,
        tokens,
        auditing,
        indexes,
        pipeline,
        warming,
        demo,
    ):
        module.add_command(commands)
    return parser
