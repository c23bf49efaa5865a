"""Clients of the service, for programs that block and for those that await.

`calls` says what each call sends and how its answer is read, `sending` what is sent again. httpx is imported when a
client is made.
"""

from tocsin.client.asynchronous import AsyncClient
from tocsin.client.calls import Delivery, Published
from tocsin.client.client import Client

__all__ = ["AsyncClient", "Client", "Delivery", "Published"]
