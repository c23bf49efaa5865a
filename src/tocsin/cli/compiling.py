"""tocsin compile: subscriptions into an index folder, which `match` and Spark memory-map instead of parsing again."""

from __future__ import annotations

import argparse

from tocsin.cli.folders import require_own_folder
from tocsin.cli.options import (
    Commands,
    add_errors,
    add_format,
    add_index,
    add_payload_columns,
    add_sample,
    extras_said,
    new_command,
    require_sample,
    said,
    sampled,
)
from tocsin.cli.planning import add_plan, print_plan, require_plan
from tocsin.cli.rejects import counted, refuse_overwriting, reject_log, warn
from tocsin.engine import Engine
from tocsin.engine.loading import build_from
from tocsin.errors import InvalidInput
from tocsin.index import choose
from tocsin.progress import ShareBar
from tocsin.segment import write_index
from tocsin.segment.folder import saved_statistics


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "compile",
        help="compile subscriptions into an index folder",
        description="Compiles subscriptions into an index folder. `tocsin match`, tocsin.Engine.load and Spark "
        "memory-map this folder instead of parsing the subscriptions again.",
        examples=(
            "tocsin compile subscriptions.jsonl index/",
            "tocsin compile subscriptions.jsonl index/ --sample events.csv --points shop=lon:lat",
            "tocsin compile subscriptions.jsonl --into alerts/",
            "tocsin compile subscriptions.parquet --plan --partitions 16 --sample events.jsonl",
        ),
    )
    parser.add_argument(
        "subscriptions", metavar="SUBSCRIPTIONS", help="a file of subscriptions, or - for standard input"
    )
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        help="the index folder; its new version replaces the earlier one atomically",
    )
    parser.add_argument(
        "--into",
        metavar="FOLDER",
        help="add the subscriptions to a durable engine in this folder instead; it is created if it does not exist. "
        "Ids that exist are rejected",
    )
    add_index(parser, "build")
    add_format(parser)
    add_sample(parser)
    add_plan(parser)
    add_payload_columns(parser)
    add_errors(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    require_sample(given)
    given.subscriptions = said(given.subscriptions, given.format)
    if given.plan:
        if given.into is not None:
            raise InvalidInput("--plan is of an index for Spark; leave --into out")
        return print_plan(given)
    require_plan(given)
    if given.into is not None:
        return _into(given)
    if given.folder is None:
        raise InvalidInput("compile needs a FOLDER for the index; only --plan and --into work without one")
    plan = choose(given.index, saved_statistics(given.folder, sampled(given)))
    refuse_overwriting([one for one in (given.subscriptions, given.sample) if one], [given.errors])
    require_own_folder(given.folder)
    extras = extras_said(given)
    with reject_log(given.errors) as log:
        with ShareBar("reading subscriptions") as bar:
            segment, rejects = build_from(given.subscriptions, plan, progress=bar.update, extras=extras)
        log.add("subscription", rejects)
        log.finish()
        warn(extras.warnings())
        if len(segment) or not log.count:
            written = write_index(given.folder, segment)
            print(f"{counted(len(segment), 'subscription')} compiled into {written.path}, {log.count:,} rejected")
            print(f"index: {plan.index} ({plan.reason})")
    log.require("subscription", len(segment), given.subscriptions)
    return log.status()


def _into(given: argparse.Namespace) -> int:
    """Add the subscriptions to a durable engine, in one transaction."""
    if given.folder is not None:
        raise InvalidInput(f"--into names the folder; leave {given.folder} out")
    if given.sample is not None:
        raise InvalidInput("--sample is for an index; a durable engine estimates from its subscriptions")
    refuse_overwriting([given.subscriptions], [given.errors])
    require_own_folder(given.into)
    extras = extras_said(given)
    engine = Engine.open(given.into, index=given.index)
    with reject_log(given.errors) as log, engine:
        with ShareBar("reading subscriptions") as bar:
            report = engine.subscribe_many(given.subscriptions, progress=bar.update, payload_columns=extras.kept)
        log.add("subscription", report.errors)
        log.finish()
        warn(report.warnings)
        print(f"{counted(report.accepted, 'subscription')} added to {given.into}, {log.count:,} rejected")
        print(f"{given.into} has {counted(len(engine), 'subscription')}, change {engine.sequence:,}")
    log.require("subscription", report.accepted, given.subscriptions)
    return log.status()
