"""The sentences of papers about figures: how many hold, do not hold, cannot be told, or are not encoded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from reproduce.figure import Figure, Unchecked
from reproduce.report import Verdict

_HEAD: Final = ("paper", "sentences", "hold", "do not", "not to be told", "not encoded", "ours hold", "ours do not")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a paper, or a claim of our own, with the verdicts of its claims."""

    says: str
    verdicts: tuple[Verdict, ...]

    @property
    def held(self) -> bool | None:
        """Whether all of its claims held that could be told; None if none could."""
        known = [verdict.held for verdict in self.verdicts if verdict.held is not None]
        return all(known) if known else None


@dataclass(frozen=True, slots=True)
class Judged:
    """The sentences about one figure."""

    paper: str
    figure: str
    sentences: tuple[Sentence, ...]
    ours: tuple[Sentence, ...]
    unchecked: tuple[Unchecked, ...]


def judge(figure: Figure, verdicts: Iterable[Verdict]) -> Judged:
    """The verdicts about a figure by sentence; those of a claim without a sentence are by themselves."""
    by_sentence: dict[str, list[Verdict]] = {}
    ours = []
    for verdict in verdicts:
        if verdict.claim.says:
            by_sentence.setdefault(verdict.claim.says, []).append(verdict)
        else:
            ours.append(Sentence("", (verdict,)))
    sentences = tuple(Sentence(says, tuple(own)) for says, own in by_sentence.items())
    return Judged(figure.paper, figure.number, sentences, tuple(ours), figure.unchecked)


def in_one_line(figures: Sequence[Judged]) -> str:
    """What a run ends with."""
    _, sentences, *counts, ours, not_ours = _counts("", figures)
    hold, fail, untold, unchecked = counts
    of_papers = f"of {sentences} sentences of papers {hold} hold, {fail} do not, {untold} cannot be told at this size"
    return f"{of_papers}, {unchecked} are not encoded; of our own claims {ours} hold, {not_ours} do not"


def summary(figures: Sequence[Judged]) -> list[str]:
    """Lines of Markdown: a table by paper, the sentences that do not hold with numbers, and those not encoded."""
    papers = dict.fromkeys(one.paper for one in figures)
    rows = [_counts(paper, [one for one in figures if one.paper == paper]) for paper in papers]
    lines = [*_table(_HEAD, rows), "", "## What does not hold", ""]
    failed = [_failed(one, that) for one in figures for that in (*one.sentences, *one.ours) if that.held is False]
    lines += [*_table(("figure", "sentence", "measured", "why"), failed), "", "## What is not encoded", ""]
    unchecked = [(f"{one.paper}, {one.figure}", *that) for one in figures for that in one.unchecked]
    return [*lines, *_table(("figure", "sentence", "why"), unchecked)]


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    return [f"| {' | '.join(map(str, row))} |" for row in (head, ["---"] * len(head), *rows)]


def _counts(paper: str, figures: Sequence[Judged]) -> tuple[str, int, int, int, int, int, int, int]:
    held = [sentence.held for one in figures for sentence in one.sentences]
    ours = [claim.held for one in figures for claim in one.ours]
    unchecked = sum(len(one.unchecked) for one in figures)
    told = held.count(True), held.count(False), held.count(None)
    return (paper, len(held) + unchecked, *told, unchecked, ours.count(True), ours.count(False))


def _failed(figure: Judged, sentence: Sentence) -> tuple[str, str, str, str]:
    """The figure, the sentence, the numbers of the claims that failed, and why, if it is known."""
    failed = [verdict for verdict in sentence.verdicts if verdict.held is False]
    numbers = "; ".join(verdict.text for verdict in failed)
    why = " ".join(dict.fromkeys(verdict.claim.why for verdict in failed if verdict.claim.why))
    return f"{figure.paper}, {figure.figure}", sentence.says or "(ours)", numbers, why or "not known"
