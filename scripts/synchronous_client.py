"""Make the client that blocks from the one that awaits: `client/synchronous/` from `client/asynchronous/`.

    python scripts/synchronous_client.py            write the files
    python scripts/synchronous_client.py --check    say which files are not what this script makes of their sources

Words are replaced, in code as in docstrings, and ruff formats the result.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
CLIENT: Final = ROOT / "src" / "tocsin" / "client"
SOURCES: Final = CLIENT / "asynchronous"
MADE: Final = CLIENT / "synchronous"
HEADING: Final = (
    "# Made by scripts/synchronous_client.py from asynchronous/{name}: change that file, then run: make client\n"
)
PHRASES: Final = {
    "programs that await": "programs that block",
    "They are coroutines.": "Threads may share it.",
    " A file is read in the event loop, in pieces.": "",
}
"""What docstrings say of one client alone. Each is on one line of some source."""
PACKAGE: Final = '"""The client that blocks, which `scripts/synchronous_client.py` makes from the one that awaits."""\n'
NAMES: Final = {
    "asynchronous": "synchronous",
    "aclose": "close",
    "aiter": "iter",
    "aiter_bytes": "iter_bytes",
    "anext": "next",
    "aread": "read",
    "contains": "__contains__",
}
# Files that are not yet written count as those of tocsin, too.
LINT: Final = ["check", "--fix-only", "--select=I,C416", "--config", 'lint.isort.known-first-party=["tocsin"]']
RULES: Final = [
    (re.compile(r"\basync (?=def |for |with )"), ""),
    (re.compile(r"\bawait "), ""),
    (re.compile(r"\b__a(?=enter__|exit__)"), "__"),
    (re.compile(r"\b(?:Async(?=[A-Z])|async_)"), ""),
    *((re.compile(rf"\b{name}\b"), other) for name, other in NAMES.items()),
]


def sources() -> list[Path]:
    """The modules of the client that awaits."""
    return sorted(file for file in SOURCES.glob("*.py") if file.name != "__init__.py")


def synchronous(text: str) -> str:
    """The text of a module without `async` and `await`, and with the names of the client that blocks."""
    for phrase, other in PHRASES.items():
        text = text.replace(phrase, other)
    for rule, other in RULES:
        text = rule.sub(other, text)
    return text


def formatted(text: str, name: str) -> str:
    """A module as ruff sorts its imports and formats it. A comprehension without `async` may be a plain `list`."""
    place = ["--quiet", "--stdin-filename", str(MADE / name), "-"]
    for command in ([*LINT, "--unsafe-fixes"], ["format"]):
        run = [sys.executable, "-m", "ruff", *command, *place]
        text = subprocess.run(run, input=text, capture_output=True, text=True, encoding="utf-8", check=True).stdout
    return text


def made() -> dict[str, str]:
    """The text of each file of the client that blocks."""
    texts = {source.name: source.read_text(encoding="utf-8") for source in sources()}
    unused = [phrase for phrase in PHRASES if not any(phrase in text for text in texts.values())]
    if unused:
        raise SystemExit(f"no module of {SOURCES} has: {'; '.join(unused)}")
    modules = {name: formatted(HEADING.format(name=name) + synchronous(text), name) for name, text in texts.items()}
    return {"__init__.py": PACKAGE, **modules}


def stale() -> list[str]:
    """The files that are missing, left over, or not what this script makes."""
    texts = made()
    present = {file.name: file.read_text(encoding="utf-8") for file in MADE.glob("*.py")}
    return sorted(name for name in texts.keys() | present.keys() if texts.get(name) != present.get(name))


def write() -> None:
    """Write the files of the client that blocks, and remove those without a source."""
    texts = made()
    MADE.mkdir(exist_ok=True)
    for file in MADE.glob("*.py"):
        if file.name not in texts:
            file.unlink()
    for name, text in texts.items():
        (MADE / name).write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="say which files are old, and write nothing")
    if not parser.parse_args().check:
        write()
        return 0
    names = stale()
    print(
        f"not made from their sources: {', '.join(names)}; run: make client"
        if names
        else "the client that blocks is made from the one that awaits"
    )
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
