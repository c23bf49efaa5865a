"""Pulling deliveries, and acknowledging them with a durable cursor."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

from starlette.responses import Response

from tocsin.service.api import LIMIT, MOST_PAGE, Call, Exchange, Option, answered, raw
from tocsin.service.calls.destinations import PATH
from tocsin.service.changes import Acknowledge
from tocsin.service.directory import Destination
from tocsin.service.hub import Told
from tocsin.service.names import MOST_NUMBER, only, present, whole
from tocsin.service.outbox import further_parts
from tocsin.service.principals import READ, SUBSCRIBE
from tocsin.service.problems import Problem, conflict, invalid, unknown

_MOST_WAIT_S: Final = 60.0


def require_kept(one: Destination, after: int) -> None:
    """Raise a `Problem` if deliveries after a number are gone, or there are none so far."""
    if after + 1 < one.earliest:
        detail = f"the deliveries before {one.earliest} are not kept any more; go on after {one.earliest - 1}"
        raise Problem(410, "gone", detail, earliest=one.earliest)
    if after > one.newest:
        raise conflict(f"the newest delivery is {one.newest}", newest=one.newest)


async def pull(exchange: Exchange) -> Response:
    service, asked = exchange.service, exchange.asked
    target = service.destination(exchange.principal, exchange.part("id"))
    limit, wait = asked.number("limit", 100, 1, MOST_PAGE), asked.seconds("wait", _MOST_WAIT_S)
    after = asked.number("after", target.acknowledged, 0, MOST_NUMBER)
    _require_epoch(exchange, target, asked.text("epoch"))
    found = await _awaited(exchange, target, after, limit, wait)
    head = (
        f'{{"epoch":"{service.directory.epoch(target)}","earliest":{target.earliest},"newest":{target.newest},'
        f'"acknowledged":{target.acknowledged},"deliveries":['
    )
    return raw(head.encode() + b",".join(one.document for one in found) + b"]}")


def _require_epoch(exchange: Exchange, target: Destination, epoch: object) -> None:
    now = exchange.service.directory.epoch(target)
    if epoch is not None and epoch != now:
        detail = f"the numbers are of another history, such as before a restore; this one is {now}"
        raise Problem(410, "gone", detail, epoch=now, earliest=target.earliest)


async def _awaited(exchange: Exchange, target: Destination, after: int, limit: int, wait: float) -> list[Told]:
    """The deliveries after a number; waits for the first one."""
    service = exchange.service
    require_kept(target, after)
    found = await service.hub.after(target, after, limit)
    if found or not wait:
        return _dense(target, found, after)
    service.quotas.streams(service.streams + service.polls)
    woken, clock = asyncio.Event(), asyncio.get_running_loop().time() + wait
    service.hub.watch([target], woken)
    service.polls += 1
    leaving = asyncio.create_task(_leaving(exchange, woken))
    try:
        while not (found or service.hub.is_stopping or leaving.done()):
            try:
                async with asyncio.timeout_at(clock):
                    if target.newest <= after and not leaving.done():
                        await woken.wait()
            except TimeoutError:
                break
            woken.clear()
            exchange.confirm()
            if target.number not in service.directory.destinations:
                raise unknown("destination", target.id)
            found = await service.hub.after(target, after, limit)
    finally:
        leaving.cancel()
        service.polls -= 1
        service.hub.leave([target], woken)
    return _dense(target, found, after)


async def _leaving(exchange: Exchange, woken: asyncio.Event) -> None:
    """End when the client is gone, so that nobody waits for it."""
    while (await exchange.request.receive())["type"] != "http.disconnect":
        pass
    woken.set()


def _dense(target: Destination, found: list[Told], after: int) -> list[Told]:
    """What was read, unless its beginning was deleted meanwhile."""
    if found and found[0].sequence != after + 1:
        require_kept(target, after)
    return found


async def acknowledge(exchange: Exchange) -> Response:
    service = exchange.service
    target = service.destination(exchange.principal, exchange.part("id"))
    if service.outlets.of(target) is not None:
        raise conflict("the service sends to this destination, and moves its cursor; a replay moves it back")
    record = await exchange.document()
    only(record, frozenset(("sequence", "epoch")), "acknowledgement")
    record = present(record)
    if "sequence" not in record:
        raise invalid("sequence is missing", field="sequence")
    number = whole(record["sequence"], "sequence", 0, MOST_NUMBER)
    if not isinstance(record.get("epoch", ""), str):
        raise invalid("epoch is the name of a history, as deliveries have it", field="epoch")
    if "epoch" in record and record["epoch"] != service.directory.epoch(target):
        raise conflict("the sequence is of another history", epoch=service.directory.epoch(target))
    done: int = await service.commit(Acknowledge(service.directory, target, number))
    return answered({"acknowledged": done, "newest": target.newest})


def delivery_number(exchange: Exchange, what: str) -> int:
    """The number of a delivery in a path."""
    text = exchange.part("sequence")
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise unknown(what, text)
    return int(text)


async def more(exchange: Exchange) -> Response:
    """Further subscriptions of a delivery that has many."""
    service = exchange.service
    target = service.destination(exchange.principal, exchange.part("id"))
    number, part = delivery_number(exchange, "delivery"), exchange.asked.number("part", 1, 0, MOST_NUMBER)
    values = (target.number, number)
    first = "SELECT subscriptions, count, parts FROM service_deliveries WHERE destination = ? AND sequence = ?"
    others = "SELECT subscriptions FROM service_more WHERE destination = ? AND sequence = ? AND part = ?"
    head, own = await service.readers.read(
        lambda one: (one.execute(first, values).fetchone(), one.execute(others, (*values, part)).fetchone())
    )
    if head is None or (own is None and part):
        raise unknown("delivery", number)
    document: dict[str, Any] = {"count": head[1], "part": part}
    if part < further_parts(head[1], head[2]):
        document["next"] = part + 1
    opening = json.dumps(document)[:-1]
    return raw(f'{opening}, "subscriptions": {(head if own is None else own)[0]}}}'.encode())


_WAIT: Final = Option(
    "wait", "seconds to wait for the first delivery", {"type": "number", "minimum": 0, "maximum": _MOST_WAIT_S}
)
_NUMBER: Final = {"type": "integer", "minimum": 0}
CALLS: Final = (
    Call(
        "GET", f"{PATH}/{{id}}/deliveries", pull, READ, "The deliveries after a number (default: the cursor)",
        (
            Option("after", "the number before the first one", _NUMBER),
            LIMIT,
            _WAIT,
            Option("epoch", "the history that `after` is of; 410 if there is another one"),
        ),
        gives="Deliveries", problems=(400, 404, 409, 410, 429),
    ),
    Call(
        "POST", f"{PATH}/{{id}}/ack", acknowledge, SUBSCRIBE, "Move the cursor: all up to a number are done",
        takes={"application/json": "Acknowledgement"}, gives="Acknowledged",
        problems=(400, 404, 409, 413, 415, 422, 507),
    ),
    Call(
        "GET", f"{PATH}/{{id}}/deliveries/{{sequence}}/subscriptions", more, READ,
        "Further subscriptions of a delivery", (Option("part", "which part, from 1", _NUMBER),),
        gives="More", problems=(400, 404),
    ),
)  # fmt: skip
