"""While one thread changes an engine, every answer of the others is that of one state, and never an older one."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import tocsin
from tests.waiting import HANG_S

WINDOW: Final = 20
CHANGES: Final = 250
MOST_CHANGES: Final = 20_000
ROUNDS: Final = 25
READERS: Final = 3
BATCH: Final = [{"n": 1}] * 1200  # more than one piece of events


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    """Threads take turns a hundred times as often as they do otherwise."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 100)
    yield
    sys.setswitchinterval(usual)


@pytest.fixture(params=["auto", "scan"])
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A delta of a few changes, so that segments are made and merged all the time."""
    with tocsin.Engine(request.param, delta_limit=16) as engine:
        yield engine


class Crew:
    """Threads of one test. The first error of any stops them all and is raised; a deadlock is an error."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self._rounds: list[list[None]] = []
        self._errors: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def start(self, work: Callable[[], None], times: int = 1) -> list[threading.Thread]:
        def run() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001  (raised again by `finish`)
                self._errors.append(error)
                self.stopped.set()

        started = [threading.Thread(target=run, daemon=True) for _ in range(times)]
        self._threads += started
        for thread in started:
            thread.start()
        return started

    def repeat(self, step: Callable[[], None], times: int = 1) -> None:
        """Do a step again and again, in so many threads, until the crew is stopped."""

        rounds: list[None] = []
        self._rounds.append(rounds)

        def work() -> None:
            while not self.stopped.is_set():
                step()
                rounds.append(None)

        self.start(work, times)

    def turns(self) -> Iterator[int]:
        """Numbers for as many changes as it takes until each step that is repeated has met many of them."""
        for turn in range(MOST_CHANGES):
            if self.stopped.is_set() or (turn >= CHANGES and min(map(len, self._rounds)) >= ROUNDS):
                return
            yield turn

    def wait_until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + HANG_S
        while not condition() and not self.stopped.is_set():
            assert time.monotonic() < end, "a thread hangs"
            time.sleep(0.001)

    def wait_for(self, threads: list[threading.Thread]) -> None:
        for thread in threads:
            thread.join(HANG_S)
            assert self._errors or not thread.is_alive(), "a thread hangs"

    def finish(self) -> None:
        self.stopped.set()
        self.wait_for(self._threads)
        if self._errors:
            raise self._errors[0]


def where(number: int) -> str:
    """True of every event here; each names another attribute, so that the attributes wanted change all the time."""
    return f"a{number} = 1 OR n = 1"


class SlidingWindow:
    """Subscriptions low..high-1. A change adds one at the top or removes one at the bottom, in turns.

    Each change makes `low + high` greater by one, so an answer tells which state it is of. The score of each is its
    number.
    """

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.begun = self.done = WINDOW
        for number in range(WINDOW):
            engine.subscribe(number, where(number), score=number)

    def slide(self, turns: Iterable[int]) -> None:
        for _ in turns:
            self.begun += 1
            low, odd = divmod(self.begun - WINDOW, 2)
            if odd:
                self.engine.subscribe(low + WINDOW, where(low + WINDOW), score=low + WINDOW)
            else:
                self.engine.unsubscribe(low - 1)
            self.done += 1


def version(ids: np.ndarray) -> int:
    """Which state of the sliding window has exactly these ids."""
    low, high = int(ids[0]), int(ids[-1]) + 1
    assert ids.tolist() == list(range(low, high)), "no state has these"
    assert high - low in (WINDOW, WINDOW + 1), "no state has so many"
    return low + high


def one_of_all(answer: tocsin.Answer) -> tuple[np.ndarray, np.ndarray]:
    """Ids and scores that every event of the batch has, the same for all."""
    count, odd = divmod(len(answer), len(BATCH))
    assert not odd, "some events have more matches than others"
    assert answer.stats.subscriptions == count, "every subscription matches every event here"
    columns = [answer.table[name].to_numpy().reshape(len(BATCH), count) for name in answer.table.column_names]
    assert (columns[0] == np.arange(len(BATCH))[:, None]).all()
    assert all((column == column[0]).all() for column in columns[1:]), "one batch saw two states"
    return columns[1][0], columns[-1][0]


class Reader:
    """Asks in several ways, and holds that each answer is of a state at the time, and not before the last one seen."""

    def __init__(self, window: SlidingWindow) -> None:
        self.window = window
        self.last = threading.local()

    def ask(self) -> None:
        self.check(lambda engine: version(one_of_all(engine.match_batch(BATCH))[0]))
        self.check(lambda engine: version(np.array([m.subscription for m in engine.match({"n": 1})])))
        self.check(self.ranked)

    def ranked(self, engine: Any) -> int:
        ids, scores = one_of_all(engine.match_batch(BATCH, ranking=tocsin.Top(1000)))
        assert scores.tolist() == ids.tolist()
        return version(ids[::-1])

    def check(self, ask: Callable[[Any], int]) -> None:
        least = max(self.window.done, getattr(self.last, "version", 0))
        seen = ask(self.window.engine)
        most = self.window.begun
        assert least <= seen <= most
        self.last.version = seen


def test_every_answer_is_of_one_state_and_never_of_an_older_one(engine: Any) -> None:
    """Batches, single events and rankings see a state that stood between their start and their end."""
    window, crew = SlidingWindow(engine), Crew()
    crew.repeat(Reader(window).ask, READERS)

    crew.wait_for(crew.start(lambda: window.slide(crew.turns())))
    crew.finish()

    Reader(window).ask()
    assert window.done == window.begun >= WINDOW + CHANGES
    assert len(engine) in (WINDOW, WINDOW + 1)


def test_merging_and_saving_beside_changes_are_not_seen(engine: Any, tmp_path: Path) -> None:
    """Readers see one state while others merge and save, and what is saved is a state that stood meanwhile."""
    window, crew = SlidingWindow(engine), Crew()

    def save() -> None:
        least = window.done
        engine.save(tmp_path)
        most = window.begun
        with tocsin.Engine.load(tmp_path) as loaded:
            assert least <= version(one_of_all(loaded.match_batch(BATCH))[0]) <= most

    crew.repeat(Reader(window).ask)
    crew.repeat(engine.merge)
    crew.repeat(save)
    crew.wait_for(crew.start(lambda: window.slide(crew.turns())))
    crew.finish()

    Reader(window).ask()


def test_scores_are_of_one_state_too(engine: Any) -> None:
    """While ids are rescored in turns, all scores of all events of a batch are those after one and the same change."""
    for number in range(WINDOW):
        engine.subscribe(number, where(number), score=number)
    crew, done, begun = Crew(), [WINDOW - 1], [WINDOW - 1]

    def rescore() -> None:
        for score in map(WINDOW.__add__, crew.turns()):
            begun[0] = score
            engine.rescore(score % WINDOW, score)
            done[0] = score

    def read() -> None:
        least = done[0]
        ids, scores = one_of_all(engine.match_batch(BATCH, ranking=tocsin.Top(1000)))
        best = [match.score for match in engine.match({"n": 1}, ranking=tocsin.Top(3))]
        most = begun[0]
        assert scores.tolist() == list(range(int(scores[0]), int(scores[0]) - WINDOW, -1))
        assert (ids == scores % WINDOW).all()
        assert least <= scores[0] <= best[0] <= most
        assert best == [best[0], best[0] - 1, best[0] - 2]

    crew.repeat(read, READERS)
    crew.wait_for(crew.start(rescore))
    crew.finish()


def test_a_replaced_subscription_is_never_missing_nor_double(engine: Any) -> None:
    """Who matches while ids are replaced sees each exactly once, old or new."""
    for number in range(WINDOW):
        engine.subscribe(number, where(number), payload=0)
    crew = Crew()

    def replace() -> None:
        for turn in crew.turns():
            number = turn * 7 % WINDOW
            engine.subscribe(number, where(turn), payload=turn, replace=True)
            if turn % 20 == 0:
                records = [{"id": i, "where": where(turn + i), "payload": turn} for i in range(WINDOW)]
                assert engine.subscribe_many(records, replace=True).errors == []

    def read() -> None:
        assert one_of_all(engine.match_batch(BATCH))[0].tolist() == list(range(WINDOW))
        assert [match.subscription for match in engine.match({"n": 1})] == list(range(WINDOW))
        assert len(engine) == engine.stats.subscriptions == WINDOW
        for number in range(WINDOW):
            before = engine.payload(number)
            assert number in engine
            assert engine.explain(number, {"n": 1}).matched
            assert before <= engine.payload(number)

    crew.repeat(read, READERS)
    crew.wait_for(crew.start(replace))
    crew.finish()


def test_an_event_source_that_changes_the_engine_does_not_change_its_own_batch(engine: Any) -> None:
    """A batch sees the state at its start, even when reading its events subscribes and unsubscribes."""
    for number in range(3):
        engine.subscribe(number, where(number))

    def events() -> Iterator[dict[str, int]]:
        for number in range(3, 40_003):  # several chunks
            if number % 1000 == 3:
                engine.subscribe(number, where(number))
                if number > 3:
                    engine.unsubscribe(number - 1000)
            yield {"n": 1}

    answer = engine.match_batch(events())

    assert answer.table["subscription"].to_numpy().reshape(-1, 3).tolist() == [[0, 1, 2]] * 40_000
    assert answer.stats.subscriptions == 3
    assert [match.subscription for match in engine.match({"n": 1})] == [0, 1, 2, 39_003]


@pytest.mark.parametrize("name", ["text", 7])
def test_the_first_subscription_of_all_does_not_reach_a_batch_that_has_begun(engine: Any, name: Any) -> None:
    """It decides the kind of ids, and still the batch is that of an empty engine from start to end."""

    def events() -> Iterator[dict[str, int]]:
        for number in range(40_000):
            if number == 10:
                engine.subscribe(name, "TRUE")
            yield {"n": 1}

    empty = tocsin.match([], [{}], ranking=tocsin.Top(1)).table

    answer = engine.match_batch(events(), ranking=tocsin.Top(1))

    assert answer.table == empty
    assert (answer.stats.subscriptions, answer.stats.events) == (0, 40_000)
    assert list(engine.match({})) == [tocsin.Match(name, 1.0)]


def own_changes(engine: Any, first: int) -> None:
    """Each change is looked for right after it, with `n` the own number, so that others' are not seen."""

    def seen() -> list[tuple[int, float]]:
        return [tuple(match) for match in engine.match({"n": first})]

    for number in range(first, first + CHANGES // 3):
        engine.subscribe(number, f"n = {first}", score=1)
        assert seen() == [(number, 1.0)]
        engine.rescore(number, number)
        assert seen() == [(number, float(number))]
        engine.subscribe(number, f"n = {first} AND n > 0", score=-1, replace=True)
        assert seen() == [(number, -1.0)]
        report = engine.subscribe_many([{"id": number + 1, "where": f"n = {first}"}])
        assert (report.accepted, seen()) == (1, [(number, -1.0), (number + 1, 1.0)])
        engine.unsubscribe(number)
        assert (seen(), number in engine) == ([(number + 1, 1.0)], False)
        engine.unsubscribe(number + 1)
        assert seen() == []


def test_a_change_is_seen_by_the_next_match_of_its_thread(engine: Any) -> None:
    """Also while other threads match, and while segments are made and merged."""
    crew = Crew()
    crew.repeat(lambda: engine.match_batch(BATCH), 2)

    crew.wait_for(crew.start(lambda: own_changes(engine, 1000)))
    crew.finish()


def test_several_writers_are_served_one_after_another(engine: Any) -> None:
    """Threads that change an engine at once need no lock of their own: each sees its own changes at once."""
    crew = Crew()
    firsts = iter([1000, 2000, 3000])

    crew.wait_for(crew.start(lambda: own_changes(engine, next(firsts)), 3))
    crew.finish()

    assert len(engine) == 0


def test_of_several_threads_that_subscribe_one_id_one_wins(engine: Any) -> None:
    """All others get DuplicateSubscription, and the subscription is the winner's."""
    crew, won = Crew(), []
    names = iter(range(READERS))

    def subscribe() -> None:
        me = next(names)
        for number in range(CHANGES):
            try:
                engine.subscribe(number, f"n = {number}", payload=me)
            except tocsin.DuplicateSubscription:
                continue
            won.append((number, me))

    crew.wait_for(crew.start(subscribe, READERS))
    crew.finish()

    assert sorted(won) == [(number, engine.payload(number)) for number in range(CHANGES)]
    assert len(engine) == CHANGES


@pytest.mark.parametrize("merging", [False, True])
def test_closing_ends_the_work_of_others_without_deadlock(engine: Any, merging: bool) -> None:
    """Close returns while others match, change and merge; after it they get answers, or TocsinError."""
    window, crew, closing = SlidingWindow(engine), Crew(), threading.Event()
    reader = Reader(window)

    def until_closed(work: Callable[[], None]) -> Callable[[], None]:
        def step() -> None:
            try:
                work()
            except tocsin.TocsinError:
                assert closing.is_set(), "an error before close"
                crew.stopped.set()

        return step

    crew.repeat(until_closed(reader.ask), 2)
    crew.start(until_closed(lambda: window.slide(iter(crew.stopped.is_set, True))))
    if merging:
        crew.repeat(until_closed(engine.merge))
    crew.wait_until(lambda: window.done > WINDOW + 50)

    closing.set()
    closed = crew.start(engine.close)

    crew.wait_for(closed)
    crew.finish()
    engine.close()
