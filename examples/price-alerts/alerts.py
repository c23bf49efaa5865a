"""Tell each user of each offer once: by their best alert, and again only when the price has fallen."""

import csv
import json

import tocsin

engine = tocsin.Engine(texts={"title": "text"})
for error in engine.subscribe_many("alerts.jsonl").errors:
    print(f"not accepted: {error.id}: {error.reason.splitlines()[0]}")

told: dict[tuple[str, str], float] = {}  # the price that a user was told of, by user and offer


def tell(path: str) -> None:
    """Match a file of offers and print what is new to whom."""
    answer = engine.match_batch(
        path, schema={"price": "number"}, event_key="sku", ranking=tocsin.Top(100), payload=True
    )
    for error in answer.errors:
        print(f"{path}, row {error.row}, {error.field}: {error.reason}")
    with open(path, newline="", encoding="utf-8") as file:
        offers = list(csv.DictReader(file))
    for match in answer:  # in the order of the offers; of each offer the alert with the best score first
        user = json.loads(match["payload"])["user"]
        price = float(offers[match["event"]]["price"])
        known = told.get((user, match["event_key"]))
        if known is None or price < known:
            told[user, match["event_key"]] = price
            print(f"{path}: tell {user} of {match['event_key']} for {price:g}, by {match['subscription']}")


tell("monday.csv")
tell("tuesday.csv")
