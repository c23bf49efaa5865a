"""Bodies that are changed by chance have an answer, and whatever of them is stored can be read."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Final

import pytest

from tests.fuzz.mutating import mutated
from tests.fuzz.targets import SERVED_LINES, served_streams
from tests.service.served import Served, served
from tests.service.test_stored_values import DOORS, fill, require_readable
from tests.sizes import sized

MAY_PASS: Final = (503, 507)
LINES, ARROW = "application/x-ndjson", "application/vnd.apache.arrow.stream"
JSON: Final = ("application/json", "application/merge-patch+json", "application/cloudevents+json")
CLOUD_EVENT: Final = b'{"specversion": "1.0", "id": "i", "source": "s", "type": "t", "data": {"a": 1}}'


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("alerts")) as server:
        fill(server)
        yield server


def documents() -> list[bytes]:
    """Sound documents of all calls, with all their fields, and those that are nearly unsound."""
    least = [f"{{{', '.join(f'{json.dumps(name)}: {text}' for name, text in door.least.items())}}}" for door in DOORS]
    fields = sorted({field for door in DOORS for field in door.fields})
    values = ('"2026-01-31T12:00:00Z"', "3", '["a"]', '{"a": 1}', "1e300", '"\\ud83d\\ude00"')
    odd = [f'{{"{field}": {values[place % len(values)]}, "where": "a = 1"}}' for place, field in enumerate(fields)]
    return [text.encode() for text in (*least, *odd)] + [CLOUD_EVENT, *SERVED_LINES]


@pytest.mark.parametrize("kind", [*JSON, LINES, ARROW])
def test_no_mutated_body_fails_the_server(shared: Served, kind: str) -> None:
    dice, seeds = random.Random(kind), served_streams() if kind == ARROW else documents()
    calls = [(door.method, door.path) for door in DOORS] + [("POST", "/v1/match"), ("PATCH", "/v1/subscriptions/s")]
    for number in range(sized(200, 10_000)):
        body, (method, path) = mutated(dice, seeds), dice.choice(calls)
        answer = shared.client.request(method, path, content=body, headers={"Content-Type": kind})
        assert answer.status_code < 500 or answer.status_code in MAY_PASS, (method, path, body, answer.text)
        if number % 50 == 0:
            require_readable(shared)
    require_readable(shared)
