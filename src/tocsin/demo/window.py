"""The window demo: orders of an office store as nearby deals, replayed for thousands of subscriptions.

Real orders come one after the other. For every subscription, `tocsin.Window` keeps the best of the last thousand. The
module `orders` says what is real and what is synthetic.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tocsin.demo import orders, pictures, scored_again
from tocsin.demo.board import Board
from tocsin.demo.flights import airfields
from tocsin.demo.orders import BOUNDS, Deal, Wish
from tocsin.demo.output import finished_in
from tocsin.demo.progress import Steps
from tocsin.engine import idf
from tocsin.errors import InvalidInput
from tocsin.window import Window

SUBSCRIPTIONS: Final = 5_000
SIZE: Final = 1_000
SEED: Final = 2017
BATCH: Final = 50
"""Deals in one push."""

PACE: Final = 1_000
"""Deals a second on a terminal; the window itself is faster."""

CHECKED: Final = 50
PARTS: Final = (
    "orders.parquet",
    "subscriptions.parquet",
    "changes.parquet",
    "results.parquet",
    "window.png",
    "window.json",
)
"""The files that a run leaves in its output folder."""

_SHOWN: Final = 3
"""The entries shown of each list during the replay."""


@dataclass(frozen=True, slots=True)
class WindowSummary:
    """The results of a run. `lists` are those displayed: the subscription, then its deals, best first."""

    output: str
    deals: int
    subscriptions: int
    size: int
    changes: int
    examined: int  # subscriptions compared with a deal
    searched: int  # how often the window was searched again for a subscription
    pushing_s: float
    checked: int
    differ: int  # of the checked subscriptions
    is_played_back: bool
    lists: list[list[str]]

    def text(self) -> str:
        """The summary as text for users."""
        deals = max(self.deals, 1)
        each_us = self.pushing_s / deals * 1e6
        same = "the same answers" if self.differ == 0 else f"{self.differ} ANSWERS DIFFER"
        back = "the changes add up to the results" if self.is_played_back else "THE CHANGES DO NOT ADD UP"
        return "\n".join(
            [
                f"{self.deals:,} deals, {self.subscriptions:,} subscriptions, a window of {self.size:,} deals",
                "",
                f"  changes   {self.changes:>10,}   {self.changes / deals:,.1f} for each deal",
                f"  compared  {self.examined / deals:>10,.1f}   subscriptions for each deal; {self.searched:,} "
                "times the whole "
                "window was searched again",
                f"  a push    {each_us:>10,.1f}   microseconds a deal, in batches of {BATCH}: "
                f"{deals / max(self.pushing_s, 1e-9):,.0f} deals a second",
                f"  checked   {self.checked:>10,}   subscriptions, every deal of the window scored one by one: {same}; "
                f"{back}",
                *(line for one in self.lists for line in ("", one[0], *(f"  {line}" for line in one[1:]))),
                "",
                "Output files",
                "",
                *(f"  {Path(self.output) / part}" for part in PARTS),
            ]
        )


def run(
    output: Path,
    *,
    subscriptions: int = SUBSCRIPTIONS,
    size: int = SIZE,
    events: int | None = None,
    pace: int | None = None,
    seed: int = SEED,
    progress: bool = True,
) -> WindowSummary:
    """Replay the orders into the folder `output`, and print the summary on standard output.

    `events` limits the orders, and `size` is the size of the window. `pace` is the number of orders a second, 0 for no
    limit; None means `PACE` on a terminal, and otherwise 0. Progress goes to standard error. Raises `MissingExtra` if
    the data or matplotlib is missing, `InvalidInput` for a number out of range.
    """
    for name, number, least in (
        ("subscriptions", subscriptions, 1), ("size", size, 1), ("events", events, 1), ("pace", pace, 0)
    ):  # fmt: skip
        if number is not None and number < least:
            raise InvalidInput(f"{name} is {number}; it must be at least {least}")
    output = Path(output)
    with finished_in(output, PARTS) as folder:
        summary = _Replay(folder, output, Steps(5, shown=progress)).run(subscriptions, size, events, pace, seed)
    print(summary.text())
    return summary


class _Replay:
    """The steps of a run. They write into `folder`, which is moved to `output` when all is done."""

    def __init__(self, folder: Path, output: Path, steps: Steps) -> None:
        self.folder, self.output, self.steps = folder, output, steps
        self.watched: list[Wish] = []
        self.known: dict[str, Deal] = {}

    def run(self, subscriptions: int, size: int, events: int | None, pace: int | None, seed: int) -> WindowSummary:
        with self.steps.step("read", "Read the orders and where they went"):
            deals = orders.orders(events)
            self.known = {deal.key: deal for deal in deals}
            weights = idf([{"words": sorted(orders.words_of(deal.text))} for deal in deals])
        with self.steps.step("subscribe", f"Draw {subscriptions:,} subscriptions; load the kernels"):
            wishes = orders.draw(deals, subscriptions, seed)
            self.watched = watched(wishes)
            window = Window(size=size, bounds=BOUNDS, weights=weights)
            window.subscribe_many(_records(wishes), strict=True)
            _warm(wishes, deals)
        changes, seconds = self._replay(window, orders.table(deals), pace)
        with self.steps.step("check", f"Score all again for {min(CHECKED, subscriptions)} subscriptions"):
            results = window.results_table()
            asked = random.Random(seed).sample(wishes, min(CHECKED, subscriptions))
            differ = sum(window.results(one.id) != scored_again.best(one, deals[-size:], weights) for one in asked)
            is_played_back = scored_again.played_back(changes, results)
        stats = window.stats
        summary = WindowSummary(
            str(self.output), len(deals), subscriptions, size, stats.changes, stats.candidates_examined,
            stats.reevaluations, seconds, len(asked), differ, is_played_back, self._lists(window, orders.K),
        )  # fmt: skip
        with self.steps.step("paint", "Paint the map, and write"):
            self._paint(window, wishes, deals[-size:])
            self._write(deals, wishes, changes, results, summary)
        return summary

    def _replay(self, window: Window, messages: pa.Table, pace: int | None) -> tuple[pa.Table, float]:
        """Push the deals; returns the changes, and the seconds that the window took."""
        title = self.steps.label(f"Replay {len(messages):,} deals")
        board = Board(title, len(messages), shown=self.steps.shown)
        pace = (PACE if board.is_live else 0) if pace is None else pace
        parts, pushing, changed = [], 0.0, 0
        begun = time.perf_counter()
        try:
            for first in range(0, len(messages), BATCH):
                batch = messages.slice(first, BATCH).drop_columns("city")
                started = time.perf_counter()
                answer = window.push_batch(batch, strict=True)
                pushing += time.perf_counter() - started
                parts.append(answer.table.set_column(0, "event", pc.add(answer.table["event"], first)))
                done, changed = first + len(batch), changed + len(answer)
                if pace:
                    time.sleep(max(begun + done / pace - time.perf_counter(), 0))
                if board.is_due(done):
                    rate = done / (time.perf_counter() - begun)
                    figures = f"{done:,} at {rate:,.0f} a second, {changed:,} changes, {window.held:,} in the window"
                    board.show(done, figures, self._lists(window, _SHOWN))
        except BaseException:
            board.close(None)
            raise
        self.steps.seconds["replay"] = time.perf_counter() - begun
        board.close(self.steps.seconds["replay"])
        return pa.concat_tables(parts).unify_dictionaries(), pushing

    def _lists(self, window: Window, most: int) -> list[list[str]]:
        """The best deals of the displayed subscriptions."""
        return [
            [str(wish), *(f"{score:.4f}  {self.known[str(key)]}" for key, score in window.results(wish.id)[:most])]
            for wish in self.watched
        ]

    def _paint(self, window: Window, wishes: Sequence[Wish], deals: Sequence[Deal]) -> None:
        stars = [
            pictures.Star(
                f"{wish.text}\n{wish.near}",
                wish.location,
                [self.known[str(key)].place for key, _ in window.results(wish.id)],
            )
            for wish in self.watched
        ]
        places = [
            pictures.as_points([one.location for one in wishes]),
            pictures.as_points([one.place for one in deals]),
        ]
        left, lower, right, upper = BOUNDS
        land = pictures.as_points([(x, y) for x, y, _ in airfields() if left < x < right and lower < y < upper])
        pictures.draw_window(places[0], places[1], stars, land, self.folder / "window.png")

    def _write(
        self,
        deals: Sequence[Deal],
        wishes: Sequence[Wish],
        changes: pa.Table,
        results: pa.Table,
        summary: WindowSummary,
    ) -> None:
        tables = (orders.table(deals), _records(wishes), changes, results)
        for name, table in zip(PARTS, tables, strict=False):
            pq.write_table(table, self.folder / name)
        (self.folder / "window.json").write_text(json.dumps(asdict(summary), indent=2) + "\n")


def watched(wishes: Sequence[Wish]) -> list[Wish]:
    """Three subscriptions in three cities to display: one favours words, one is in between, one favours place."""
    chosen: list[Wish] = []
    for alpha in (min(orders.ALPHAS), sorted(orders.ALPHAS)[len(orders.ALPHAS) // 2], max(orders.ALPHAS)):
        cities = {one.city for one in chosen}
        chosen += [one for one in wishes if one.alpha == alpha and "," in one.text and one.city not in cities][:1]
    return chosen or list(wishes[:1])


def _records(wishes: Sequence[Wish]) -> pa.Table:
    """The subscriptions in the form that a window takes."""
    return pa.table(
        {
            "id": [wish.id for wish in wishes],
            "text": [wish.text for wish in wishes],
            "location": pa.array([list(wish.location) for wish in wishes], pa.list_(pa.float64())),
            "k": [wish.k for wish in wishes],
            "alpha": [wish.alpha for wish in wishes],
        }
    )


def _warm(wishes: Sequence[Wish], deals: Sequence[Deal]) -> None:
    """Load the kernels before anything is timed: messages come and expire in a window of two."""
    window = Window(size=2, bounds=BOUNDS)
    window.subscribe_many(_records(wishes[:100]))
    window.push_batch(orders.table(deals[:100]).drop_columns("city"))
