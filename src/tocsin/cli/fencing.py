"""tocsin fences: what moving objects enter, stay in and leave, one record a change."""

from __future__ import annotations

import argparse

from tocsin.cli.course import Begun, Subscribed, follow
from tocsin.cli.fence_options import add_forgetting, add_objects, fences_of
from tocsin.cli.options import Commands, add_errors, add_format, add_payload, add_sources, add_typing, new_command
from tocsin.cli.rejects import counted
from tocsin.cli.state_options import add_rules, add_state


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "fences",
        help="report what moving objects enter, stay in and leave",
        description="Follows moving objects and writes one record for each change: an object enters a subscription, "
        "stays in it, leaves it or crosses it.",
        examples=(
            "tocsin fences zones.jsonl positions.jsonl --key vehicle --time at --dwell 300",
            "tocsin fences zones.jsonl positions.csv --key vehicle --points location=lon:lat --state state.json",
        ),
    )
    add_sources(parser)
    add_objects(parser)
    add_rules(parser)
    add_forgetting(parser)
    add_state(parser)
    add_typing(parser)
    parser.add_argument("--event-key", metavar="NAME", help="also write this attribute of the event")
    add_payload(parser)
    add_format(parser, writes=True)
    add_errors(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    def begin(engine: Subscribed) -> Begun:
        fences = fences_of(given, engine)
        further = {"event_key": given.event_key}
        return Begun(fences, further, lambda: f"{counted(sum(1 for _ in fences.objects()), 'object')} inside")

    return follow(given, begin)
