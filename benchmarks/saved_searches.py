"""A job that people have: 100,000 saved searches over a CSV of 50,000 offers, by the command line, from end to end.

The searches are JSON lines of mixed kinds, and the CSV is dirty: prices with a currency, missing ratings, short rows.
DuckDB and a loop in Python answer a sample of the same searches, each in its own words. Their times are extrapolated,
which favours them: they read the files once and build nothing. Their matches are compared with tocsin's.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow.csv import read_csv

from benchmarks.rows import Row

OFFERS = 50_000
COLUMNS = ("sku", "brand", "category", "seller", "title", "price", "rating", "listed")
BRANDS = tuple(
    f"{first}{last}" for first in ("Ac", "Bel", "Cor", "Del", "Els") for last in ("ma", "tra", "on", "ix", "or")
)
CATEGORIES = tuple(f"category {number}" for number in range(400))
SELLERS = tuple(f"Shop {number}" for number in range(2_000))
WORDS = tuple(f"word{number}" for number in range(3_000))
SAMPLED_BY_DUCKDB, SAMPLED_BY_PYTHON = 200, 100

Offer = dict[str, Any]


class Search(NamedTuple):
    """One saved search in three languages."""

    cql: str
    sql: str
    holds: Callable[[Offer], bool]


def offers(count: int, seed: int = 3) -> Iterator[dict[str, str]]:
    """Rows of the CSV as texts; 1 price in 100 has a currency, 1 rating in 30 is missing, 1 row in 1,000 is short."""
    draw = np.random.default_rng(seed)
    brands, categories = _skewed(draw, len(BRANDS), count), _skewed(draw, len(CATEGORIES), count)
    words = _skewed(draw, len(WORDS), (count, 7))
    prices, ratings = draw.lognormal(4, 1, count), draw.integers(10, 51, count) / 10
    sellers, days = draw.integers(0, len(SELLERS), count), draw.integers(1, 29, count)
    for i in range(count):
        row = {
            "sku": f"o{i:06d}",
            "brand": BRANDS[brands[i]],
            "category": CATEGORIES[categories[i]],
            "seller": SELLERS[sellers[i]].upper() if i % 5 == 0 else SELLERS[sellers[i]],
            "title": " ".join(WORDS[word] for word in words[i]),
            "price": f"${prices[i]:.2f}" if i % 100 == 7 else f"{prices[i]:.2f}",
            "rating": "N/A" if i % 30 == 1 else f"{ratings[i]}",
            "listed": f"2026-05-{days[i]:02d}",
        }
        yield dict(list(row.items())[:5]) if i % 1000 == 9 else row


def searches(count: int, seed: int = 5) -> Iterator[Search]:
    """Saved searches of six kinds; limits on prices are what the cheapest tenth costs, or less."""
    draw = np.random.default_rng(seed)
    brands, categories = _skewed(draw, len(BRANDS), count), _skewed(draw, len(CATEGORIES), count)
    words, sellers = _skewed(draw, len(WORDS), (count, 2)), draw.integers(0, len(SELLERS), count)
    limits, kinds = np.round(draw.uniform(3, 16, count), 2), draw.integers(0, 100, count)
    for i in range(count):
        drawn = (BRANDS[brands[i]], CATEGORIES[categories[i]], SELLERS[sellers[i]], float(limits[i]))
        yield _search(int(kinds[i]), *drawn, WORDS[words[i, 0]], WORDS[words[i, 1]])


def _search(kind: int, brand: str, category: str, seller: str, limit: float, one: str, two: str) -> Search:
    if kind < 35:
        text = f"category = '{category}' AND price <= {limit}"
        return Search(text, text, lambda row: row["category"] == category and _under(row, limit))
    if kind < 55:
        text = f"brand IN ('{brand}', 'Acma') AND category = '{category}' AND price BETWEEN 1 AND {4 * limit}"
        return Search(
            text, text,
            lambda row: row["brand"] in (brand, "Acma") and row["category"] == category and _under(row, 4 * limit, 1),
        )  # fmt: skip
    if kind < 75:
        words = " AND ".join(f"list_contains(words, '{word}')" for word in (one, two))
        return Search(
            f"TEXT(title, '{one} {two}') AND price <= {10 * limit}",
            f"{words} AND price <= {10 * limit}",
            lambda row: one in row["words"] and two in row["words"] and _under(row, 10 * limit),
        )
    if kind < 85:
        return Search(
            f"CASEI(seller) = CASEI('{seller}') AND price <= {3 * limit}",
            f"lower(seller) = lower('{seller}') AND price <= {3 * limit}",
            lambda row: row["seller"].lower() == seller.lower() and _under(row, 3 * limit),
        )
    if kind < 95:
        text = f"listed >= DATE('2026-05-20') AND brand = '{brand}' AND price <= {limit / 2}"
        sql = text.replace("DATE('2026-05-20')", "DATE '2026-05-20'")
        return Search(
            text, sql,
            lambda row: (row["listed"] or "") >= "2026-05-20" and row["brand"] == brand and _under(row, limit / 2),
        )  # fmt: skip
    text = f"(rating >= 4.8 OR brand = '{brand}') AND category = '{category}' AND NOT (price > {2 * limit})"
    return Search(
        text, text,
        lambda row: ((row["rating"] or 0) >= 4.8 or row["brand"] == brand)
        and row["category"] == category and _under(row, 2 * limit),
    )  # fmt: skip


def _under(row: Offer, limit: float, least: float = 0.0) -> bool:
    price = row["price"]
    return price is not None and least <= price <= limit


def rows(subscriptions: int) -> Iterator[Row]:
    """The commands with their start, their reading and their writing; then what others need for the same answers."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, subscriptions)
        match = ["match", "searches.jsonl", "offers.csv", "--schema", "price:number", "--no-warnings"]
        _run(folder, [*match, "--out", "matches.csv"])  # loads the kernels into the page cache
        taken = _run(folder, [*match, "--out", "matches.csv"])
        found = read_csv(folder / "matches.csv")
        yield Row(
            "searches", "csv", "tocsin match", *taken, f"{len(found):,} matches of {OFFERS:,} offers, texts to CSV"
        )
        yield Row(
            "searches", "csv", "tocsin compile", *_run(folder, ["compile", "searches.jsonl", "index"]), "the index"
        )
        taken = _run(folder, ["match", "index", *match[2:], "--out", "matches.csv"])
        yield Row("searches", "csv", "tocsin match index", *taken, f"{OFFERS / taken[0]:,.0f} offers/s")
        yield from _others(folder, list(searches(subscriptions)), found)


def _write(folder: Path, subscriptions: int) -> None:
    with (folder / "searches.jsonl").open("w", encoding="utf-8") as file:
        for number, search in enumerate(searches(subscriptions)):
            record = {"id": f"s{number}", "where": search.cql, "score": number % 10, "payload": {"user": number // 3}}
            file.write(json.dumps(record) + "\n")
    with (folder / "offers.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(row.values() for row in offers(OFFERS))


def _run(folder: Path, arguments: list[str]) -> tuple[float, str]:
    """Wall seconds of a command of tocsin."""
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "tocsin", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr[-2000:]
    return time.perf_counter() - begun, "s"


def _others(folder: Path, asked: list[Search], found: pa.Table) -> Iterator[Row]:
    """DuckDB with a query for each search, and a loop over offers and searches in Python."""
    import duckdb

    read = (
        "CREATE TABLE offers AS SELECT sku, brand, category, seller, string_split(title, ' ') AS words, "
        "try_cast(price AS DOUBLE) AS price, try_cast(rating AS DOUBLE) AS rating, try_cast(listed AS DATE) AS listed "
        "FROM read_csv(?, all_varchar = true, null_padding = true)"
    )
    with duckdb.connect(config={"threads": os.cpu_count()}) as database:
        database.execute(read, [str(folder / "offers.csv")])
        numbers = range(0, len(asked), max(1, len(asked) // SAMPLED_BY_DUCKDB))
        begun = time.perf_counter()
        counts = [len(database.execute(f"SELECT sku FROM offers WHERE {asked[i].sql}").fetchall()) for i in numbers]
        seconds = (time.perf_counter() - begun) * len(asked) / len(counts)
    ours = Counter(found["subscription"].to_pylist())
    assert counts == [ours[f"s{number}"] for number in numbers]
    note = f"a query each: {len(counts)} run, with the same {sum(counts):,} matches; extrapolated"
    yield Row("searches", "csv", "DuckDB", seconds, "s", note)
    places = range(0, OFFERS, OFFERS // SAMPLED_BY_PYTHON)
    every = [_typed(row) for row in offers(OFFERS)]
    begun = time.perf_counter()
    counts = [sum(one.holds(every[place]) for one in asked) for place in places]
    seconds = (time.perf_counter() - begun) * OFFERS / len(counts)
    ours = Counter(found["event"].to_pylist())
    assert counts == [ours[place] for place in places]
    note = f"{len(counts)} offers run, with the same {sum(counts):,} matches; extrapolated"
    yield Row("searches", "csv", "a loop in Python", seconds, "s", note)


def _typed(row: dict[str, str]) -> Offer:
    def number(text: str | None) -> float | None:
        try:
            return float(text or "")
        except ValueError:
            return None

    short = {name: row.get(name) for name in COLUMNS}
    words = set((short["title"] or "").split())
    return {**short, "words": words, "price": number(short["price"]), "rating": number(short["rating"])}


def _skewed(draw: np.random.Generator, kinds: int, shape: int | tuple[int, int]) -> np.ndarray:
    """Numbers below `kinds`, of which the lower ones come more often."""
    return (kinds * draw.random(shape) ** 2).astype(np.int64)
