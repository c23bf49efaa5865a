"""tocsin check: validate an expression or a file of subscriptions. Errors have line, column, caret and expectation."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Final

from tocsin.cli.options import Commands, add_format, add_sample, new_command, said, sampled
from tocsin.cli.progress import ShareBar
from tocsin.cli.rejects import counted, describe
from tocsin.columns.events.wanted import Wanted
from tocsin.engine.loading import extras_of, read_part
from tocsin.engine.misnamed import no_degrees
from tocsin.engine.notices import notices
from tocsin.engine.seen import seen_in
from tocsin.errors import ExpressionError, InvalidInput
from tocsin.index import Part, choose
from tocsin.kernels.compiling.stores import has_all
from tocsin.language import parse_any, to_json, to_text
from tocsin.language.advice import advice_on
from tocsin.model.expression import attributes
from tocsin.model.readings import attribute_of
from tocsin.model.subscription import Notice, together
from tocsin.segment import Segment, assemble

_MOST_SHOWN: Final = 20
_WITHOUT_KEY: Final = ("verified on every event", "never satisfied")
UNPLACED: Final = "indexed: not shown, because the kernels are not compiled yet; `tocsin warm` compiles them"


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "check",
        help="check subscriptions, or one expression",
        description="Checks subscriptions, or one expression, and shows line, column and a caret for each mistake. "
        "With --sample it also warns about attributes and types that no event has.",
        examples=(
            "tocsin check subscriptions.jsonl --sample events.jsonl",
            """tocsin check -e "model = 'iphone5s' AND price <= 580\"""",
        ),
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "subscriptions", nargs="?", metavar="SUBSCRIPTIONS", help="a file of subscriptions, or - for standard input"
    )
    what.add_argument("-e", "--expression", metavar="TEXT", help="one expression to check, as CQL2 text or JSON")
    add_format(parser)
    add_sample(parser)
    parser.add_argument("--json", action="store_true", help="with -e: print the expression as CQL2 JSON")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    if given.sample is not None and given.expression is not None:
        raise InvalidInput("--sample needs a file of subscriptions; it does not apply to one expression")
    return _check_expression(given) if given.expression is not None else _check_file(given)


def _check_expression(given: argparse.Namespace) -> int:
    try:
        tree = parse_any(given.expression)
    except ExpressionError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(to_json(tree), ensure_ascii=False) if given.json else to_text(tree))
    if not given.json:
        print(f"attributes: {', '.join(attributes(tree)) or 'none'}")
    for advice in advice_on(tree, given.expression):
        print(f"warning: {advice.condition}: {advice.reason}", file=sys.stderr)
    return 0


def _check_file(given: argparse.Namespace) -> int:
    given.subscriptions = said(given.subscriptions, given.format)
    given.sample = None if given.sample is None else said(given.sample, given.format)
    plan = choose(statistics=sampled(given))
    extras = extras_of(())
    with ShareBar("checking") as bar:
        part, rejects = read_part(given.subscriptions, progress=bar.update, extras=extras)
    for reject in rejects:
        print(describe("subscription", reject), file=sys.stderr)
    names = list(dict.fromkeys(map(attribute_of, part.compiled.attributes)))
    print(f"{counted(len(part), 'subscription')} accepted, {len(rejects):,} rejected")
    print(f"{counted(len(names), 'attribute')}: {', '.join(names[:10])}{' ...' if len(names) > 10 else ''}")
    print(f"index: {plan.index} ({plan.reason})")
    if has_all():
        _print_places(assemble(part, plan))
    elif len(part):
        print(UNPLACED)
    _print_notices(given, part, extras.warnings())
    return 1 if rejects else 0


def _print_notices(given: argparse.Namespace, part: Part, ahead: Sequence[Notice]) -> None:
    """Print conditions that can never hold or, with a sample, that no event of it satisfies."""
    wanted = Wanted(part.compiled.attributes)
    seen = None if given.sample is None else seen_in(given.sample, wanted)
    if seen is not None and seen.refused:
        first = min(seen.refused, key=lambda reject: reject.row)
        count = len({reject.row for reject in seen.refused})
        print(f"warning: {counted(count, 'event')} of the sample had errors; {describe('event', first)}")
    others = no_degrees(seen, wanted)
    found = together(ahead, [*others, *notices(part, seen)])
    for notice in found[:_MOST_SHOWN]:
        print(f"warning: {notice}")
    if len(found) > _MOST_SHOWN:
        print(f"... and {len(found) - _MOST_SHOWN:,} more warnings")


def _print_places(segment: Segment) -> None:
    places = [
        f"{where if where in _WITHOUT_KEY else f'by {where}'}: {count:,}"
        for where, count in segment.matcher.places().items()
        if count
    ]
    if places:
        print(f"indexed: {'; '.join(places)}")
        print(f"top-k search: {segment.matcher.best_first()}")
