"""Indexes that packages publish: found by name, listed, saved and opened again; what is broken is told and skipped."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

import tocsin
from tests.index.publishing import installed, python
from tocsin.cli.main import main

PACKAGE = """
from tocsin.index.boolean.scan import Scan
from tocsin.index.protocols import ALL_MATCHES, ANY_EXPRESSION, Registration

print("the package was imported")
MINE = Registration("mine", ALL_MATCHES, ANY_EXPRESSION, "a test", False, lambda: Scan)
"""

USE = """
import sys, tocsin
from pathlib import Path
held = [{"id": "a", "where": "n = 1"}, {"id": "b", "where": "n > 5"}]
answer = tocsin.match(held, [{"n": 1}, {"n": 7}], index="mine")
print(answer.table.to_pylist())
engine = tocsin.Engine("mine")
engine.subscribe_many(held)
engine.save(sys.argv[1])
print([match.subscription for match in tocsin.Engine.load(sys.argv[1]).match({"n": 9})])
"""

LISTED = "from tocsin.index import registrations; print([one.name for one in registrations()])"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    own = tmp_path / "packages"
    own.mkdir()
    return own


@pytest.mark.slow("it starts Python with packages of others")
def test_a_third_party_publishes_an_index(folder: Path) -> None:
    """It is asked for by name, and opens what it saved; who asks for another does not import it."""
    installed(folder, "theirs", {"mine": "theirs:MINE"}, PACKAGE)

    done = python(USE, folder, str(folder / "saved"))

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "the package was imported",
        "[{'event': 0, 'subscription': 'a'}, {'event': 1, 'subscription': 'b'}]",
        "['b']",
    ]
    other = python("import tocsin; print(len(tocsin.match([{'id': 1, 'where': 'n = 1'}], [{'n': 1}])))", folder)
    assert other.stdout == "1\n"


BROKEN = [
    ("theirs0:MINE", "raise RuntimeError('it is broken')", "cannot be loaded: RuntimeError('it is broken')"),
    ("theirs1:OTHER", PACKAGE, "cannot be loaded: AttributeError"),
    ("nowhere:MINE", PACKAGE, "cannot be loaded: ModuleNotFoundError"),
    ("theirs3:MINE", "MINE = 5", "its entry point theirs3:MINE is 5, not a Registration of that name"),
    ("theirs4:MINE", PACKAGE, "not a Registration of that name"),
]
ASKED = """
import tocsin
for number in range(5):
    try:
        tocsin.Engine(f"mine{number}")
    except tocsin.UnknownIndex as error:
        print(error)
"""


def test_a_broken_one_is_told_and_skipped(folder: Path) -> None:
    """Where it is asked for it is refused; where all are listed tocsin ignores it, and the others are there."""
    for number, (point, code, _) in enumerate(BROKEN):
        installed(folder, f"theirs{number}", {f"mine{number}": point}, code)

    asked = python(ASKED, folder)
    listed = python(LISTED, folder)

    refusals = [line for line in asked.stdout.splitlines() if line.startswith("the index")]
    warnings = [line for line in listed.stderr.splitlines() if "tocsin ignores it" in line]
    assert len(refusals) == len(warnings) == len(BROKEN), asked.stdout + asked.stderr + listed.stderr
    for number, (_, _, reason) in enumerate(BROKEN):
        assert f"the index 'mine{number}' of theirs{number} 1.0" in refusals[number]
        assert reason in refusals[number]
        assert reason in warnings[number]
    assert "mine" not in listed.stdout
    assert "'opindex'" in listed.stdout


def test_a_name_counts_once(folder: Path) -> None:
    """Two packages with one name are both refused; a built-in name is the built-in index's."""
    installed(folder, "theirs", {"mine": "theirs:MINE", "scan": "theirs:MINE"}, PACKAGE)
    installed(folder, "ours", {"mine": "ours:MINE"}, PACKAGE)

    asked = python("import tocsin; tocsin.Engine('mine')", folder)
    listed = python(LISTED, folder)
    built_in = python("import tocsin; print(tocsin.Engine('scan'))", folder)

    assert "the index 'mine' is published by ours 1.0 and theirs 1.0; uninstall one of them" in asked.stderr
    assert "is published by ours 1.0 and theirs 1.0" in listed.stderr
    assert "the index 'scan' of theirs 1.0 has the name of a built-in one; tocsin ignores it" in listed.stderr
    assert listed.stdout.count("'scan'") == 1
    assert built_in.returncode == 0, built_in.stderr


def test_a_checkout_that_is_not_installed_says_how(folder: Path) -> None:
    """On PYTHONPATH alone nothing says where the papers' indexes are; the built-in ones are there."""
    code = "import tocsin\nprint(tocsin.Engine())\ntocsin.Engine('opindex')"

    done = python(code, folder, isolated=True)

    assert "0 subscriptions" in done.stdout
    assert "The indexes of papers need an installed tocsin: pip install tocsin, or pip install -e ." in done.stderr


def test_what_is_for_windows_is_no_index_for_expressions() -> None:
    with pytest.raises(tocsin.UnknownIndex, match="'skype' answers 'the best recent messages', and cannot be used"):
        tocsin.Engine("skype")
    with pytest.raises(tocsin.UnknownIndex, match="'opindex' answers 'all matches', and cannot be used here"):
        tocsin.Window(5, bounds=(0, 0, 1, 1), index="opindex")


def test_the_papers_are_listed_with_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "list"]) == 0

    named = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert {"access", "blocks", "opindex", "vcr", "rt_tree", "ir_tree", "skype"} <= set(named)
    assert len(named) == len(set(named)) == 26


def test_importing_tocsin_imports_no_paper(folder: Path) -> None:
    code = dedent("""
        import json, sys, tocsin
        tocsin.match([{"id": 1, "where": "n = 1"}], [{"n": 1}])
        print(json.dumps([name for name in sys.modules if name.startswith("tocsin.papers")]))
    """)

    assert json.loads(python(code, folder).stdout) == []
