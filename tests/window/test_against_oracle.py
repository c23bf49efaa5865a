"""At every step of random streams a window answers like the oracle, and its changes lead from answer to answer."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.naive.window import NaiveWindow
from tocsin.index.registry import disseminators, find_index
from tocsin.index.window.registry import POLICIES
from tocsin.window.frequencies import TERM_FREQUENCIES

BOUNDS = (0.0, 0.0, 8.0, 4.0)
WORDS = ["a", "b", "c", "d", "e", "f", "g", "h"]
WEIGHTS = {"a": 0.3, "b": 2.5, "c": 1.0, "d": 1e-3, "e": 0.7}

places = st.tuples(st.sampled_from([0.0, 1.0, 4.0, 8.0]), st.sampled_from([0.0, 1.5, 4.0])) | st.tuples(
    st.floats(0, 8), st.floats(0, 4)
)
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8)
names = st.integers(0, 12)
alphas = st.sampled_from([0.0, 0.3, 0.5, 0.999]) | st.floats(0, 1, exclude_max=True)

pushes = st.tuples(
    st.just("push"), st.lists(st.sampled_from(WORDS), max_size=8), places, st.sampled_from([0, 0, 1, 1, 3, 9])
)
subscribes = st.tuples(st.just("subscribe"), names, words, places, st.integers(1, 4), alphas)
unsubscribes = st.tuples(st.just("unsubscribe"), names)
others = st.sampled_from([("save",), ("batch",)])
steps = st.lists(st.one_of(pushes, pushes, pushes, subscribes, unsubscribes, others), min_size=20, max_size=120)
windows = st.sampled_from([{"size": 1}, {"size": 3}, {"size": 20}, {"time": 4.0}, {"size": 5, "time": 6.0}])


@dataclass
class Both:
    """A window, the oracle beside it, and what the changes so far say is best."""

    window: tocsin.Window
    naive: NaiveWindow
    threads: int = 1
    now: float = 0.0
    waiting: list[dict[str, Any]] | None = None
    expected: list[dict[str, Any]] = field(default_factory=list)
    replayed: dict[Any, set[Any]] = field(default_factory=dict)

    def do(self, step: tuple[Any, ...]) -> None:
        getattr(self, step[0])(*step[1:])

    def push(self, words: list[str], place: tuple[float, float], passes: int) -> None:
        self.now += passes
        record = {"words": words, "location": place, "time": self.now}
        changes = self.naive.push(words, place, time=self.now)
        assert changes is not None
        if self.waiting is None:
            assert [tuple(one) for one in self.window.push(**record)] == [tuple(one) for one in changes]
        else:
            event = len(self.waiting)
            self.waiting.append(record)
            self.expected += [{"event": event, **one._asdict()} for one in changes]
        for one in changes:
            best = self.replayed[one.subscription]
            (best.add if one.kind == "enter" else best.remove)(one.message)

    def batch(self) -> None:
        """Keep messages back from now on, to be pushed together."""
        self.flush()
        self.waiting = []

    def flush(self) -> None:
        """Push what was kept back."""
        if self.waiting:
            answer = self.window.push_batch(self.waiting)
            assert not answer.errors
            assert list(answer) == self.expected
        self.waiting, self.expected = None, []

    def subscribe(self, name: int, words: list[str], place: tuple[float, float], k: int, alpha: float) -> None:
        self.flush()
        self.window.subscribe(name, words=words, location=place, k=k, alpha=alpha, replace=True)
        self.naive.subscribe(name, words, place, k, alpha)
        self.replayed[name] = {message for message, _ in self.naive.results(name)}

    def unsubscribe(self, name: int) -> None:
        self.flush()
        if name in self.naive.wanted:
            self.window.unsubscribe(name)
            self.naive.unsubscribe(name)
            del self.replayed[name]

    def save(self) -> None:
        self.flush()
        with tempfile.TemporaryDirectory() as folder:
            self.window.save(folder)
            self.window = tocsin.Window.load(folder, threads=self.threads)

    def check(self) -> None:
        if self.waiting is not None:
            return
        assert list(self.window) == sorted(self.naive.wanted)
        for name in self.naive.wanted:
            results = self.naive.results(name)
            assert self.window.results(name) == results
            assert self.replayed[name] == {message for message, _ in results}


TINY = {"late": 2, "first": 3, "leaf": 2, "groups": 2, "depth": 2}
MOST = {"slack": 3, "times": 2, "modelled": 1}
"""Options of how much is buffered, and up to where they are drawn."""
PAIRS = [(one.name, policy) for one in disseminators() for policy in one.words.get("policy", [""])]
"""Every structure with every policy of buffers, and the names that stand for a pair."""


def options_of(name: str, policy: str, is_tiny: bool, drawn: int) -> str:
    """Options of an index in words. If `is_tiny`, each structure is built anew all the time, from small parts."""
    known = find_index(name, for_windows=True).options
    chosen: dict[str, Any] = {"policy": policy} if policy else {}
    buffered = POLICIES[policy].options if policy else known
    drawn_of = {one: drawn % (most + (one == "modelled")) + (one != "modelled") for one, most in MOST.items()}
    chosen |= {one: value for one, value in TINY.items() if is_tiny and one in known}
    chosen |= {one: value for one, value in drawn_of.items() if one in buffered}
    return ", ".join(f"{one}={value}" for one, value in chosen.items())


@pytest.mark.parametrize(("name", "policy"), PAIRS)
@given(
    steps=steps,
    kind=windows,
    weights=st.sampled_from([None, WEIGHTS]),
    frequency=st.sampled_from(TERM_FREQUENCIES),
    is_tiny=st.booleans(),
    drawn=st.integers(0, 5),
)
def test_a_window_is_the_oracle_at_every_step(
    name: str, policy: str, steps: Any, kind: Any, weights: Any, frequency: Any, is_tiny: bool, drawn: int
) -> None:
    """Arrivals, expiries, ties, subscriptions that come and go, batches, save and load in between.

    Each structure as it is, and built anew now and then all the time, with more and with less buffered.
    """
    index = f"{name}({options_of(name, policy, is_tiny, drawn)})"
    window = tocsin.Window(bounds=BOUNDS, weights=weights, term_frequency=frequency, index=index, **kind)
    both = Both(window, NaiveWindow(BOUNDS, kind.get("size"), kind.get("time"), weights, frequency))
    for step in steps:
        both.do(step)
        both.check()
    both.flush()
    both.check()


@pytest.mark.parametrize("name", ["blocks", "skype", "ciq"])
@given(steps=steps, kind=windows, weights=st.sampled_from([None, WEIGHTS]), threads=st.integers(2, 4))
def test_a_window_that_threads_share_is_the_oracle(
    name: str, steps: Any, kind: Any, weights: Any, threads: int
) -> None:
    """In one push, in batches of few and of many messages; saved, and shared anew."""
    window = tocsin.Window(bounds=BOUNDS, weights=weights, index=name, threads=threads, **kind)
    both = Both(window, NaiveWindow(BOUNDS, kind.get("size"), kind.get("time"), weights), threads)
    for step in steps:
        both.do(step)
        both.check()
    both.flush()
    both.check()
