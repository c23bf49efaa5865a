"""Build the console: npm makes `console/` into the files of `src/tocsin/service/console/built`.

    python scripts/console.py              install what is missing, check the types, build
    python scripts/console.py --stale      say whether the built files are those of the sources; needs no Node

A digest of the sources lies beside the built files, and so do the licences of what they contain.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "console"
BUILT = ROOT / "src" / "tocsin" / "service" / "console" / "built"
DIGEST = "sources.sha256"
_GENERATED = ("node_modules",)


def digest() -> str:
    """The digest of all sources: names and contents, in the order of the names."""
    found = hashlib.sha256()
    files = [one for one in SOURCES.rglob("*") if one.is_file() and not set(_GENERATED).intersection(one.parts)]
    for one in sorted(files, key=lambda file: file.relative_to(SOURCES).as_posix()):
        text = one.read_bytes().replace(b"\r\n", b"\n")  # as git may check it out
        found.update(f"{one.relative_to(SOURCES).as_posix()}\n{len(text)}\n".encode() + text)
    return found.hexdigest()


def is_stale() -> bool:
    """Whether the built files are not those of the sources."""
    told = BUILT / DIGEST
    return not told.is_file() or told.read_text("ascii").strip() != digest()


def build() -> None:
    """Install the packages that the lock file names, check the types, and build."""
    npm = _npm()
    subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=SOURCES, check=True)
    subprocess.run([npm, "run", "build"], cwd=SOURCES, check=True)
    (BUILT / "licences.txt").write_text(_licences(), "utf-8")
    (BUILT / DIGEST).write_text(digest() + "\n", "ascii")


def _npm() -> str:
    """npm, installed if this is Debian and we are root."""
    if shutil.which("npm") is None and shutil.which("apt-get") is not None and os.geteuid() == 0:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], check=False, env=environment)
        subprocess.run(["apt-get", "install", "-y", "-qq", "nodejs", "npm"], check=True, env=environment)
    found = shutil.which("npm")
    if found is None:
        raise SystemExit("npm is missing: install Node 18 or newer (on Debian or Ubuntu: apt-get install nodejs npm)")
    return found


def _licences() -> str:
    """The licences of all packages whose code, fonts or maps are in the built files."""
    lock = json.loads((SOURCES / "package-lock.json").read_text("utf-8"))
    parts = ["The console of tocsin contains these packages.\n"]
    for folder, entry in sorted(lock["packages"].items()):
        if not folder or entry.get("dev"):
            continue
        texts = [one for one in sorted((SOURCES / folder).iterdir()) if one.name.lower().startswith("licen")]
        body = texts[0].read_text("utf-8") if texts else f"Licence: {entry.get('license', 'see the package')}\n"
        parts.append(f"\n{'=' * 80}\n{folder.rpartition('node_modules/')[2]} {entry['version']}\n\n{body}")
    return "".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stale", action="store_true", help="say whether the built files are older than the sources")
    if parser.parse_args().stale:
        print("stale: run make console" if is_stale() else "the built files are those of the sources")
        return int(is_stale())
    build()
    return 0


if __name__ == "__main__":
    sys.exit(main())
