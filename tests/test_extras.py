"""Without the libraries of any extra, every door says which extra to install, and never shows a traceback."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import tocsin.spark
from tests.waiting import HANG_S
from tocsin.errors import MissingExtra, needing

IN_PYTHON: Final = {
    **{f"tocsin.spark.{name}": "spark" for name in tocsin.spark.__all__},
    "dir(tocsin.spark)": "spark",
    "tocsin.spark.listening": "spark",
    "tocsin.spark.session.local_session()": "spark",
    "tocsin.Client('http://127.0.0.1:1')": "service",
    "tocsin.AsyncClient('http://127.0.0.1:1')": "service",
    "tocsin.parse('TEXT(a, \\'b\\', \\'english stem\\')')": "text",
    "tocsin.parse('S_INTERSECTS(a, POLYGON((0 0, 1 0, 1 1, 0 0)))')": "geo",
    "tocsin.convert('a = 1', from_='sql')": "sql",
    "tocsin.convert('title: a', from_='sigma')": "sigma",
}
ON_THE_COMMAND_LINE: Final = {
    "serve folder": "service",
    "pipeline run pipeline.toml": "spark",
    **{f"demo {name}": "demo" for name in ("flights", "stream", "fences", "window", "service", "service --console")},
}
_ABSENT: Final = """
import sys
class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {} else self.finder.find_spec(name, path, target)
sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""


def told(code: str, folder: Path) -> dict[str, list[str]]:
    """What some code prints in a process where no library of an extra can be imported."""
    absent = _ABSENT.format(sorted(modules_of_extras()))
    done = subprocess.run(
        [sys.executable, "-c", absent + code], capture_output=True, text=True, cwd=folder, timeout=HANG_S, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def modules_of_extras() -> set[str]:
    """The modules of all libraries that only extras for users bring."""
    required = [one.partition(";") for one in importlib.metadata.requires("tocsin") or ()]
    extras: dict[bool, set[str]] = {True: set(), False: set()}
    for requirement, _, marker in required:
        if not re.search("'dev'|\"dev\"", marker):
            extras["extra" in marker].add(_normal(re.match(r"[\w.-]+", requirement)[0]))  # type: ignore[index]
    only = extras[True] - extras[False] - {"tocsin"}
    found = importlib.metadata.packages_distributions()
    return {module for module, owners in found.items() if {_normal(one) for one in owners} & only}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_libraries_of_extras_are_known() -> None:
    """So that the tests below can fail."""
    assert {"pyspark", "starlette", "uvicorn", "httpx", "shapely", "sqlglot", "tantivy"} <= modules_of_extras()
    assert not {"numpy", "numba", "pyarrow", "lark", "tocsin"} & modules_of_extras()


def test_every_door_in_python_names_its_extra(tmp_path: Path) -> None:
    found = told(
        f"""
import json, tocsin, tocsin.spark.session
told = {{}}
for door in {list(IN_PYTHON)}:
    try:
        eval(door)
        told[door] = ["nothing", ""]
    except Exception as error:
        told[door] = [type(error).__name__, str(error)]
print(json.dumps(told))
""",
        tmp_path,
    )

    assert set(found) == set(IN_PYTHON)
    wrong = {door: said for door, said in found.items() if not _names(IN_PYTHON[door], *said)}
    assert wrong == {}


def _names(extra: str, error: str, message: str) -> bool:
    return error in ("MissingExtra", "UnsupportedError") and f"pip install 'tocsin[{extra}]'" in message


def test_every_command_names_its_extra(tmp_path: Path) -> None:
    found = told(
        f"""
import contextlib, io, json
from tocsin.cli.main import main
with contextlib.redirect_stdout(io.StringIO()):
    main(["pipeline", "new", "pipeline.toml"])
told = {{}}
for command in {list(ON_THE_COMMAND_LINE)}:
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
        status = main(command.split())
    told[command] = [status, said.getvalue()]
print(json.dumps(told))
""",
        tmp_path,
    )

    assert set(found) == set(ON_THE_COMMAND_LINE)
    for command, (status, said) in found.items():
        assert status == 2, (command, said)
        assert said.splitlines()[-1].startswith(f"tocsin {command.split()[0]}: "), command
        assert said.endswith(f"pip install 'tocsin[{ON_THE_COMMAND_LINE[command]}]'\n"), (command, said)


def test_a_broken_library_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one of another version, or without a library of the system. What is wrong in tocsin itself stays as it is."""
    tmp_path.joinpath("brokenlib.py").write_text("from json import nothing_of_that_name")
    monkeypatch.syspath_prepend(str(tmp_path))

    told = r"json is broken \(cannot import name .*\): pip install 'tocsin\[geo\]'"
    with pytest.raises(MissingExtra, match=told), needing("geo"):
        importlib.import_module("brokenlib")
    with pytest.raises(ImportError) as raised, needing("geo"):
        importlib.import_module("tocsin.no_such_module")
    assert not isinstance(raised.value, MissingExtra)


def test_the_outer_extra_is_named() -> None:
    """It brings what the inner one needs, too."""
    told = r"^nolib is not installed: pip install 'tocsin\[demo\]'$"
    with pytest.raises(MissingExtra, match=told), needing("demo"), needing("spark"):
        importlib.import_module("nolib.part")


def test_matching_needs_no_extra(tmp_path: Path) -> None:
    code = "import json, tocsin, tocsin.spark\nengine = tocsin.Engine()\nengine.subscribe('s', 'n > 1')\n"

    assert told(
        code + "print(json.dumps({'found': [one.subscription for one in engine.match({'n': 2})]}))", tmp_path
    ) == {"found": ["s"]}


def test_the_audit_log_is_read_without_an_extra(tmp_path: Path) -> None:
    """The command of administrators needs SQLite alone."""
    tocsin.Engine.open(tmp_path / "alerts").close()
    found = told(
        """
import json
from tocsin.cli.main import main
from tocsin.service.audit import page
from tocsin.store import Database
from pathlib import Path
database = Database.open(Path("alerts"), read_only=True)
columns = "number, time, token, name, address, method, path, first, last"
database.connection.execute(f"CREATE TEMP TABLE service_audit ({columns})")
database.connection.execute("INSERT INTO service_audit VALUES (1, 0, '', 'ann', '::1', 'PUT', '/v1/x', NULL, NULL)")
print(json.dumps({"names": [one["name"] for one in page(database.connection, 0, 10)[0]]}))
""",
        tmp_path,
    )
    assert found == {"names": ["ann"]}
