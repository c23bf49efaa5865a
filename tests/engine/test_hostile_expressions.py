"""Expressions made to break a parser: the process lives, and answers with one clear reject."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests import fork_server
from tests.sizes import sized
from tests.waiting import HANG_S

HOSTILE = {
    "100,000 parentheses": ("'(' * 100_000 + 'n = 1' + ')' * 100_000", "deep"),
    "100,000 open parentheses": ("'(' * 100_000", "deep"),
    "an unclosed bracket 10,000 deep": ("'(' * 10_000 + 'n = 1' + ')' * 9_999", "deep"),
    "an unclosed bracket, 200 deep": ("'(' * 200 + 'n = 1' + ')' * 199", "unclosed"),
    "100,000 ORs": ("' OR '.join(['n = 1'] * 100_001)", "at most"),
    "100,000 ANDs of different attributes": ("' AND '.join(f'a{i} = {i}' for i in range(100_001))", "at most"),
    "100,000 NOTs": ("'NOT ' * 100_000 + 'n = 1'", "at most"),
    "100,000 minus signs": ("'n = ' + '-' * 100_000 + '1'", ""),
    "a list of 200,000": ("'n IN (' + ','.join(map(str, range(200_000))) + ')'", "at most"),
    "100,000 additions": ("'n = ' + ' + '.join(['n'] * 100_001)", ""),
    "100,000 nested functions": ("'CASEI(' * 100_000 + 's' + ')' * 100_000 + ' = s'", "deep"),
    "a megabyte of quotes": ('"\'" * 1_000_001', ""),
    "a long text of nonsense": (f"'% ' * {sized(50_000, 500_000)}", "line 1, column 1"),
    "a number of a million digits": ("'n = ' + '9' * 1_000_000", "line 1, column 5"),
    "JSON 100,000 deep": ("'{\"op\":\"not\",\"args\":[' * 100_000 + 'true' + ']}' * 100_000", "deep"),
    "unclosed JSON 100,000 deep": ('\'{"op":"not","args":[\' * 100_000', ""),
}
SCRIPT = """
import json, sys, tocsin
for kind, where in json.load(sys.stdin).items():
    where = eval(where)
    answer = tocsin.match([{"id": "bad", "where": where}, {"id": "good", "where": "n = 1"}], [{"n": 1}])
    assert answer.table["subscription"].to_pylist() == ["good"], answer
    [reject] = answer.errors
    assert (reject.row, reject.id, reject.field) == (0, "bad", "where"), reject
    print(json.dumps([kind, reject.reason]), flush=True)
"""


@pytest.fixture(scope="module")
def told() -> dict[str, str]:
    """What a process says of each, as far as it lives."""
    given = json.dumps({kind: where for kind, (where, _) in HOSTILE.items()})
    command = [*fork_server.python(), "-c", SCRIPT]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=HANG_S, check=False)
    reasons = dict(json.loads(line) for line in done.stdout.splitlines())
    assert (done.returncode, done.stderr) == (0, ""), f"it ended after {list(reasons)}"
    return reasons


@pytest.mark.slow("a process parses sixteen texts of up to a megabyte")
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_expression_is_one_clear_reject(kind: str, told: dict[str, str]) -> None:
    """The process ends by itself, the good subscription is served, and the reason is short and says why."""
    assert HOSTILE[kind][1] in told[kind]
    assert 0 < len(told[kind]) < 600


@pytest.mark.parametrize(
    "kind",
    [
        "100,000 parentheses",
        pytest.param("100,000 ORs", marks=pytest.mark.long),
        pytest.param("an unclosed bracket 10,000 deep", marks=pytest.mark.long),
    ],
)
def test_the_command_line_lives_on_too(kind: str, tmp_path: Path) -> None:
    """`tocsin match` and `check` report the reject on standard error and serve the rest."""
    bad = eval(HOSTILE[kind][0])
    records = [{"id": "bad", "where": bad}, {"id": "good", "where": "n = 1"}]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "e.jsonl").write_text('{"n": 1}\n')
    command = [*fork_server.python(), "-m", "tocsin"]

    matched = subprocess.run(
        [*command, "match", "s.jsonl", "e.jsonl"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    checked = subprocess.run(
        [*command, "check", "s.jsonl"], cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False
    )

    assert matched.returncode == checked.returncode == 1
    assert [json.loads(line) for line in matched.stdout.splitlines()] == [{"event": 0, "subscription": "good"}]
    assert "subscription 0 (bad): where:" in matched.stderr
    assert "subscription 0 (bad): where:" in checked.stderr
    assert "Traceback" not in matched.stderr + checked.stderr
    assert len(matched.stderr) < 1000
