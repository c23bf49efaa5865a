"""tocsin convert: files of rules become subscriptions, and what cannot be said is refused by name."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.cli.calling import records, run
from tocsin.language import parse, to_text
from tocsin.language.dialects import read_rule

PATTERN = {"detail": {"state": ["running"]}}
CQL2 = "SOME(detail.state, SOME(element, element = 'running'))"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def convert(capfd: Any, *arguments: str, language: str = "eventbridge") -> tuple[int, list[Any], str]:
    status, out, errors = run(capfd, "convert", *arguments, "--from", language)
    return status, records(out), errors


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (PATTERN, [{"id": "rules", "where": CQL2}]),
        ([PATTERN, PATTERN], [{"id": "1", "where": CQL2}, {"id": "2", "where": CQL2}]),
        (
            [{"id": 7, "where": PATTERN, "score": 2, "payload": {"to": "x"}}],
            [{"id": 7, "where": CQL2, "score": 2, "payload": {"to": "x"}}],
        ),
        (
            {"Rules": [{"Name": "a", "EventPattern": json.dumps(PATTERN), "State": "ENABLED"}]},
            [{"id": "a", "where": CQL2}],
        ),
    ],
)
def test_documents(capfd: Any, document: Any, expected: list[Any]) -> None:
    """A rule, a list, records, and an export; what stands beside a rule stays with it."""
    Path("rules.json").write_text(json.dumps(document))
    status, written, errors = convert(capfd, "rules.json")
    assert (status, written) == (0, expected)
    assert errors == f"{len(expected)} rule{'s' * (len(expected) > 1)} converted, 0 rejected\n"


def test_an_export_of_elasticsearch(capfd: Any) -> None:
    hits = [{"_id": "open", "_source": {"query": {"term": {"status": "open"}}}}]
    Path("alerts.json").write_text(json.dumps({"hits": {"total": 1, "hits": hits}}))
    status, written, _ = convert(capfd, "alerts.json", language="elasticsearch")
    assert (status, written) == (0, [{"id": "open", "where": "SOME(status, SOME(element, element = 'open'))"}])


def test_a_folder_of_sigma_rules(capfd: Any) -> None:
    """Files of several documents; a rule that is refused does not keep the others."""
    folder = Path("rules/windows")
    folder.mkdir(parents=True)
    good = "title: A\nid: x-1\ndetection:\n  s: {A: b}\n  condition: s\n"
    bad = "title: B\ndetection:\n  s: {A|minute: 3}\n  condition: s\n"
    (folder / "two.yml").write_text(f"{good}---\n{bad}")
    (folder / "broken.yaml").write_text("title: [")
    (folder / "notes.md").write_text("not a rule")
    status, written, errors = convert(capfd, "rules", language="sigma")
    assert status == 1
    assert written == [{"id": "x-1", "where": "SOME(A, CASEI(element) = CASEI('b'))"}]
    assert "(B): at detection: minute of Sigma is not supported" in errors
    assert "this is not YAML" in errors
    assert errors.endswith("1 rule converted, 2 rejected\n")


@pytest.mark.parametrize("generate", [False, True])
def test_correlations_of_sigma_name_rules_of_other_files(capfd: Any, generate: bool) -> None:
    """Such a rule is a subscription by itself if the correlation says so. `by` is the key."""
    Path("rules").mkdir()
    Path("rules/failed.yml").write_text("name: failed\ndetection:\n  s: {ok: false}\n  condition: s\n")
    Path("rules/other.yml").write_text("name: other\ndetection:\n  s: {A: b}\n  condition: s\n")
    correlation = {"type": "event_count", "rules": "failed", "group-by": "user", "timespan": "10m"}
    document = {"id": "many", "correlation": {**correlation, "condition": {"gte": 5}, "generate": generate}}
    Path("rules/many.yml").write_text(json.dumps(document))

    status, written, errors = convert(capfd, "rules", language="sigma")

    failed = "SOME(ok, element = FALSE OR CASEI(element) = CASEI('false'))"
    many = {"id": "many", "where": f"{failed} AND COUNT({failed}, 'PT10M') >= 5", "by": ["user"]}
    alone = [{"id": "failed", "where": failed}] if generate else []
    assert (status, errors) == (0, f"{2 + generate} rules converted, 0 rejected\n")
    assert written == [*alone, many, {"id": "other", "where": "SOME(A, CASEI(element) = CASEI('b'))"}]


def test_correlations_that_name_each_other_are_refused(capfd: Any) -> None:
    """The first of them is refused, and so the others are not left out silently."""
    given = {"type": "event_count", "group-by": "user", "timespan": "10m", "condition": {"gte": 5}}
    documents = [{"id": one, "correlation": {**given, "rules": other}} for one, other in ("ab", "ba")]
    Path("rules.json").write_text(json.dumps(documents))

    status, _, errors = convert(capfd, "rules.json", language="sigma")

    assert status == 2
    assert errors.count("the correlation refers to itself") == 1


@pytest.mark.parametrize("form", ["cql2", "cql2-json", "as-written"])
def test_each_form_of_a_correlation_is_the_same_subscription(capfd: Any, form: str) -> None:
    """The key of the rule is a part of it in every form."""
    given = {
        "type": "event_count",
        "rules": "a",
        "group-by": ["u", "v"],
        "timespan": "1h",
        "condition": {"gt": 2},
    }
    documents = [{"name": "a", "detection": {"s": {"A": "b"}, "condition": "s"}}, {"id": 1, "correlation": given}]
    Path("rules.json").write_text(json.dumps(documents))
    assert run(capfd, "convert", "rules.json", "--from", "sigma", "--to", form, "--out", "subs.jsonl")[0] == 0

    engine = tocsin.Engine()
    assert engine.subscribe_many("subs.jsonl").accepted == 1
    (record,) = engine.subscriptions()
    tree = read_rule(record["where"], "sigma").tree if form == "as-written" else parse(record["where"])
    assert to_text(tree) == tocsin.convert(documents, from_="sigma")


def test_lines_and_the_errors_file(capfd: Any) -> None:
    Path("rules.jsonl").write_text(f'{json.dumps(PATTERN)}\n{{"a": 5}}\nnonsense\n{json.dumps(PATTERN)}\n')
    status, written, errors = convert(capfd, "rules.jsonl", "--errors", "refused.jsonl")
    assert (status, [one["id"] for one in written]) == (1, ["1", "4"])
    refused = records(Path("refused.jsonl").read_text())
    assert [(one["row"], one["id"]) for one in refused] == [(1, "2"), (2, "3")]
    assert refused[0]["reason"].startswith("at a: ")
    assert errors == "2 rules converted, 2 rejected\n"


@pytest.mark.parametrize("form", ["cql2", "cql2-json", "as-written"])
def test_each_form_is_a_source_of_subscriptions(capfd: Any, form: str) -> None:
    """What is written loads, and matches what the rule matches."""
    Path("rules.json").write_text(json.dumps([PATTERN, {"a": [{"prefix": "x"}]}]))
    status, _, _ = run(capfd, "convert", "rules.json", "--from", "eventbridge", "--to", form, "--out", "subs.jsonl")
    assert status == 0
    engine = tocsin.Engine()
    assert engine.subscribe_many("subs.jsonl").accepted == 2
    assert [one.subscription for one in engine.match({"detail": {"state": "running"}, "a": "xy"})] == ["1", "2"]
    assert ("language" in engine.get("1")) == (form == "as-written")


def test_standard_input(capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(PATTERN)))
    status, written, _ = convert(capfd, "-")
    assert (status, written) == (0, [{"id": "1", "where": CQL2}])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("none.json",), "there is no file none.json"),
        (("empty",), "empty has no files of rules"),
        (("rules.json", "--out", "none/subs.jsonl"), "there is no folder"),
        (("rules.json", "--out", "rules.json"), "rules.json"),
    ],
)
def test_what_cannot_run_is_told(capfd: Any, arguments: tuple[str, ...], reason: str) -> None:
    Path("empty").mkdir()
    Path("rules.json").write_text(json.dumps(PATTERN))
    status, written, errors = convert(capfd, *arguments)
    assert (status, written) == (2, [])
    assert errors.startswith("tocsin convert: ")
    assert reason in errors
    assert json.loads(Path("rules.json").read_text()) == PATTERN


def test_no_rule_could_be_read(capfd: Any) -> None:
    Path("rules.json").write_text('{"a": 5}')
    status, written, errors = convert(capfd, "rules.json")
    assert (status, written) == (2, [])
    assert "no rule could be read" in errors


def test_matching_tells_named_parts_of_a_part_of_the_subscriptions(capfd: Any) -> None:
    """--named and --only of tocsin match, on files and on an index."""
    subscriptions = [
        {"id": "a", "named": {"cheap": "price < 5"}, "payload": {"team": "x"}},
        {"id": "b", "where": "price < 9", "payload": {"team": "y"}},
    ]
    Path("subs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in subscriptions))
    Path("events.jsonl").write_text('{"price": 3}\n')
    assert run(capfd, "compile", "subs.jsonl", "index")[0] == 0
    for source in ("subs.jsonl", "index"):
        _, out, _ = run(capfd, "match", source, "events.jsonl", "--named", "--only", "team = 'x'")
        assert records(out) == [{"event": 0, "subscription": "a", "named": [{"name": "cheap", "elements": []}]}]
    status, _, errors = run(capfd, "match", "subs.jsonl", "events.jsonl", "--only", "team =")
    assert status == 2
    assert "expected a value after '='" in errors
