"""Tell each user of each offer once, and again only when the price has fallen."""

import json

import tocsin

SCHEMA = {"price": "number"}

engine = tocsin.Engine()
for error in engine.subscribe_many("alerts.jsonl").errors:
    print(f"not accepted: {error.id}: {error.reason.splitlines()[0]}")

told: dict[tuple[str, str], float] = {}  # the price that a user was told of, by user and offer


def tell(path: str) -> None:
    """Match a file of offers and print what is new to whom."""
    answer = engine.match_batch(path, schema=SCHEMA, payload=True)
    for error in answer.errors:
        print(f"{path}, row {error.row}, {error.field}: {error.reason}")
    for offer, matches in answer.documents(path, schema=SCHEMA):
        price = offer["price"]
        alerts: dict[str, list[str]] = {}
        for match in matches:
            alerts.setdefault(json.loads(match["payload"])["user"], []).append(match["subscription"])
        for user, ids in alerts.items():
            known = told.get((user, offer["sku"]))
            if price is None:
                print(f"{path}: ask for the price of {offer['sku']} before {user} is told, by {', '.join(ids)}")
            elif known is None or price < known:
                told[user, offer["sku"]] = price
                print(f"{path}: tell {user} of {offer['sku']} for {price:g}, by {', '.join(ids)}")


tell("monday.csv")
tell("tuesday.csv")
