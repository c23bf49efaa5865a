"""Run `pip install` with one bar: first what is downloaded, then what is installed.

    python install.py ARGUMENTS OF PIP INSTALL

On a terminal the bar moves with the packages that pip collects and with those that it has installed; in a pipe there is
a line for each of the two. pip's own output is shown where it fails.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from pathlib import Path

_SHARE_OF_DOWNLOADS = 0.5
_WIDTH = 30


class Bar:
    """One line on a terminal that is written over; in a pipe a line for each new step."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._step = ""
        self.share = 0.0
        self.note = ""

    def show(self, step: str) -> None:
        """Show how far it is, how long it took, and at half of the way how long the rest may take."""
        if not sys.stderr.isatty():
            if step != self._step:
                print(step, file=sys.stderr, flush=True)
            self._step = step
            return
        seconds = time.monotonic() - self._begun
        filled = "#" * round(self.share * _WIDTH)
        line = f"{step}: {self.share:4.0%} |{filled:<{_WIDTH}}| {_clock(seconds)}{self.note}"
        print(f"\r\x1b[K{line[:119]}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Installation:
    """What pip has said so far, and what it has installed."""

    def __init__(self, expected: int) -> None:
        self._expected = max(expected, 1)
        self._collected = 0
        self._names: list[str] = []
        self._begun = 0.0
        self.lines: list[str] = []
        self.megabytes = 0.0

    def read(self, lines: Iterator[str]) -> None:
        """Take in pip's output, in a thread of its own."""
        for line in lines:
            self.lines.append(line)
            if line.lstrip().startswith("Collecting "):
                self._collected += 1
            if size := re.search(r"(?:Downloading|Using cached) .* \((\d+(?:\.\d+)?) ([kM])B", line):
                self.megabytes += float(size[1]) / (1 if size[2] == "M" else 1000)
            if line.startswith("Installing collected packages: "):
                self._names = [name.strip() for name in line.partition(": ")[2].split(",")]
                self._begun = time.time()

    def show(self, bar: Bar) -> None:
        if not self._names:
            bar.share = min(self._collected / self._expected, 1.0) * _SHARE_OF_DOWNLOADS
            bar.note = f", {self._collected} packages, {self.megabytes:.0f} MB"
            bar.show("Downloading")
            return
        folder = Path(sysconfig.get_paths()["purelib"])
        done = sum(one.stat().st_mtime >= self._begun - 1 for one in folder.glob("*.dist-info"))
        bar.share = _SHARE_OF_DOWNLOADS + min(done / len(self._names), 1.0) * (1 - _SHARE_OF_DOWNLOADS)
        bar.note = f", {done} of {len(self._names)} packages"
        bar.show("Installing")


def run(arguments: list[str]) -> int:
    """pip's exit status."""
    constraints = next((Path(b) for a, b in itertools.pairwise(arguments) if a == "--constraint"), None)
    pinned = [] if constraints is None else constraints.read_text("utf-8").splitlines()
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--progress-bar",
        "off",
        *arguments,
    ]
    pip = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert pip.stdout is not None
    work, bar = Installation(sum("==" in line for line in pinned)), Bar()
    reader = threading.Thread(target=work.read, args=(iter(pip.stdout),), daemon=True)
    reader.start()
    try:
        while pip.poll() is None:
            work.show(bar)
            time.sleep(0.2)
    finally:
        pip.kill()
        bar.close()
    reader.join()
    if pip.returncode:
        print("".join(work.lines[-40:]), end="", file=sys.stderr)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
