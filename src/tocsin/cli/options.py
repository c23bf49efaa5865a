"""Options shared by several commands, and their parsing."""

from __future__ import annotations

import argparse
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from tocsin.cli.folders import refuse_subscriptions_among
from tocsin.engine import sample
from tocsin.engine.loading import extras_of
from tocsin.errors import InvalidInput
from tocsin.index import Statistics
from tocsin.model.ranking import RANKINGS, Ranking
from tocsin.model.texts import text_type
from tocsin.records.csv_files import COLUMN_TYPES
from tocsin.records.extras import Extras
from tocsin.records.files import STANDARD
from tocsin.records.formats import FORMATS, Formatted, words_of
from tocsin.spelling import spelled

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
_WIDTH: Final = 80


def new_command(
    commands: Commands, name: str, *, help: str, description: str, examples: Sequence[str]
) -> argparse.ArgumentParser:
    """Add a command, or a verb of one. Its help ends with the examples, one command line each."""
    parser = commands.add_parser(
        name,
        help=help,
        description=filled(description),
        epilog=listed(examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(parser=parser)  # of a command and its verb, the verb's
    return parser


def filled(description: str) -> str:
    """A description with line breaks, which the formatter of a command keeps."""
    return textwrap.fill(description, _WIDTH)


def listed(examples: Sequence[str]) -> str:
    """Examples as the end of a help text."""
    return "\n".join(["examples:", "", *(f"    {example}" for example in examples)])


def add_format(parser: argparse.ArgumentParser, *, writes: bool = False) -> None:
    """Add the option for the format."""
    parser.add_argument(
        "--format",
        choices=list(FORMATS),
        help="the format of standard input (default: json), and of input files without a known ending",
    )
    if writes:
        parser.add_argument(
            "--out-format",
            choices=words_of(lambda row: row.sink is not None),
            help="the format of standard output (default: json), and of --out without a known ending",
        )


def add_sources(parser: argparse.ArgumentParser, of_input: str = "") -> None:
    """Add the arguments for subscriptions and events; `of_input` says what is special about standard input."""
    parser.add_argument(
        "subscriptions",
        metavar="SUBSCRIPTIONS",
        help="a file of subscriptions, an index folder, or - for standard input",
    )
    parser.add_argument("events", metavar="EVENTS", help=f"a file of events, or - for standard input{of_input}")


def add_index(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add the option for the index; `purpose` says what the command does with it."""
    parser.add_argument(
        "--index",
        default="auto",
        metavar="NAME",
        help=f"the index to {purpose}, of those that `tocsin index list` shows (default: auto)",
    )


def add_errors(parser: argparse.ArgumentParser) -> None:
    """Add the option for a file of rejected records."""
    parser.add_argument(
        "--errors",
        metavar="FILE",
        help="write rejected records to this file as JSON lines (default: standard error)",
    )


def add_typing(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the values of events are read."""
    parser.add_argument(
        "--schema",
        default="",
        metavar="COLUMN:TYPE,...",
        help=f"types of attributes of events: {', '.join(COLUMN_TYPES)} (default: detected)",
    )
    parser.add_argument(
        "--points",
        default="",
        metavar="NAME=X:Y,...",
        help="attributes to make as points from two others, such as location=lon:lat",
    )
    parser.add_argument(
        "--delimiter",
        metavar="CHARACTER",
        help="the delimiter of a CSV file of events, one character (default: detected)",
    )


class Reading(NamedTuple):
    """How events are read. The fields are named as in `tocsin.match`."""

    schema: dict[str, str]
    points: dict[str, tuple[str, str]]
    delimiter: str | None


def reading_of(given: argparse.Namespace) -> Reading:
    """The reading that the options of `add_typing` give; raises `InvalidInput`."""
    return Reading(schema_of(given.schema), points_of(given.points), given.delimiter)


def reading_text(given: argparse.Namespace) -> str:
    """The options of `add_typing` as they were given, each after a space."""
    named = (("schema", given.schema), ("points", given.points), ("delimiter", given.delimiter))
    return "".join(f" --{name} {shlex.quote(value)}" for name, value in named if value)


def add_now(parser: argparse.ArgumentParser) -> None:
    """Add the option for the present that conditions with NOW() ask for."""
    parser.add_argument(
        "--now",
        metavar="INSTANT",
        help="what NOW() is, such as 2024-05-31T08:15:00Z (default: the moment of the call)",
    )


def add_payload(parser: argparse.ArgumentParser) -> None:
    """Add the option for payloads in the answer."""
    parser.add_argument("--payload", action="store_true", help="also write the payload of the subscription, as JSON")


def said(path: str, word: str | None) -> str:
    """A path with the format given by the option."""
    return path if word is None else Formatted(path, word)


def add_sample(parser: argparse.ArgumentParser) -> None:
    """Add the options for a sample of events."""
    parser.add_argument(
        "--sample",
        metavar="EVENTS",
        help="a file of events; its first 10,000 give the statistics (default: estimated from the subscriptions)",
    )
    add_typing(parser)


def require_sample(given: argparse.Namespace) -> None:
    """Raise `InvalidInput` if the sample is standard input twice, or is missing and an option says how to read it."""
    if given.subscriptions == given.sample == STANDARD:
        raise InvalidInput("only one of SUBSCRIPTIONS and --sample can be standard input")
    refuse_subscriptions_among(given.sample, given.subscriptions)
    if given.sample is None and (options := reading_text(given)):
        raise InvalidInput(f"{options.split()[0]} says how events are read; give some with --sample EVENTS")


def sampled(given: argparse.Namespace) -> Statistics | None:
    """The statistics of the sample; None if there is none."""
    return None if given.sample is None else sample(said(given.sample, given.format), **reading_of(given)._asdict())


def add_rankings(parser: argparse.ArgumentParser) -> None:
    """Add one option for each ranking, such as `--top 20`; they exclude each other."""
    group = parser.add_mutually_exclusive_group()
    for word, kind in RANKINGS.items():
        read = kind.numbers[0][1] if len(kind.numbers) == 1 else str
        group.add_argument(f"--{word}", type=read, metavar=kind.spelling()[0], help=kind.help)


def ranked(given: argparse.Namespace) -> Ranking | None:
    """The ranking given by an option, None if there is none; raises `InvalidInput`."""
    for word, kind in RANKINGS.items():
        if (what := getattr(given, word, None)) is not None:
            try:
                with spelled(partial(_as_number, word, len(kind.numbers) == 1)):
                    return kind.parse(what.split(":") if isinstance(what, str) else [what])
            except InvalidInput:
                raise
            except ValueError:
                short, long = kind.spelling()
                raise InvalidInput(f"--{word}: {what!r} is not {short}; write {long}") from None
    return None


def _as_number(word: str, is_only: bool, name: str, _: Any) -> str:
    """Spell a number of a ranking: `--top`, or `ALPHA of --similar` if it has several."""
    return f"--{word}" if is_only else f"{name.upper()} of --{word}"


def add_named(parser: argparse.ArgumentParser) -> None:
    """Add the option for named parts in the answer."""
    parser.add_argument(
        "--named", action="store_true", help="also write which named parts of the subscription held (JSON and Parquet)"
    )


def add_only(parser: argparse.ArgumentParser) -> None:
    """Add the option that asks a part of the subscriptions."""
    parser.add_argument(
        "--only", metavar="TEXT", help="ask only the subscriptions whose payload satisfies this condition"
    )


def add_payload_columns(parser: argparse.ArgumentParser) -> None:
    """Add the option for subscription fields to keep in payloads."""
    parser.add_argument(
        "--payload-columns",
        default="",
        metavar="NAME,...",
        help="names of further fields of subscriptions to keep in their payloads",
    )


def extras_said(given: argparse.Namespace) -> Extras:
    """An `Extras` that records unknown fields of subscriptions, and keeps those named by the option."""
    return extras_of(filter(None, given.payload_columns.split(",")))


def as_option(name: str, value: Any) -> str:
    """Spell an option of Python as that of a command: `--schema price:string`."""
    word = f"--{_WORDS.get(name, name).replace('_', '-')}"
    if value is None:
        return word
    if isinstance(value, Mapping):
        pairs = ((one, f"={':'.join(kind)}" if isinstance(kind, tuple) else f":{kind}") for one, kind in value.items())
        value = [one + kind for one, kind in pairs]
    return f"{word} {shlex.quote(','.join(value) if isinstance(value, list) else str(value))}"


_WORDS: Final = {"statistics": "sample", "no_places": "no_place"}
"""Options with another name on the command line."""


def schema_of(text: str) -> dict[str, str]:
    """Parse `price:number,name:string` to a mapping."""
    schema: dict[str, str] = {}
    for item in filter(None, text.split(",")):
        name, colon, kind = item.rpartition(":")
        if not colon or (kind not in COLUMN_TYPES and text_type(kind) is None):
            what = f"{kind!r} in {item!r} is not a type" if colon else f"{item!r} is not COLUMN:TYPE"
            raise InvalidInput(f"--schema: {what}; the types are {', '.join(COLUMN_TYPES)}")
        schema[name] = kind
    return schema


def points_of(text: str) -> dict[str, tuple[str, str]]:
    """Parse `location=lon:lat` to a mapping."""
    points: dict[str, tuple[str, str]] = {}
    for item in filter(None, text.split(",")):
        name, equals, pair = item.partition("=")
        x, colon, y = pair.partition(":")
        if not (name and equals and x and colon and y):
            raise InvalidInput(f"--points: {item!r} is not NAME=X:Y; write location=lon:lat")
        points[name] = x, y
    return points
