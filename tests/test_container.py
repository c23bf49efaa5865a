"""The steps of the Dockerfile work where no container engine is: in a folder for the image, as another user."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

import tocsin
from tests.waiting import HANG_S, awaited

CHECKOUT: Final = Path(__file__).parents[1]
DOCKERFILE: Final = CHECKOUT / "examples" / "deploy" / "Dockerfile"
STEP: Final = re.compile(r"^([A-Z]+) +(.*?)$", re.MULTILINE)
PLACES: Final = re.compile(r"(?<![\w./-])/(opt/tocsin|checkout|var/cache/tocsin|data)\b")
"""The paths of the image that its steps name."""

BUILD_S: Final = 3_000.0
"""To compile all kernels twice takes minutes, and several times as long on a busy machine."""


@dataclass
class Image:
    """A folder in the place of an image's root, in which steps run as the user and with the variables so far."""

    root: Path
    python: str
    variables: dict[str, str]
    user: int | None = None
    entry: list[str] = field(default_factory=list)
    health: str = ""

    def take(self, word: str, rest: str) -> None:
        """Do a step; one of a kind that is not known here fails, so that the test is extended with the Dockerfile."""
        if word == "COPY" and not rest.startswith("--from=build"):
            source, target = self.inner(rest).split()
            shutil.copytree(CHECKOUT / source, target, ignore=not_sent, symlinks=True)
        elif word == "ENV":
            name, _, value = rest.partition("=")
            self.variables[name] = self.inner(value).replace(f"${name}", self.variables.get(name, ""))
        elif word == "USER":
            self.user = int(rest)
        elif word == "RUN" and rest.startswith("useradd"):
            assert "--create-home" in rest  # an account is not made on this machine: a number does without
            home = self.root / "home"
            home.mkdir()
            os.chown(home, *[int(re.findall(r"--uid (\d+)", rest)[0])] * 2)
            self.variables["HOME"] = str(home)
        elif word == "RUN":
            self.run(rest)
        elif word == "ENTRYPOINT":
            self.entry = [self.inner(part) for part in json.loads(rest)]
        elif word == "HEALTHCHECK":
            self.health = rest.partition("CMD ")[2]
        else:
            assert word in ("FROM", "COPY", "VOLUME", "EXPOSE", "STOPSIGNAL"), word

    def inner(self, text: str) -> str:
        """A text with the paths of the image below its root."""
        return PLACES.sub(rf"{self.root}/\1", text)

    def run(self, command: str) -> str:
        """Run a command in a shell, as the user; its output."""
        done = subprocess.run(
            self.become(["sh", "-c", self.inner(command)]),
            env=self.variables,
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=BUILD_S,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout

    def become(self, command: list[str]) -> list[str]:
        """A command, run by the user of the image."""
        return command if self.user is None else as_user(self.user, command)


def as_user(number: int, command: list[str]) -> list[str]:
    """A command, run by the user of a number."""
    return ["setpriv", "--reuid", str(number), "--regid", str(number), "--clear-groups", "--", *command]


def not_sent(folder: str, names: list[str]) -> set[str]:
    """The names in a folder of the checkout that its container does not get."""
    ignored = {*DOCKERFILE.with_suffix(".dockerignore").read_text("utf-8").split(), ".mypy_cache", ".hypothesis"}
    return {name for name in names if str((Path(folder) / name).relative_to(CHECKOUT)) in ignored}


def python_for(number: int) -> str | None:
    """A Python that a user may run, and that can make virtual environments; None if there is none."""
    check = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
    for path in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        asked = (["test", "-x", path], [path, "-c", check])
        runs = (subprocess.run(as_user(number, one), cwd="/", capture_output=True, check=False) for one in asked)
        if all(run.returncode == 0 for run in runs):
            return path
    return None


@pytest.fixture
def image() -> Iterator[Image]:
    """The image, built by the steps of the Dockerfile in a folder that every user may enter."""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become another user, by setpriv of util-linux")
    text = DOCKERFILE.read_text("utf-8")
    (user,) = re.findall(r"^USER (\d+)$", text, re.MULTILINE)
    if (python := python_for(int(user))) is None:
        pytest.skip("no Python here may be run by another user, and makes virtual environments")
    root = Path(tempfile.mkdtemp(prefix="tocsin-image-"))
    try:
        root.chmod(0o755)
        (root / "bin").mkdir()
        (root / "bin" / "python").symlink_to(python)
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "LANG", "LC_", "SSL_"))}
        image = Image(root, python, {**kept, "PATH": f"{root}/bin:/usr/bin:/bin", "HOME": str(root)})
        for word, rest in STEP.findall(text.replace("\\\n", " ")):
            image.take(word, rest)
        yield image
    finally:
        shutil.rmtree(root)


def files_in(folder: Path) -> dict[str, int]:
    """All files below a folder, with the times of their last changes."""
    return {str(path): path.lstat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.long
@pytest.mark.slow("it builds and installs the wheel")
def test_the_image_serves_two_tenants_as_its_user(image: Image) -> None:
    """The user changes only its data and its cache; it publishes, matches, passes its check of health and stops."""
    code = files_in(image.root / "opt")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    create = "tocsin token create /data/alerts --scope publish,subscribe,read"
    tokens = [re.findall(r"\S{30,}", image.run(create + more))[-1] for more in ("", " --tenant acme")]
    environment = {**image.variables, "TOCSIN_SERVE_PORT": str(port)}
    with (image.root / "log").open("w") as log:
        process = subprocess.Popen(image.become(image.entry), env=environment, cwd="/", stdout=log, stderr=log)
    try:
        awaited(lambda: image.run(image.health.replace("8470", str(port))) is not None, AssertionError)
        for number, token in enumerate(tokens):
            with tocsin.Client(f"http://127.0.0.1:{port}", token) as client:
                client.subscribe("s", "n >= 1", payload=number)
                assert client.publish([{"n": 0}, {"n": 1}], key="once").matches == 1
                assert [match.subscription for match in client.match({"n": 2})] == ["s"]
                assert [record["payload"] for record in client.subscriptions()] == [number]
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANG_S) == 0, (image.root / "log").read_text()
    finally:
        process.kill()
        process.wait()

    assert files_in(image.root / "opt") == code
    assert {path.lstat().st_uid for path in (image.root / "data").rglob("*")} == {image.user}
    assert (image.root / "data" / "alerts" / "tenants" / "acme" / "store.db").exists()
