"""Orders as deals: what they say and where they went, who waits for them, and what is best when all are scored."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest

from tests.naive.window import NaiveWindow
from tocsin.demo import orders, scored_again
from tocsin.demo.orders import BOUNDS, Deal, Wish
from tocsin.engine import idf
from tocsin.errors import MissingExtra
from tocsin.language.segmenting import words_of
from tocsin.model.texts import PLAIN

pytest.importorskip("bokeh_sampledata")
pytest.importorskip("zipcodes")


@pytest.fixture(scope="module")
def deals() -> list[Deal]:
    return orders.orders()


def test_every_order_is_a_deal_at_a_place(deals: list[Deal]) -> None:
    """All 9,994, each in the 48 states."""
    left, lower, right, upper = BOUNDS

    assert (len(deals), len({deal.key for deal in deals})) == (9994, 9994)
    assert all(left < deal.place[0] < right and lower < deal.place[1] < upper for deal in deals)
    first = "Bookcases, Furniture, under 500 dollars, Second Class; Henderson, Kentucky"
    assert str(deals[0]) == first
    assert deals[0].place == pytest.approx((-87.6, 37.8), abs=0.2)
    assert deals[3].text == "Tables, Furniture, 45% off, under 500 dollars, Standard Class"


def test_words_are_those_that_the_window_makes(deals: list[Deal]) -> None:
    """The check may cut the texts at what is no letter and no digit, and has the same words."""
    wishes = orders.draw(deals, 500, 1)
    texts = {one.text for one in (*deals, *wishes)}

    assert all(orders.words_of(text) == set(words_of(text, PLAIN)) for text in texts)


def test_a_draw_is_repeated_by_its_seed(deals: list[Deal]) -> None:
    drawn = orders.draw(deals, 300, 7)

    assert drawn == orders.draw(deals, 300, 7) != orders.draw(deals, 300, 8)
    assert {wish.alpha for wish in drawn} == set(orders.ALPHAS)
    assert len({wish.id for wish in drawn}) == 300


def test_scoring_again_is_what_the_oracle_says(deals: list[Deal]) -> None:
    """The demo's own check has the scores of the definition, to the last bit."""
    some = deals[:80]
    weights = idf([{"words": sorted(orders.words_of(deal.text))} for deal in some])
    naive = NaiveWindow(BOUNDS, size=50, weights=weights)
    wishes = orders.draw(some, 20, 3)
    for wish in wishes:
        naive.subscribe(wish.id, orders.words_of(wish.text), wish.location, wish.k, wish.alpha)
    for deal in some:
        naive.push(orders.words_of(deal.text), deal.place, deal.key)

    for wish in wishes:
        assert scored_again.best(wish, some[-50:], weights) == naive.results(wish.id)


def test_without_a_common_word_there_is_no_score(deals: list[Deal]) -> None:
    wish = Wish("w", "Copiers", "Henderson, Kentucky", deals[0].place, 10, 0.5)

    assert scored_again.best(wish, deals[:1], {"copiers": 1.0}) == []


@pytest.mark.parametrize(
    ("changes", "adds_up"),
    [
        (["enter a", "enter b", "exit a"], True),
        (["enter a", "enter b"], False),
        (["enter b", "enter b"], False),
        (["exit a", "enter b"], False),
        ([], False),
    ],
)
def test_changes_add_up_to_the_results(changes: list[str], adds_up: bool) -> None:
    """What entered more often than it left is there, and nothing else."""
    rows = [dict(zip(("kind", "message"), change.split(), strict=True), subscription="s") for change in changes]
    schema = pa.schema([(name, pa.string()) for name in ("kind", "message", "subscription")])
    results = pa.table({"subscription": ["s"], "message": ["b"]})

    assert scored_again.played_back(pa.Table.from_pylist(rows, schema), results) is adds_up


@pytest.mark.parametrize("package", ["bokeh_sampledata", "zipcodes"])
def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    find = orders.importlib.util.find_spec
    monkeypatch.setattr(orders.importlib.util, "find_spec", lambda name: None if name == package else find(name))
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(MissingExtra, match=rf"{package}.*pip install 'tocsin\[demo\]'"):
        orders.orders(1)
