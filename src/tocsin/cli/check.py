"""tocsin check: validate an expression or a file of subscriptions. Errors have line, column, caret and expectation."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, Any, Final

from tocsin.cli.notices import NEVER, add_warnings, never, warnings_file, write
from tocsin.cli.notices import lines as notice_lines
from tocsin.cli.options import (
    Commands,
    add_errors,
    add_format,
    add_sample,
    new_command,
    reading_of,
    require_sample,
    said,
    sampled,
)
from tocsin.cli.rejects import RejectLog, counted, describe, refuse_overwriting, reject_log, warn_if_empty
from tocsin.columns.events.wanted import Wanted
from tocsin.engine.durable.current import current_snapshots, current_texts
from tocsin.engine.loading import is_index, read_part
from tocsin.engine.misnamed import absent, misnamed, no_degrees
from tocsin.engine.notices import notices, notices_of
from tocsin.engine.notices.case import but_for_case
from tocsin.engine.notices.exchanged import exchanged, latitude_first
from tocsin.engine.notices.texts import texts_of_all, texts_of_part
from tocsin.engine.seen import Seen, seen_in
from tocsin.errors import ExpressionError, InvalidInput, needing
from tocsin.index import choose
from tocsin.jit.compiling.stores import has_all
from tocsin.language import parse_any, to_json, to_text
from tocsin.language.advice import advice_on
from tocsin.language.operators.over_time import attributes_behind, attributes_of_all
from tocsin.model.expression import EVERYTHING
from tocsin.model.readings import NOW
from tocsin.model.subscription import Notice, SubscriptionId, together
from tocsin.model.texts import Text, texts_in
from tocsin.monitor.terms.registry import TermRegistry, registry_of
from tocsin.progress import ShareBar
from tocsin.records.extras import Extras
from tocsin.records.subscription_record import FIELDS
from tocsin.segment import Segment, assemble

_MOST_SHOWN: Final = 20
_WITHOUT_KEY: Final = ("verified on every event", NEVER)
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
            "tocsin check subscriptions.jsonl --sample events.csv --points shop=lon:lat",
            """tocsin check -e "model = 'iphone5s' AND price <= 580\"""",
        ),
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "subscriptions",
        nargs="?",
        metavar="SUBSCRIPTIONS",
        help="a file of subscriptions, an index folder, or - for standard input",
    )
    what.add_argument("-e", "--expression", metavar="TEXT", help="one expression to check, as CQL2 text or JSON")
    add_format(parser)
    add_sample(parser)
    add_errors(parser)
    add_warnings(parser)
    parser.add_argument(
        "--service", action="store_true", help="the subscriptions are for `tocsin serve`: know and check its fields"
    )
    parser.add_argument("--json", action="store_true", help="with -e: print the expression as CQL2 JSON")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    if given.sample is not None and given.expression is not None:
        raise InvalidInput("--sample needs a file of subscriptions; it does not apply to one expression")
    require_sample(given)
    if given.expression is not None:
        return _check_expression(given)
    given.subscriptions = said(given.subscriptions, given.format)
    given.sample = None if given.sample is None else said(given.sample, given.format)
    refuse_overwriting([one for one in (given.subscriptions, given.sample) if one], [given.errors, given.warnings])
    with reject_log(given.errors) as log, warnings_file(given.warnings) as stream:
        check = _check_index if is_index(given.subscriptions) else _check_file
        return check(given, log, stream)


def _service_checks() -> dict[str, Callable[[Any], object]]:
    """The fields that subscriptions have in the service, and what checks them; raises `MissingExtra`."""
    with needing("service"):
        from tocsin.service.calls.routing import CHECKS
    return dict(CHECKS)


def _check_expression(given: argparse.Namespace) -> int:
    try:
        tree = parse_any(given.expression)
    except ExpressionError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(to_json(tree), ensure_ascii=False) if given.json else to_text(tree))
    if not given.json:
        print(f"attributes: {', '.join(attributes_of_all(tree)) or 'none'}")
    for advice in advice_on(tree, given.expression):
        print(f"warning: {advice.condition}: {advice.reason}", file=sys.stderr)
    return 0


def _check_file(given: argparse.Namespace, log: RejectLog, stream: IO[str] | None) -> int:
    plan = choose(statistics=sampled(given))
    extras = Extras(FIELDS, checks=_service_checks() if given.service else None)
    with ShareBar("checking") as bar:
        texts = texts_in(reading_of(given).schema)
        part, rejects = read_part(given.subscriptions, progress=bar.update, texts=texts, extras=extras)
    log.add("subscription", rejects)
    log.finish()
    if not len(part):
        warn_if_empty(given.subscriptions)
    print(f"{counted(len(part), 'subscription')} accepted, {len(rejects):,} rejected")
    _print_attributes(part.compiled.attributes)
    print(f"index: {plan.index} ({plan.reason})")
    if has_all():
        _print_places(assemble(part, plan), stream)
    elif len(part):
        print(UNPLACED)
    wanted = Wanted(part.compiled.attributes)
    over_time = _over_time(given, wanted, texts)
    seen = _seen(given, wanted, log)
    others = [*_about_options(given, wanted, seen), *_not_over_time(over_time, seen)]
    evaluated = _evaluated(lambda: texts_of_part(part), given, seen)
    _tell(together(extras.warnings(), [*others, *notices(part, seen), *evaluated]), stream)
    return 1 if rejects else 0


def _check_index(given: argparse.Namespace, log: RejectLog, stream: IO[str] | None) -> int:
    """Check the subscriptions of an index folder, which were all accepted."""
    snapshots = current_snapshots(given.subscriptions)
    print(f"{counted(len(snapshots), 'subscription')} in {given.subscriptions}")
    _print_attributes(snapshots.wanted.ordered)
    texts = current_texts(given.subscriptions)
    over_time = _over_time(given, snapshots.wanted, texts)
    seen = _seen(given, snapshots.wanted, log, texts)
    others = [*_about_options(given, snapshots.wanted, seen), *_not_over_time(over_time, seen)]
    evaluated = _evaluated(lambda: texts_of_all(snapshots), given, seen)
    _tell([*others, *notices_of(snapshots, seen), *evaluated], stream)
    return 0


def _print_attributes(compiled: Iterable[str]) -> None:
    asked = dict.fromkeys(name for one in compiled for name in attributes_behind(one))
    names = [name for name in asked if name not in (EVERYTHING, NOW)]
    print(f"{counted(len(names), 'attribute')}: {', '.join(names[:10])}{' ...' if len(names) > 10 else ''}")


def _seen(
    given: argparse.Namespace, wanted: Wanted, log: RejectLog, texts: Mapping[str, Text] | None = None
) -> Seen | None:
    """The attributes of the sample; None if there is none. The log takes its errors if it is a file."""
    if given.sample is None:
        return None
    seen = seen_in(given.sample, wanted, **reading_of(given)._asdict(), texts=texts)
    refused = sorted(seen.refused, key=lambda reject: reject.row)
    if given.errors is not None:
        log.add("event", refused, seen.lost)
    if refused:
        count = len({reject.row for reject in refused})
        more = "; --errors FILE writes them all" if count > 1 and given.errors is None else ""
        first = describe("event", refused[0])
        first = first.removesuffix(".") if more else first
        print(f"warning: {counted(count, 'event')} of the sample had errors; {first}{more}")
    return seen


def _over_time(given: argparse.Namespace, wanted: Wanted, texts: Mapping[str, Text]) -> TermRegistry | None:
    """The functions of several events in the subscriptions, of which the sample is to be read, too."""
    if given.sample is None or not (wanted.over_time or wanted.keys):
        return None
    registry = registry_of(wanted, texts)
    registry.want(wanted)
    wanted.add(name for names in registry.keys for name in names)
    return registry


def _not_over_time(registry: TermRegistry | None, seen: Seen | None) -> list[Notice]:
    """Warnings about what no event of the sample has of functions of several events, and of keys."""
    if registry is None or seen is None:
        return []
    missing = [(names, name) for names in registry.keys for name in names if name not in seen.types]
    return [*(absent(f"by={','.join(names)}", name, seen) for names, name in missing), *registry.notices(seen)]


def _about_options(given: argparse.Namespace, wanted: Wanted, seen: Seen | None) -> list[Notice]:
    """Warnings about misspelt options, and coordinates that are not degrees."""
    if seen is not None:
        seen.finish()
    reading = reading_of(given)
    return [*misnamed(wanted, seen, schema=reading.schema, points=reading.points), *no_degrees(seen, wanted)]


def _evaluated(
    texts: Callable[[], Iterable[tuple[SubscriptionId, str]]], given: argparse.Namespace, seen: Seen | None
) -> list[Notice]:
    """Warnings that take an evaluation of conditions: of exchanged coordinates, and of letter case."""
    points = reading_of(given).points
    order = [*latitude_first(texts(), points, seen), *exchanged(texts(), points, seen)]
    return [*order, *but_for_case(texts(), seen)]


def _tell(found: Sequence[Notice], stream: IO[str] | None) -> None:
    """Print the foremost warnings, and write all of them."""
    for line in notice_lines(found, _MOST_SHOWN):
        print(line)
    if stream is not None:
        write(stream, found)


def _print_places(segment: Segment, stream: IO[str] | None) -> None:
    counts = segment.matcher.places()
    places = [
        f"{where if where in _WITHOUT_KEY else f'by {where}'}: {count:,}" for where, count in counts.items() if count
    ]
    if places:
        print(f"indexed: {'; '.join(places)}")
        print(f"top-k search: {segment.best_first()}")
    if counts.get(NEVER):
        if stream is None:
            print(f"--warnings FILE lists those that are {NEVER}")
        else:
            numbers = (number for number in range(len(segment)) if segment.matcher.place(number) == NEVER)
            write(stream, never((segment.id_of(number), segment.sources.text(number)) for number in numbers))
