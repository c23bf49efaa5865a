"""--format: of which format are files whose ending names none, and standard input and output?"""

from __future__ import annotations

import argparse

from tocsin.records.formats import FORMATS, Formatted


def add_format(parser: argparse.ArgumentParser, *, writes: bool = False) -> None:
    """Let the user say a format."""
    parser.add_argument(
        "--format",
        choices=list(FORMATS),
        help="the format of what is read from - and from files whose ending names none (default: json for -)",
    )
    if writes:
        parser.add_argument(
            "--out-format",
            choices=list(FORMATS),
            help="the format of --out where its ending names none, and of standard output (default: json)",
        )


def said(path: str, word: str | None) -> str:
    """A path, with the format that was said."""
    return path if word is None else Formatted(path, word)
