"""The kind `webhook`: its options, its channel and its metrics."""

from __future__ import annotations

import re
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
from tocsin.service.deliver.webhook.urls import URL_LENGTH, URL_PATTERN, checked_target, checked_url
from tocsin.service.problems import invalid

_HEADERS: Final = {"content-type": "application/json", "user-agent": "tocsin"}
_RESERVED: Final = (
    "webhook-.*|host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|cookie|"
    "content-length|content-encoding|accept-encoding"
)
_MOST_HEADER: Final = 4096
_HEADER: Final = re.compile(rf"[\x20-\x7e]{{0,{_MOST_HEADER}}}")


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
    parts: ClassVar[tuple[str, ...]] = ("body", "headers", "path")
    header_pattern: ClassVar[str] = rf"(?!(?:{_RESERVED})$)[a-z0-9][a-z0-9_-]{{0,63}}"

    def checked(self, record: Mapping[str, Any], *, allow_private: bool) -> dict[str, Any]:
        if "url" not in record:
            raise invalid("url is missing; it is where deliveries are posted", field="url")
        return {"url": checked_url(record["url"], allow_private=allow_private)}

    def checked_secret(self, text: object) -> str:
        return checked_secret(text)

    def new_secret(self) -> str:
        return new_secret()

    def checked_parts(self, parts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Headers are trimmed, and empty ones left out."""
        checked = dict(parts)
        headers = {name: value.strip() for name, value in parts.get("headers", {}).items()}
        for name, value in headers.items():
            if not _HEADER.fullmatch(value):
                detail = f"headers.{name} is {value!r:.80}; a header has at most {_MOST_HEADER:,} characters of ASCII"
                raise invalid(detail, field="template")
        checked["headers"] = {name: value for name, value in headers.items() if value}
        if "path" in parts:
            checked["path"] = checked_target(parts["path"].strip())
        return checked

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
        headers = _HEADERS | message.parts.get("headers", {})
        headers |= signed(message.key, self._now_ms(), message.content, secrets)
        answer = await self._endpoint.post(headers, message.content, message.parts.get("path"))
        return verdict_on(answer, self._now_ms())

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()
