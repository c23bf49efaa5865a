"""A ranking is a class: one more is parsed from a command line and from a pipeline's file, and asks its question."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import tocsin
from tocsin.cli.main import main
from tocsin.columns.events.batch import EventBatch
from tocsin.index import Found
from tocsin.index.question import AllMatches, Subscriptions
from tocsin.index.registry import QUESTIONS, question_of
from tocsin.model.ranking import RANKINGS, Ranking, Top
from tocsin.pipeline import read_pipeline


@dataclass(frozen=True, slots=True)
class Above(Ranking):
    """The `k` best matches, as far as their scores are above a floor."""

    question = "above a floor"
    numbers = (("k", int), ("floor", float))
    example = "20:1.5"
    help = "the K best matches above a floor"

    k: int
    floor: float

    def __post_init__(self) -> None:
        if self.k < 1:
            raise tocsin.InvalidInput(f"k is {self.k}; it must be at least 1.")


class AboveAFloor(AllMatches):
    """Answers `Above` by what answers `Top`."""

    name: ClassVar[str] = "above a floor"
    key: ClassVar[str] = "above"

    def answer(self, subscriptions: Subscriptions, batch: EventBatch, ranking: Any) -> Found:
        found = super().answer(subscriptions, batch, Top(ranking.k))
        assert found.scores is not None
        kept = found.scores > ranking.floor
        starts = np.concatenate([[0], np.cumsum(kept)])[found.starts]
        return found._replace(starts=starts, subscriptions=found.subscriptions[kept], scores=found.scores[kept])


@pytest.fixture
def above(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ranking, and its question, for one test."""
    monkeypatch.setitem(RANKINGS, Above.word(), Above)
    monkeypatch.setitem(QUESTIONS, AboveAFloor.name, AboveAFloor())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text("id,where,score\na,n > 1,1\nb,n > 2,2\nc,n > 2,3\n")
    (tmp_path / "e.csv").write_text("n\n2\n3\n")
    return tmp_path


def test_it_is_asked_by_the_library(folder: Path, above: None) -> None:
    """With no index for it; and it is named where rankings are told."""
    rows = tocsin.match("s.csv", "e.csv", ranking=Above(2, 2.5)).table.to_pylist()

    assert rows == [{"event": 1, "subscription": "c", "score": 3.0}]
    with pytest.raises(tocsin.InvalidInput, match=r"tocsin.Similar\(alpha, threshold\), tocsin.Above\(k, floor\), or"):
        tocsin.match("s.csv", "e.csv", ranking="top")  # type: ignore[arg-type]


def test_it_is_parsed_from_a_command_line(folder: Path, above: None, capfd: Any) -> None:
    """What is not of its numbers is refused with an example, and so is what it does not take."""
    assert main(["match", "s.csv", "e.csv", "--above", "2:1.5"]) == 0
    assert capfd.readouterr().out.splitlines() == [
        '{"event": 1, "subscription": "c", "score": 3.0}',
        '{"event": 1, "subscription": "b", "score": 2.0}',
    ]

    for text, words in (
        ("2", "--above: '2' is not K:FLOOR; write two numbers, such as 20:1.5"),
        ("2:x", "--above: '2:x' is not K:FLOOR; write two numbers, such as 20:1.5"),
        ("0:1", "match: k is 0; it must be at least 1."),
    ):
        assert main(["match", "s.csv", "e.csv", "--above", text]) == 2
        assert words in capfd.readouterr().err


def test_it_is_parsed_from_the_file_of_a_pipeline(folder: Path, above: None) -> None:
    """Likewise."""
    path = folder / "pipeline.toml"

    def read(text: str) -> Ranking | None:
        path.write_text(
            '[events]\nkind = "rate"\n[subscriptions]\nindex = "i"\n[sink]\nkind = "console"\n'
            f'[run]\ncheckpoint = "c"\n[match]\nranking = "{text}"\n'
        )
        return read_pipeline(path).ranking

    assert read("above:2:1.5") == Above(2, 1.5)
    for text, words in (
        ("above:2", "ranking is 'above:2'; write top:20, relaxed:20, similar:0.5:0.6 or above:20:1.5"),
        ("above:2:x", "ranking is 'above:2:x': could not convert string to float"),
        ("above:0:1", "ranking is 'above:0:1': k is 0; it must be at least 1."),
    ):
        with pytest.raises(tocsin.InvalidInput, match=words):
            read(text)


@pytest.mark.parametrize("kind", RANKINGS.values())
def test_every_ranking_is_public_and_is_answered(kind: type[Ranking]) -> None:
    """By the question that it names; and its example is one."""
    ranking = kind.parse(kind.example.split(":"))

    assert getattr(tocsin, kind.__name__) is kind
    assert question_of(ranking).name == kind.question
    assert [getattr(ranking, name) for name, _ in kind.numbers] == [float(part) for part in kind.example.split(":")]
