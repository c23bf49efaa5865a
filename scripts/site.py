"""The part of the site that is not in docs/: pages of the project's root, and the reference of the command line.

MkDocs calls the functions (`hooks` in mkdocs.yml). Links are written for a reader of the repository. Those that leave
the site become plain text, for the site may be read where the repository is not.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

from tocsin.cli.main import make_parser

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
"""Pages of the root, and their names on the site."""

BEHIND = re.compile(
    r"(?:decisions|papers|results)/|(?:architecture|benchmarks|changelog|contributing|internals|roadmap)\.md"
)
"""Pages for those who work on tocsin, which come last in a search."""
KEYWORDS = {
    "does-not-do.md": ["no event for minutes", "heartbeat", "absence", "chaining", "roaming", "fuzzy", "typo"],
    "operations/deploy.md": ["docker", "container", "helm"],
    "operations/sizing.md": ["million subscriptions", "capacity", "how much memory"],
    "operations/two-machines.md": ["replicas", "replication", "high availability", "failover", "cluster"],
    "operations/upgrades.md": ["upgrade", "migrate", "new version"],
    "service.md": ["throttle alerts", "rate limit", "mute", "delete a user", "GDPR"],
}
"""Words in which people search for a page, and which it may not have."""

NAMED = re.compile(
    r"(<a [^>]*>|<pre>(?:<span></span>)?)?<code>"
    r"((?:tocsin\.(?=\w)|(?=(?:spark|indexes)\.\w)|(?=[A-Z]\w*[a-z]))\w+(?:\.\w+)*)"
    r"(?:\([^<]*\))?</code>"
)
"""A public name of Python in the text of a page, and the link or the block that it is in, if any."""

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
CODE = re.compile(r"(^```.*?^```\n)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the root. Decision records are reached from their table, not from the navigation."""
    for source, name in PAGES.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Write links as the site has them, and the commands behind their introduction."""
    name = page.file.src_uri
    page.meta |= {"search": {"boost": 0.01 if BEHIND.match(name) else 1}, "tags": KEYWORDS.get(name, [])}
    source = next((root for root, site in PAGES.items() if site == name), f"docs/{name}")
    parts = CODE.split(markdown)
    written = "".join(_block(part) if part.startswith("```") else _links(part, source, name) for part in parts)
    return written + "".join(_commands(make_parser())) if name == "commands.md" else written


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Link each public name to its place in the reference. Names that the reference lacks stay as they are."""
    return NAMED.sub(_named, html) if "autorefs" in config.plugins else html


def _named(found: re.Match[str]) -> str:
    name = f"tocsin.{found[2].removeprefix('tocsin.')}"
    return found[0] if found[1] else f'<autoref identifier="{name}" optional>{found[0]}</autoref>'


def _block(block: str) -> str:
    return re.sub(r"^```(\w+) no-run\n", r"```\1\n", block)


def _links(text: str, source: str, name: str) -> str:
    """The text with each relative link to a page of the site, or without it where it leads elsewhere."""

    def link(found: re.Match[str]) -> str:
        picture, shown, target, fragment = found[1], found[2], found[3], found[4] or ""
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        path = os.path.normpath(PurePosixPath(source).parent / target)
        if path in PAGES:
            there = PAGES[path]
        elif (ROOT / path).is_file() and path.startswith("docs/"):
            there = path.removeprefix("docs/")
        elif (ROOT / path / "README.md").is_file() and path.startswith("docs/"):
            there = f"{path.removeprefix('docs/')}/README.md"
        else:
            return shown if shown.strip("`") == path else f"{shown} (`{path}`)"
        return f"{picture}[{shown}]({os.path.relpath(there, PurePosixPath(name).parent)}{fragment})"

    return LINK.sub(link, text)


def _commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    """A section for each command: what it does, its usage, its options, examples."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                nested = [one for one in command._actions if isinstance(one, argparse._SubParsersAction)]
                if nested:
                    yield f"\n## {command.prog}\n\n{command.description or ''}\n"
                    yield from _commands(command)
                else:
                    yield from _command(command)


def _command(command: argparse.ArgumentParser) -> Iterator[str]:
    usage = re.sub(r"^usage: ", "", command.format_usage())
    yield f"\n## {command.prog}\n\n{command.description or ''}\n\n```text\n{usage}```\n\n| | |\n|---|---|\n"
    formatter = command._get_formatter()
    for action in command._actions:
        if action.help is not argparse.SUPPRESS and action.dest != "help":
            shown = formatter._format_action_invocation(action).replace("|", "\\|")
            text = formatter._expand_help(action) if action.help else ""
            yield f"| `{shown}` | {text} |\n"
    if command.epilog:
        yield f"\n{command.epilog}\n"
