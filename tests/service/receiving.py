"""A receiver in a process of its own: writes what comes to a file, and starts again whenever the server is gone.

python -m tests.service.receiving pull|stream ADDRESS DESTINATION FILE
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any, TextIO

import httpx

from tests.service.served import events_of
from tests.waiting import HANG_S


def pulled(client: httpx.Client, name: str) -> Iterator[dict[str, Any]]:
    """Deliveries that are acknowledged once they are written."""
    while True:
        answer = client.get(f"/v1/destinations/{name}/deliveries", params={"wait": 2})
        answer.raise_for_status()
        found = answer.json()["deliveries"]
        yield from found
        if found:
            client.post(f"/v1/destinations/{name}/ack", json={"sequence": found[-1]["sequence"]}).raise_for_status()


def streamed(client: httpx.Client, name: str, last: list[str]) -> Iterator[dict[str, Any]]:
    """Deliveries of a stream that goes on after the last one."""
    headers = {"Last-Event-ID": last[0]} if last[0] else {}
    with client.stream("GET", f"/v1/destinations/{name}/stream?from=earliest", headers=headers) as response:
        response.raise_for_status()
        for one in events_of(response):
            if one.kind != "open":
                yield one.data
            last[0] = one.id


def receive(kind: str, client: httpx.Client, name: str, out: TextIO) -> None:
    last = [""]
    while True:
        try:
            for one in pulled(client, name) if kind == "pull" else streamed(client, name, last):
                out.write(json.dumps(one) + "\n")
                out.flush()
        except httpx.HTTPError:
            time.sleep(0.05)


if __name__ == "__main__":
    _, what, address, destination, file = sys.argv
    with httpx.Client(base_url=address, timeout=HANG_S, trust_env=False) as http, open(file, "w") as stream:  # noqa: PTH123
        receive(what, http, destination, stream)
