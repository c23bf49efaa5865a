"""tocsin monitor: which conditions over several events become TRUE and FALSE for an object, one record a change."""

from __future__ import annotations

import argparse
from typing import Any

import pyarrow as pa

from tocsin.cli.course import Begun, Passing, Subscribed, follow
from tocsin.cli.monitor_options import NOW, add_objects, add_passing, monitor_of, tick_of, until_of
from tocsin.cli.options import Commands, add_errors, add_format, add_payload, add_sources, add_typing, new_command
from tocsin.cli.rejects import counted
from tocsin.cli.state_options import add_rules, add_state
from tocsin.monitor.tables import changes_table


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "monitor",
        help="report when conditions over several events become TRUE and FALSE",
        description="Follows what users, machines and other objects did, and writes one record for each change: a "
        "subscription becomes TRUE for an object, or FALSE, by an event or because time passes.",
        examples=(
            "tocsin monitor rules.jsonl logins.jsonl --key user --time ts --until now",
            "tocsin monitor index/ - --key host,user --dwell 5min --state logins.state",
        ),
    )
    add_sources(parser)
    add_objects(parser)
    add_rules(parser)
    add_passing(parser)
    add_state(parser)
    add_typing(parser)
    add_payload(parser)
    add_format(parser, writes=True)
    add_errors(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    until = until_of(given)

    def begin(engine: Subscribed) -> Begun:
        monitor = monitor_of(given, engine)

        def changes(instant: Any) -> pa.Table:
            found = monitor.advance(None if instant == NOW else instant)
            with engine.view.reading() as snapshots:
                ids = snapshots.ids_column_type
            return changes_table(found, [None] * len(found), ids, engine.payload if given.payload else None)

        passing = Passing(changes, tick_of(given), until)
        return Begun(monitor, {}, lambda: f"{counted(len(monitor), 'object')} known", passing)

    return follow(given, begin)
