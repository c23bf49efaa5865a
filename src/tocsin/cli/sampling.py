"""--sample EVENTS: some events tell how often attributes and values come, and so where subscriptions are looked for."""

from __future__ import annotations

import argparse

from tocsin.cli.formats import said
from tocsin.engine import sample
from tocsin.index import Statistics


def add_sample(parser: argparse.ArgumentParser) -> None:
    """Let the user name a file of events."""
    parser.add_argument("--sample", metavar="EVENTS", help="count attributes and values on the first 10,000 of these")


def sampled(given: argparse.Namespace) -> Statistics | None:
    """The statistics of that file, None where none was named."""
    return None if given.sample is None else sample(said(given.sample, given.format))
