"""Rules of other systems, mutated: values change places, come, go and change their kind.

An input is the name of a dialect, a space, and a rule: text for SQL, and JSON for the others.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

from scripts.dialect_pages import FOLDER, rows

from tests.fuzz.mutating import mutated
from tests.language.dialects import (
    test_elasticsearch,
    test_eventbridge,
    test_json_rules_engine,
    test_mongodb,
    test_sigma,
)
from tests.language.dialects.sigma_correlation_rules import KINDS, RANKED, documents
from tocsin import explain, match, parse, to_text
from tocsin.language.dialects import DIALECTS
from tocsin.language.dialects.table import tree_of
from tocsin.language.operators.over_time import key_of

ODD: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 3, 1.5, 1e308, 2**60, "", "x", "a.b", "a..b", ".", "*", "\\", "(", "\ud800"),
    *("2024-06-01", [], [[]], [["x"]], {}, {"x": 1}, {"": None}, [None], [1, "x"], "1", "true", {"$date": 1}),
)
TESTED: Final = {
    "elasticsearch": test_elasticsearch.CASES,
    "eventbridge": test_eventbridge.CASES,
    "json-rules-engine": test_json_rules_engine.CASES,
    "mongodb": test_mongodb.CASES,
    "sigma": test_sigma.CASES,
}
EVENTS: Final = [{"a": 1, "detail": {"state": "x"}, "items": [{"price": 5}]}, {"place": [1.5, 1.5], "a": ["x", None]}]


def rule_seeds() -> list[bytes]:
    """The rules that the pages about other systems show, and those of tests."""
    shown = [
        f"{dialect} {row.rule}" for dialect in DIALECTS for row in rows((FOLDER / f"{dialect}.md").read_text("utf-8"))
    ]
    tested = [f"{dialect} {json.dumps(case[0])}" for dialect, cases in TESTED.items() for case in cases]
    correlations = [documents(random.Random(number), KINDS + RANKED) for number in range(20)]
    nested = [f"sigma {json.dumps({**first, 'rules': others})}" for first, *others in correlations]
    return [text.encode() for text in (*shown, *tested, *nested)]


def mutated_rule(dice: random.Random, inputs: Sequence[bytes]) -> bytes:
    """Another rule of the same dialect."""
    dialect, _, text = dice.choice(inputs).partition(b" ")
    of_dialect = [rule for name, _, rule in (one.partition(b" ") for one in inputs) if name == dialect]
    if dialect == b"sql":
        return b"sql " + mutated(dice, of_dialect)
    rule = [json.loads(text)]
    for _ in range(dice.choice((1, 1, 2, 3))):
        holder, key = dice.choice(list(_places(rule)))
        _change(dice, holder, key, json.loads(dice.choice(of_dialect)))
    return dialect + b" " + json.dumps(rule[0]).encode()


def _change(dice: random.Random, holder: Any, key: Any, other: Any) -> None:
    """Change one value of a rule, perhaps for a part of another rule."""
    kind = dice.randrange(6)
    if kind == 0 and isinstance(holder, dict):
        name = dice.choice([name for inner, name in _places([other]) if isinstance(inner, dict)] or ["x"])
        holder[name] = holder.pop(key)
    elif kind == 1 and isinstance(holder, dict):
        del holder[key]
    elif kind == 2:
        inner, name = dice.choice(list(_places([other])))
        holder[key] = copy.deepcopy(inner[name])
    elif kind == 3:
        holder[key] = [holder[key]] if dice.random() < 0.5 else {dice.choice(("x", "$eq", "query")): holder[key]}
    else:
        holder[key] = copy.deepcopy(dice.choice(ODD))


def _places(holder: Any) -> Iterator[tuple[Any, Any]]:
    """Every value inside a list, as its holder and its key."""
    for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
        yield holder, key
        if isinstance(value, dict | list):
            yield from _places(value)


def decoded(text: str) -> Any:
    """The JSON of a text, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def try_rule(data: bytes) -> None:
    """A rule is read or refused, is the same when it is written as CQL2, and leaves other rules alone."""
    dialect, _, text = data.decode("utf-8", "surrogateescape").partition(" ")
    rule = decoded(text) if dialect != "sql" else text
    record = {"id": "tried", "where": rule, "language": dialect}
    if '"correlation"' not in text:  # whose conditions are about several events
        answer = match([{"id": "other", "where": "a = 1"}, record], EVENTS)
        assert "other" in [row["subscription"] for row in answer]
    tree = tree_of(rule, DIALECTS[dialect]).tree
    assert to_text(parse(to_text(tree))) == to_text(tree)
    if key_of(tree):
        return
    matched = {row["event"] for row in answer if row["subscription"] == "tried"}
    assert matched == {place for place, event in enumerate(EVENTS) if explain(record, event).matched}
