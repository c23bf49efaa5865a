"""tocsin convert: rules of other systems as subscriptions."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, Final

from tocsin.cli.options import Commands, add_errors, new_command
from tocsin.cli.rejects import RejectLog, counted, refuse_overwriting, reject_log
from tocsin.errors import ExpressionError, InvalidInput
from tocsin.language.dialects import DIALECTS, FORMS, Found, converted, dialect_named, rules_in
from tocsin.model.subscription import Reject
from tocsin.records.files import STANDARD
from tocsin.writing import aside, raising_invalid_input

AS_WRITTEN: Final = "as-written"
_WHOLE: Final = (".yml", ".yaml")
_ENDINGS: Final = (".json", ".jsonl", ".ndjson", ".yml", ".yaml", ".sql", ".txt")


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "convert",
        help="rules of another system as subscriptions",
        description="Reads rules of another system and writes subscriptions as JSON lines. A rule that tocsin cannot "
        "say exactly is refused by name, and the others are written. The files are JSON (a rule, a list, or an "
        "export), JSON lines, or YAML; a folder stands for its files. Rules without a name are numbered. A "
        "correlation of Sigma may name rules of all files.",
        examples=(
            "tocsin convert rules.json --from eventbridge > subscriptions.jsonl",
            "tocsin convert sigma/rules --from sigma --errors refused.jsonl --out subscriptions.jsonl",
            "tocsin convert queries.jsonl --from mongodb --to as-written > subscriptions.jsonl",
        ),
    )
    parser.add_argument("rules", nargs="+", metavar="RULES", help="files or folders of rules, or - for standard input")
    parser.add_argument(
        "--from", dest="language", required=True, choices=list(DIALECTS), help="the system of the rules"
    )
    parser.add_argument(
        "--to",
        choices=[*FORMS, AS_WRITTEN],
        default=FORMS[0],
        help=f"how conditions are written: as CQL2 text (default) or JSON, or {AS_WRITTEN} with their language, which "
        "explanations then speak of",
    )
    parser.add_argument("--out", metavar="FILE", help="the file (default: standard output)")
    add_errors(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    files = [path for one in given.rules for path in _files_of(one)]
    refuse_overwriting([str(path) for path in files], [given.out, given.errors])
    with reject_log(given.errors) as log:
        with _opened(given.out) as stream:
            written = _convert_all(given, files, log, stream)
        log.finish()
        print(f"{counted(written, 'rule')} converted, {log.summary()}", file=sys.stderr)
        log.require("rule", written)
        return log.status()


@contextmanager
def _opened(out: str | None) -> Iterator[IO[str]]:
    """Standard output, or a file that is there once it is whole."""
    if out in (None, STANDARD):
        yield sys.stdout
        return
    with aside(out) as beside:
        with raising_invalid_input(out):
            stream = beside.open("w", encoding="utf-8")
        with stream:
            yield stream


def _files_of(given: str) -> list[Path]:
    path = Path(given)
    if given == STANDARD:
        return [path]
    if path.is_dir():
        found = sorted(one for one in path.rglob("*") if one.suffix.lower() in _ENDINGS and one.is_file())
        if not found:
            raise InvalidInput(f"{path} has no files of rules; their endings are {' '.join(_ENDINGS)}")
        return found
    if not path.exists():
        raise InvalidInput(f"there is no file {path}")
    return [path]


def _convert_all(given: argparse.Namespace, files: list[Path], log: RejectLog, stream: IO[str]) -> int:
    written = 0
    for row, found in enumerate(_rules_of(files, given.language)):
        name = str(row + 1) if isinstance(found, ExpressionError) or found.id is None else found.id
        try:
            if isinstance(found, ExpressionError):
                raise found
            record = {"id": name, **_condition(found.rule, given), **found.others}
        except ExpressionError as error:
            log.add("rule", [Reject(row, name, "", error.reason)])
        else:
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            written += 1
    return written


def _condition(rule: Any, given: argparse.Namespace) -> dict[str, Any]:
    fields = converted(rule, from_=given.language, to=FORMS[0] if given.to == AS_WRITTEN else given.to)
    return {"where": rule, "language": given.language} if given.to == AS_WRITTEN else fields


def _rules_of(files: list[Path], language: str) -> Iterator[Found | ExpressionError]:
    """The rules of all files, whose documents may name each other, and the errors of what is not a rule."""
    sources = [(place, one) for place, path in enumerate(files) for one in _documents_of(path, language)]
    read = [one for _, one in sources if not isinstance(one, ExpressionError)]
    linked = iter(dialect_named(language).linked(read))
    for place, group in groupby(sources, itemgetter(0)):
        documents = [one if isinstance(one, ExpressionError) else next(linked) for _, one in group]
        found = [one for document in documents for one in _rules_in(document)]
        is_file = str(files[place]) != STANDARD
        if len(found) == 1 and isinstance(found[0], Found) and found[0].id is None and is_file:
            found = [found[0]._replace(id=files[place].stem)]
        yield from found


def _rules_in(document: Any) -> Iterator[Found | ExpressionError]:
    """The rules of a document; none of one that only serves others."""
    if isinstance(document, ExpressionError):
        yield document
    elif document is not None:
        yield from rules_in(document)


def _documents_of(path: Path, language: str) -> Iterator[Any]:
    """The documents of a file, and the errors of what is none. A file that is not one document is read by lines."""
    dialect = dialect_named(language)
    text = sys.stdin.read() if str(path) == STANDARD else _text_of(path)
    try:
        yield from dialect.documents(text)
        return
    except ExpressionError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2 or path.suffix.lower() in _WHOLE:
            yield error
            return
    for line in lines:
        try:
            yield from dialect.documents(line)
        except ExpressionError as inner:
            yield inner


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8: {error}") from None
