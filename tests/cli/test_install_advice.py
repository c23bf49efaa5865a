"""The command by which an error advises to install an extra is one that works."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tocsin.cli import main as entry
from tocsin.cli.main import install_command, main
from tocsin.errors import missing_extra


def source(monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    """Let tocsin be installed from somewhere, as pip notes it."""
    monkeypatch.setattr(entry.metadata, "distribution", lambda name: SimpleNamespace(read_text=lambda file: text))


def test_a_checkout_and_a_wheel_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, wheel = tmp_path / "a checkout", tmp_path / "tocsin-1-py3-none-any.whl"
    folder.mkdir()
    wheel.touch()

    source(monkeypatch, json.dumps({"url": folder.as_uri(), "dir_info": {"editable": True}}))
    assert install_command("geo") == f"pip install -e '{folder}[geo]'"
    source(monkeypatch, json.dumps({"url": folder.as_uri(), "dir_info": {}}))
    assert install_command("geo") == f"pip install '{folder}[geo]'"
    source(monkeypatch, json.dumps({"url": wheel.as_uri(), "archive_info": {}}))
    assert install_command("geo") == f"pip install '{wheel}[geo]'"


@pytest.mark.parametrize(
    "text",
    [None, "{", "[]", '{"url": "file:///no/such/folder"}', '{"url": "https://example.org/tocsin.whl"}', '{"url": ""}'],
)
def test_otherwise_the_index_is_named(text: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    source(monkeypatch, text)
    assert install_command("geo") == "pip install 'tocsin[geo]'"


def test_errors_of_commands_have_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    def fail(*_: object) -> None:
        raise missing_extra("geo", "shapely is not installed")

    source(monkeypatch, json.dumps({"url": tmp_path.as_uri(), "dir_info": {}}))
    monkeypatch.setattr(entry.storing, "examine", fail)
    monkeypatch.setattr(entry.storing, "is_store", lambda folder: True)
    assert main(["doctor", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"tocsin doctor: shapely is not installed: pip install '{tmp_path}[geo]'\n"
