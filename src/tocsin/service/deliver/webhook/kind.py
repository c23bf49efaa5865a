"""The kind `webhook`: its options, its channel and its metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from tocsin.service.deliver.encryption import Secret
from tocsin.service.deliver.protocols import Channel, Counts, Message, Schema, Sending, Surroundings
from tocsin.service.deliver.verdict import Verdict
from tocsin.service.deliver.webhook.answers import verdict_on
from tocsin.service.deliver.webhook.endpoint import Endpoint
from tocsin.service.deliver.webhook.requests import REQUESTS
from tocsin.service.deliver.webhook.signing import SECRET_PATTERN, checked_secret, new_secret, signed
from tocsin.service.deliver.webhook.urls import URL_LENGTH, URL_PATTERN, checked_url
from tocsin.service.problems import invalid

_HEADERS: Final = {"content-type": "application/json", "user-agent": "tocsin"}


class Webhook(Sending):
    """Destinations to which the service posts."""

    name: ClassVar[str] = "webhook"
    about: ClassVar[str] = "the service posts to a URL"
    members: ClassVar[Mapping[str, Schema]] = {
        "url": {
            "type": "string",
            "pattern": URL_PATTERN,
            "maxLength": URL_LENGTH,
            "description": "Where deliveries are posted: http or https",
        },
        "secret": {
            "type": "string",
            "pattern": SECRET_PATTERN,
            "description": "whsec_ and base64; one is made, and shown once, if there is none",
        },
    }
    required: ClassVar[tuple[str, ...]] = ("url",)
    secret: ClassVar[str | None] = "secret"
    rotates: ClassVar[bool] = True

    def checked(self, record: Mapping[str, Any], *, allow_private: bool) -> dict[str, Any]:
        if "url" not in record:
            raise invalid("url is missing; it is where deliveries are posted", field="url")
        return {"url": checked_url(record["url"], allow_private=allow_private)}

    def checked_secret(self, text: object) -> str:
        return checked_secret(text)

    def new_secret(self) -> str:
        return new_secret()

    def channel(self, options: Mapping[str, Any], around: Surroundings) -> Channel:
        return _Posts(options["url"], around)

    def status_text(self, status: int | None) -> str:
        return f" with HTTP {status}"

    def metrics(self, counts: Counts) -> Iterator[Any]:
        """The metrics of webhooks under the names that they had before there were other kinds."""
        attempts = CounterMetricFamily(
            "tocsin_webhook_attempts", "Requests of webhooks, by outcome", labels=["outcome"]
        )
        for outcome, count in sorted(counts.attempts.items()):
            attempts.add_metric([outcome], count)
        yield attempts
        about = "How often a webhook was disabled because it failed"
        yield CounterMetricFamily("tocsin_webhooks_disabled", about, value=counts.disabled)
        states = GaugeMetricFamily("tocsin_webhooks", "Webhooks, by state", labels=["state"])
        for state, count in counts.states.items():
            states.add_metric([state], count)
        yield states

    def requests(self) -> Mapping[str, Any]:
        return REQUESTS


class _Posts:
    """The channel of a webhook: signed requests to one URL."""

    def __init__(self, url: str, around: Surroundings) -> None:
        self._now_ms = around.now_ms
        self._endpoint = Endpoint(url, around.resolver, allow_private=around.allow_private, context=around.context)

    async def send(self, message: Message, secrets: Sequence[Secret]) -> Verdict:
        """Post a message; raises `Unreachable`."""
        headers = signed(message.key, self._now_ms(), message.body, secrets) | _HEADERS
        return verdict_on(await self._endpoint.post(headers, message.body), self._now_ms())

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()
