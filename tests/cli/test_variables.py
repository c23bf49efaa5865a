"""Options that variables of the environment give."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripts import configuration

from tocsin.cli.main import make_parser
from tocsin.errors import InvalidInput
from tocsin.service import logs


def parsed(*arguments: str) -> argparse.Namespace:
    given: argparse.Namespace = make_parser().parse_args(["serve", "alerts/", *arguments])
    return given


def serve_options() -> list[argparse.Action]:
    """All options of the command but --help."""
    return [one for one in parsed().parser._actions if one.option_strings and one.dest != "help"]


def variable(action: argparse.Action) -> str:
    return f"TOCSIN_SERVE_{action.option_strings[0].removeprefix('--').replace('-', '_').upper()}"


def test_every_option_has_a_variable_that_its_help_names() -> None:
    assert len(serve_options()) > 20
    assert all(f"[{variable(one)}]" in (one.help or "") for one in serve_options())


@pytest.mark.parametrize("action", serve_options(), ids=lambda action: action.dest)
def test_a_variable_means_what_the_option_means(action: argparse.Action, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "relaxed" if action.dest == "sync" else "json" if action.choices else "7"
    option = [action.option_strings[0]] if action.nargs == 0 else [action.option_strings[0], text]
    expected = getattr(parsed(*option), action.dest)
    assert expected != getattr(parsed(), action.dest)
    monkeypatch.setenv(variable(action), "true" if action.nargs == 0 else text)

    assert getattr(parsed(), action.dest) == expected


def test_options_go_before_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_SERVE_PORT", "not a number, and not read")
    monkeypatch.setenv("TOCSIN_SERVE_PUBLIC_HOST", "a.example, b.example")
    monkeypatch.setenv("TOCSIN_SERVE_ACCESS_LOG", "1")

    assert parsed("--port=9").port == parsed("--po", "9").port == 9
    assert parsed("--port", "9").public_host == ["a.example", "b.example"]
    assert parsed("--port", "9", "--public-host", "c.example").public_host == ["c.example"]
    assert [parsed("--port", "9", *more).access_log for more in ([], ["--no-access-log"])] == [True, False]


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_SERVE_PORT", "")
    assert parsed().port == 8470


def test_other_commands_read_no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_SERVE_PORT", "x")
    assert make_parser().parse_args(["audit", "alerts/"]).folder == "alerts/"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("PORT", "x", "TOCSIN_SERVE_PORT: 'x' is not an integer"),
        ("BODY_MB", "nan", "TOCSIN_SERVE_BODY_MB: 'nan' is not a number"),
        ("SYNC", "relax", "TOCSIN_SERVE_SYNC: 'relax' is not one of full, relaxed; did you mean relaxed?"),
        ("NO_TOKENS", "maybe", "TOCSIN_SERVE_NO_TOKENS: 'maybe' is not one of true, false, 1, 0"),
    ],
)
def test_a_wrong_value_names_the_variable(
    name: str, text: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"TOCSIN_SERVE_{name}", text)
    with pytest.raises(SystemExit) as ended:
        parsed()
    assert ended.value.code == 2 and message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text"), [("PORT", "99999"), ("BODY_MB", "0"), ("TRUSTED_PROXIES", "x"), ("HOST", "h")]
)
def test_a_value_that_the_server_refuses_names_the_variable(
    name: str, text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(logs, "configure", lambda form, *, access: None)  # the logs of this process stay
    monkeypatch.setenv(f"TOCSIN_SERVE_{name}", text)
    given = make_parser().parse_args(["serve", str(tmp_path / "alerts")])
    with pytest.raises(InvalidInput, match=rf"^TOCSIN_SERVE_{name} (is|has) "):
        given.run(given)
    monkeypatch.delenv(f"TOCSIN_SERVE_{name}")
    option = f"--{name.lower().replace('_', '-')}"
    given = make_parser().parse_args(["serve", str(tmp_path / "alerts"), option, text])
    with pytest.raises(InvalidInput, match=rf"^{option} (is|has) "):
        given.run(given)


def test_a_process_takes_them(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tocsin", "serve", str(tmp_path / "alerts")]
    done = subprocess.run(
        command,
        env={"TOCSIN_SERVE_PORT": "-1", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and "tocsin serve: TOCSIN_SERVE_PORT is -1" in done.stderr


def test_the_page_lists_every_option() -> None:
    """`python scripts/configuration.py` writes it."""
    text = configuration.PAGE.read_text("utf-8")

    assert configuration.rewritten(text) == text
    assert [one.option_strings[0] for one in serve_options()] == re.findall(r"^\| `(--\S+)`", text, re.MULTILINE)
