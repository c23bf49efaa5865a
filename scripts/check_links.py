"""Do the links in the documentation lead anywhere? Checks relative links and anchors of every Markdown file."""

from __future__ import annotations

import re
import sys
from pathlib import Path

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+\s+(.*)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchor(heading: str) -> str:
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    found = []
    for match in LINK.finditer(text):
        target = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            found.append(f"{page}: {target} leads to no file")
        elif fragment and file.suffix == ".md":
            anchors = {anchor(heading) for heading in HEADING.findall(file.read_text(encoding="utf-8"))}
            if fragment not in anchors:
                found.append(f"{page}: {target} names no heading")
    return found


def main() -> int:
    pages = sorted([*Path().glob("*.md"), *Path("docs").rglob("*.md")])
    problems = [problem for page in pages for problem in broken(page)]
    print("\n".join(problems) if problems else f"{len(pages)} pages, every link leads somewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
