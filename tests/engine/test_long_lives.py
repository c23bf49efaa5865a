"""Thousands of small changes leave an engine that answers like its reference: what matches whole, and what in part."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

import tocsin
from tests import strategies as own
from tests.engine.checking import Question, check_batch, made, outcome
from tests.engine.relaxed_samples import INDEXES, Asked
from tests.engine.samples import pairs
from tests.naive.engine import Reference
from tests.sizes import sized

WORDS: Final = ("red", "green", "blue", "rouge", "redder", "é")
TEMPLATES: Final[tuple[Callable[[random.Random], str], ...]] = (
    lambda r: f"n {r.choice(('=', '<', '>=', '<>'))} {r.randint(0, 9)}",
    lambda r: f"s = '{r.choice(WORDS)}'",
    lambda r: f"s IN ('{r.choice(WORDS)}', '{r.choice(WORDS)}') AND n > {r.randint(0, 9)}",
    lambda r: f"n = {r.randint(0, 9)} OR s = '{r.choice(WORDS)}'",
    lambda r: f"NOT (s = '{r.choice(WORDS)}' AND n < {r.randint(0, 9)})",
    lambda r: f"n BETWEEN {r.randint(0, 5)} AND {r.randint(3, 9)}",
    lambda r: f"s LIKE '{r.choice(WORDS)[:2]}%'",
    lambda r: f"A_CONTAINS(words, ('{r.choice(WORDS)}', '{r.choice(WORDS)}'))",
    lambda r: f"A_OVERLAPS(words, ('{r.choice(WORDS)}', '{r.choice(WORDS)}')) AND NOT n = {r.randint(0, 9)}",
    lambda r: f"a{r.randint(0, 40)} = {r.randint(0, 2)} OR n = {r.randint(0, 9)}",
    lambda r: f"n IS NULL OR s = '{r.choice(WORDS)}'",
)


class Life(ABC):
    """Cheap random changes to an engine and its reference; `dice` decides everything."""

    chances: ClassVar[Sequence[float]]  # of the steps in `step`

    def __init__(self, dice: random.Random, names: Sequence[Any], index: str, delta_limit: int, folder: Path) -> None:
        self.dice, self.names, self.folder, self.delta_limit = dice, names, folder, delta_limit
        self.engine: Any = tocsin.Engine(index, delta_limit=delta_limit)
        self.reference = Reference()

    def go(self, steps: int, each: int) -> None:
        """So many changes, and after every `each` of them the answers, payloads and ids are the reference's."""
        for count in range(1, steps + 1):
            self.step()
            if count % each == 0:
                self.check()
        assert len(self.engine) == len(self.reference) > len(self.names) / 4
        self.engine.close()

    def step(self) -> None:
        """One change; merges and folders are rare."""
        steps = (self.subscribe, self.unsubscribe, self.rescore, self.subscribe_many, self.merge, self.save_and_load)
        self.dice.choices(steps, self.chances)[0]()

    def check(self) -> None:
        events, question = [self.event() for _ in range(6)], self.question()
        check_batch(self.engine, self.reference, events, question)
        found = pairs(self.engine.match(events[0], ranking=made(question)))
        assert found == self.reference.match(events[0], question)
        assert {name for name in self.names if name in self.engine} == set(self.reference.held)
        self.both("payload", self.dice.choice(self.names))

    def both(self, method: str, *arguments: Any, **fields: Any) -> None:
        """Tell or ask both the same; both refuse it, or say the same."""
        ours = outcome(lambda: getattr(self.engine, method)(*arguments, **fields))

        assert ours == outcome(lambda: getattr(self.reference, method)(*arguments, **fields))

    def subscribe(self) -> None:
        fields = self.fields(self.dice.choice(self.names))
        self.both("subscribe", fields.pop("id"), fields.pop("where"), **fields, replace=self.dice.random() < 0.4)

    def unsubscribe(self) -> None:
        self.both("unsubscribe", self.dice.choice(self.names))

    def rescore(self) -> None:
        self.both("rescore", self.dice.choice(self.names), self.score())

    def subscribe_many(self) -> None:
        """With distinct ids in the place of those that are there, or with any and the first of each kept."""
        replace = self.dice.random() < 0.5
        names = self.dice.sample(self.names, 12) if replace else self.dice.choices(self.names, k=12)
        records = [self.fields(name) for name in names[: self.dice.randint(1, 12)]]

        report = self.engine.subscribe_many(iter(records), replace=replace)

        accepted, refused = self.reference.subscribe_many(records, replace=replace)
        assert (report.accepted, [(r.row, r.id) for r in report.errors]) == (len(accepted), refused)

    def merge(self) -> None:
        self.engine.merge()

    def save_and_load(self) -> None:
        self.engine.save(self.folder)
        self.engine.close()
        self.engine = tocsin.Engine.load(self.folder, delta_limit=self.delta_limit)

    def score(self) -> float:
        return self.dice.choice((1.0, 2.0, -1.0, 0.0, -0.0, self.dice.random()))

    @abstractmethod
    def fields(self, name: Any) -> dict[str, Any]:
        """A subscription."""

    @abstractmethod
    def event(self) -> dict[str, Any]:
        """An event."""

    @abstractmethod
    def question(self) -> Question:
        """What is asked next."""


class WholeLife(Life):
    """Subscriptions of every shape: all matches, or the best of them."""

    chances = (45, 25, 25, 4, 0.3, 0.2)

    def fields(self, name: Any) -> dict[str, Any]:
        where = self.dice.choice(TEMPLATES)(self.dice)
        return {"id": name, "where": where, "score": self.score(), "payload": where}

    def event(self) -> dict[str, Any]:
        event = {
            "n": self.dice.randint(0, 9),
            "s": self.dice.choice(WORDS),
            "words": self.dice.sample(WORDS, self.dice.randint(0, 4)),
            f"a{self.dice.randint(0, 40)}": self.dice.randint(0, 2),
        }
        return {name: value for name, value in event.items() if self.dice.random() < 0.8}

    def question(self) -> Question:
        return self.dice.choice((None, tocsin.Top(2), tocsin.Top(1000)))


class RelaxedLife(Life):
    """Weighted conjunctions: those of which most holds."""

    chances = (60, 25, 10, 4, 0.5, 0.2)

    def fields(self, name: Any) -> dict[str, Any]:
        names = self.dice.sample("abcds", self.dice.randint(1, 4))
        parts = [self.part(attribute) for attribute in names]
        weights = {attribute: self.dice.choice(own.WEIGHTS) for attribute in names if self.dice.random() < 0.6}
        return {"id": name, "where": " AND ".join(parts), "weights": weights or None, "payload": len(parts)}

    def part(self, name: str) -> str:
        low = self.dice.randint(0, 9)
        if name == "s":
            return self.dice.choice((f"s = 'w{low % 4}'", f"s IN ('w{low % 4}', 'w0')", "(s = 'w1' OR a = 3)"))
        return self.dice.choice((f"{name} = {low}", f"{name} BETWEEN {low} AND {low + 3}", f"{name} > {low}"))

    def event(self) -> dict[str, Any]:
        event = {name: self.dice.randint(0, 10) for name in "abcd"} | {"s": f"w{self.dice.randint(0, 4)}"}
        return {name: value for name, value in event.items() if self.dice.random() < 0.8}

    def question(self) -> Question:
        combine, drop = self.dice.choice(("sum", "max", "min")), self.dice.choice(((), (), ("a",), ("s", "b")))
        return Asked(self.dice.randint(1, 20), combine, drop)


@pytest.mark.parametrize(
    ("index", "names", "delta_limit"),
    [
        ("auto", range(120), 16),
        ("access", [f"s{n}" for n in range(120)], 64),
        ("scan", [2**62 + n for n in range(30)], 4),
    ],
)
def test_what_matches_whole(index: str, names: Sequence[Any], delta_limit: int, tmp_path: Path) -> None:
    """Many changes of every kind, and after every few the answers, payloads and ids are the reference's."""
    WholeLife(random.Random(f"{index} {delta_limit}"), names, index, delta_limit, tmp_path / "saved").go(
        sized(600, 2000), 10
    )


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("delta_limit", [pytest.param(4, marks=pytest.mark.long), 64])
def test_what_holds_in_part(index: str, delta_limit: int, tmp_path: Path) -> None:
    """Many changes of every kind and merges, and after every twenty the answers are the reference's."""
    dice = random.Random(f"{index} {delta_limit}")
    RelaxedLife(dice, range(200), index, delta_limit, tmp_path / "saved").go(sized(240, 600), 20)
