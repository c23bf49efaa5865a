"""Figures are read, run and judged as their files say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reproduce.__main__ import HERE, run
from reproduce.figure import read_figure
from reproduce.loads import Expressions, sets
from reproduce.shapes import claim_of
from reproduce.summary import in_one_line, summary
from reproduce.workloads import load_of

import tocsin
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.checks import check_expressions
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index.boolean.access import Access
from tocsin.index.boolean.scan import Scan

FIGURE = """
paper = "test"
figure = "one"
title = "Nothing of note"
scaled = ["subscriptions"]

[workload]
kind = "synthetic"
subscriptions = 1000
attributes = 200
events = 8

[series]
scan = { index = "scan" }
access = { index = "access", most = { subscriptions = 60 } }

[[panel]]
name = "a"
title = "increasing N"
sweep = { subscriptions = [500, 1000] }
measure = "memory"
beside = "scan"
series = ["scan", "access"]
expect = [
    { kind = "rises", series = "scan", says = "It grows and shrinks." },
    { kind = "falls", series = "scan", says = "It grows and shrinks.", why = "Nothing does both." },
    { kind = "below", series = "access", than = ["scan"], factor = 0.01, everywhere = false },
    { kind = "steeper", series = "access", than = ["scan"] },
]

[[unchecked]]
says = "Users are happy."
why = "Nobody was asked."
"""
KINDS: list[dict[str, Any]] = [
    {"kind": "synthetic", "subscriptions": 300, "attributes": 60, "zipf": 0.5},
    {"kind": "queries", "subscriptions": 300, "attributes": 60, "interval": True, "event_size": 5.4},
    {"kind": "queries", "subscriptions": 300, "attributes": 60, "interval": False, "event_size": 30.0},
    {"kind": "products", "subscriptions": 300, "attributes": 60},
    {"kind": "normal_form", "subscriptions": 300, "attributes": 60, "clauses": 4, "conjunctive": True},
    {"kind": "normal_form", "subscriptions": 300, "attributes": 60, "clauses": 4, "conjunctive": False},
    {"kind": "products", "subscriptions": 300, "attributes": 60, "operator": "set"},
    {"kind": "rectangles", "subscriptions": 300},
    {"kind": "prefixes", "subscriptions": 60, "attributes": 60, "strings": 3, "share": 0.5, "length": 2},
]


def test_a_figure_is_run_and_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.toml").write_text(FIGURE)
    judged = run(read_figure(tmp_path / "one.toml"), 0.1, tmp_path / "out")
    text = (tmp_path / "out.txt").read_text()
    assert "subscriptions" in text
    assert "           50" in text
    assert "access: not asked beyond 60 subscriptions" in text
    first, second = (row.split() for row in text.split("the same by scan\n")[1].splitlines()[1:3])
    assert first[:2] == ["50", "1"]
    assert second == ["100", "1", "-"]
    assert "held: scan rises: " in text
    assert "DID NOT HOLD: scan falls: " in text
    assert "held: access below scan at last, 0.01 times or more" in text
    assert "not to be told: access steeper than scan: too few points (ours)" in text
    assert "(ours)" not in text.split("scan falls")[1].splitlines()[0]
    assert (tmp_path / "out.png").read_bytes()[:4] == b"\x89PNG"
    assert text.strip() in capsys.readouterr().out

    assert in_one_line([judged]) == (
        "of 2 sentences of papers 0 hold, 1 do not, 0 cannot be told at this size, 1 are not encoded; "
        "of our own claims 1 hold, 0 do not"
    )
    text = "\n".join(summary([judged]))
    assert "| test | 2 | 0 | 1 | 0 | 1 | 1 | 0 |" in text
    assert "| test, one | It grows and shrinks. | scan falls: 0.5" in text
    assert "| Nothing does both. |" in text
    assert "| test, one | Users are happy. | Nobody was asked. |" in text


@pytest.mark.parametrize("path", sorted(HERE.glob("*/*.toml")), ids=lambda path: path.stem)
def test_every_figure_can_be_read(path: Path) -> None:
    figure = read_figure(path)
    assert figure.name == f"{path.parent.name}/{path.stem}"
    for panel in figure.panels:
        given = panel.at(panel.values[0], 0.0001, figure.scaled)
        own = panel.series[0].workload
        load = load_of({**given, **own, "events": 2}, set().union(*(s.parameters for s in panel.series)))
        assert len(load.events) == 2
        names = {series.name for series in panel.series}
        assert all({claim.series, *claim.than} <= names for claim in panel.claims)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('measure = "memory"', 'measure = "luck"', "'luck' is none of match, build, insert, memory"),
        ('beside = "scan"', 'beside = "skan"', "'skan' is none of scan, access"),
        ('kind = "rises"', 'kind = "sings"', "'sings' is none of"),
        (', than = ["scan"], factor', ", factor", "needs `than`"),
        ('kind = "falls"', 'kind = "lowest"', "needs `at`"),
        ('title = "Nothing of note"', 'titel = "x"', "'titel' is none of"),
        ('series = ["scan", "access"]', 'series = ["scam"]', "scam"),
    ],
)
def test_a_bad_file_is_refused_with_its_name(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in FIGURE
    (tmp_path / "one.toml").write_text(FIGURE.replace(old, new))
    with pytest.raises(ValueError, match=message) as caught:
        read_figure(tmp_path / "one.toml")
    assert "one.toml" in str(caught.value)


@pytest.mark.parametrize("given", KINDS, ids=lambda given: given["kind"])
def test_workloads_are_what_they_say(given: dict[str, Any]) -> None:
    """Sizes as asked, the same for the same seed, and answered alike by `scan` and `access`, with some matches."""
    load = load_of({**given, "events": 64}, set())
    assert isinstance(load, Expressions)
    assert len(load.subscriptions) == given["subscriptions"]
    assert len(load.subscriptions.attributes) <= given.get("attributes", 2) + given.get("strings", 0)
    batch = load.batch(Wanted(load.subscriptions.attributes), load.events)
    found, expected = Access.build(load.subscriptions).match(batch), Scan.build(load.subscriptions).match(batch)
    assert np.array_equal(found.subscriptions, expected.subscriptions)
    assert 0 < len(found.subscriptions) < 64 * len(load.subscriptions)


def test_sets_are_compiled_as_texts_are() -> None:
    """IN over columns: the same checks, and the same matches as IN in texts."""
    elements = np.array([[1.0, 2.0, 5.0], [2.0, 3.0, 4.0], [1.0, 4.0, 9.0]])
    made = sets(["a", "b"], np.array([0, 1, 3]), np.array([0, 0, 1], np.int32), elements)
    said = compile_expressions([tocsin.parse("a IN (1, 2, 5)"), tocsin.parse("a IN (2, 3, 4) AND b IN (1, 4, 9)")])
    check_expressions(made)

    batch = encode_objects([(row, {"a": row % 6, "b": row // 6}) for row in range(60)], Wanted(["a", "b"]))
    ours, theirs = (Scan.build(compiled).match(batch) for compiled in (made, said))
    assert np.array_equal(ours.subscriptions, theirs.subscriptions)
    assert 0 < len(ours.subscriptions) < 120


def test_the_own_pair_of_vcr_finds_what_covers_a_point() -> None:
    """Closed rectangles: each point is found on the edges, too; a list may name a rectangle twice, a tree does not."""
    load = load_of(
        {"kind": "rectangles", "closed": True, "subscriptions": 400, "width": 60, "height": 40, "events": 50}, set()
    )
    left, lower, width, height = load.subscriptions.T
    covering = [
        np.flatnonzero((left <= x) & (x <= left + width) & (lower <= y) & (y <= lower + height)).tolist()
        for x, y in load.points.tolist()
    ]
    linked, grown = load.build_own("linked_vcr(kx=3, ky=2)"), load.build_own("grown_r_tree")
    assert [linked.find(x, y) for x, y in load.points.tolist()] == covering
    assert [grown.find(x, y) for x, y in load.points.tolist()] == covering
    assert load.ask(grown, load.events)() == sum(map(len, covering))
    assert load.ask(linked, load.events)() >= sum(map(len, covering))
    with pytest.raises(KeyError):
        load.build_own("vcr")


def test_the_committed_summary_counts_the_sentences_of_the_figures() -> None:
    """A sentence that comes or goes needs a new run of `python -m reproduce --summary`."""
    counted: dict[str, list[int]] = {}
    for path in sorted(HERE.glob("*/*.toml")):
        figure = read_figure(path)
        counts = counted.setdefault(figure.paper, [0, 0])
        said = {claim.says for panel in figure.panels for claim in panel.claims if claim.says}
        counts[0] += len(said) + len(figure.unchecked)
        counts[1] += len(figure.unchecked)
    page = (HERE.parent / "docs" / "papers" / "claims.md").read_text("utf-8")
    written = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in counted and len(cells) == 8:
            written[cells[0]] = [int(cells[1]), int(cells[5])]
    assert written == {paper: counts for paper, counts in counted.items() if counts[0]}


def test_claims() -> None:
    lines = {"a": [1.0, 2.0, 4.0], "b": [3.0, 3.0, None], "c": [1.0], "d": [2.0, 0.0]}
    cases = [
        ({"kind": "rises", "series": "a", "factor": 4}, True),
        ({"kind": "rises", "series": "a", "factor": 4.1}, False),
        ({"kind": "falls", "series": "b"}, True),
        ({"kind": "falls", "series": "d", "factor": 100}, True),
        ({"kind": "steady", "series": "b", "factor": 1.01}, True),
        ({"kind": "steady", "series": "a", "factor": 3.9}, False),
        ({"kind": "rises", "series": "c"}, None),
        ({"kind": "below", "series": "a", "than": ["b"], "factor": 1.5, "everywhere": False}, True),
        ({"kind": "below", "series": "a", "than": ["b"], "factor": 1.6}, False),
        ({"kind": "below", "series": "a", "than": ["b"], "factor": 1.6, "among": 1}, True),
        ({"kind": "below", "series": "b", "than": ["a"], "everywhere": False}, False),
        ({"kind": "lowest", "series": "a", "at": [10]}, True),
        ({"kind": "lowest", "series": "a", "at": [20, 30]}, False),
        ({"kind": "lowest", "series": "b", "at": [10]}, True),
        ({"kind": "lowest", "series": "c", "at": [10]}, None),
        ({"kind": "below", "series": "a", "than": ["nobody"]}, None),
        ({"kind": "falls", "series": "a", "among": 1}, None),
        ({"kind": "steeper", "series": "a", "than": ["b"], "factor": 2}, True),
        ({"kind": "steeper", "series": "b", "than": ["a"]}, False),
        ({"kind": "converges", "series": "a", "than": ["b"], "factor": 2}, True),
        ({"kind": "converges", "series": "a", "than": ["b"], "factor": 2.1}, False),
        ({"kind": "converges", "series": "a", "than": ["c"]}, None),
    ]
    for given, held in cases:
        assert claim_of(given).check(lines, (10, 20, 30))[0] is held, given
