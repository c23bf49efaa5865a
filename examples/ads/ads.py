"""Serve the two best ads of each request: by bid, one an advertiser, while the budget lasts."""

import json

import tocsin

engine = tocsin.Engine()
engine.subscribe_many("ads.jsonl")
budgets = {"shoes": 2.0, "opera": 10.0, "phones": 10.0, "us": float("inf")}


def serve(request: dict[str, object], places: int = 2) -> list[tuple[str, float]]:
    """The ads to show, with what each pays."""
    served: dict[str, tuple[str, float]] = {}
    for ad in engine.match(request, ranking=tocsin.Top(4 * places), payload=True):
        advertiser = ad.payload["advertiser"]
        if advertiser not in served and len(served) < places:
            served[advertiser] = (str(ad.subscription), ad.score)
            budgets[advertiser] -= ad.score
            if budgets[advertiser] < ad.score:
                engine.unsubscribe(ad.subscription)  # the next request does not see it
    return list(served.values())


with open("requests.jsonl", encoding="utf-8") as file:
    for line in file:
        print(serve(json.loads(line)))

engine.rescore("opera", 1.5)  # a new bid
print(serve({"age": 51, "interests": ["music"], "hour": 21, "device": "ios"}))
print(engine.explain("opera", {"age": 51, "interests": ["music"], "hour": 23}))
