"""Clients of the service, for programs that block and for those that await.

`calls`, `delivery_calls` and `window_calls` say what each call sends and how its answer is read. `conversations` has
the calls of several requests, and `sending` says what is sent again. httpx is imported when a client is made.
"""

from tocsin.client.asynchronous.client import AsyncClient
from tocsin.client.asynchronous.hosting import AsyncServedWindow
from tocsin.client.calls import Published
from tocsin.client.delivery_calls import DeliveredChange, Delivery
from tocsin.client.synchronous.client import Client
from tocsin.client.synchronous.hosting import ServedWindow
from tocsin.client.window_calls import Pushed

__all__ = [
    "AsyncClient",
    "AsyncServedWindow",
    "Client",
    "DeliveredChange",
    "Delivery",
    "Published",
    "Pushed",
    "ServedWindow",
]
