"""Brokers of MQTT 5: a connection, which a thread of paho serves, and messages that it acknowledges."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from tocsin.errors import needing
from tocsin.service.deliver.encryption import Secret
from tocsin.service.deliver.hosts import Host
from tocsin.service.deliver.protocols import Message, Surroundings
from tocsin.service.deliver.resolver import Unreachable
from tocsin.service.deliver.verdict import DELIVERED, FAILED, REFUSED, Verdict, shown

if TYPE_CHECKING:
    from paho.mqtt.properties import Properties
    from paho.mqtt.reasoncodes import ReasonCode

TLS, NONE = "tls", "none"
"""How a connection is encrypted."""
TIMEOUT_S: Final = 15.0
_KEEP_ALIVE_S: Final = 60
_AT_LEAST_ONCE: Final = 1
_OF_MESSAGE: Final = frozenset((0x80, 0x83, 0x90, 0x99))
"""Reasons that are about a message: unspecified, of the broker's own, its topic, and its payload."""


class Topic:
    """The channel of a destination of kind `mqtt`. All messages share a connection."""

    def __init__(self, host: Host, options: Mapping[str, Any], around: Surroundings) -> None:
        self._host, self._options, self._around = host, options, around
        self._connection: _Connection | None = None
        self._connecting = asyncio.Lock()

    async def send(self, message: Message, secrets: Sequence[Secret]) -> Verdict:
        """Publish a message, and wait until the broker has it; raises `Unreachable`."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                connection = await self._connected(secrets)
                if isinstance(connection, Verdict):
                    return connection
                code = await connection.published(message, self._options)
        except TimeoutError:
            await self.close()  # the broker may be gone without a word
            raise Unreachable(f"there was no answer within {TIMEOUT_S:g} s") from None
        return _verdict(code)

    async def _connected(self, secrets: Sequence[Secret]) -> _Connection | Verdict:
        """The connection, which may be a new one; or why the broker refuses it."""
        async with self._connecting:
            if self._connection is not None and self._connection.is_open:
                return self._connection
            await self.close()
            # The socket shows that the address answers, so that the thread does not wait for it.
            probe = await self._around.resolver.connected(self._host, allow_private=self._around.allow_private)
            address = probe.getpeername()[0]
            probe.close()
            connection = _Connection(self._options, secrets, self._around)
            self._connection = connection
            code = await connection.opened(address, self._host.port)
            if code.is_failure:
                await self.close()
                return Verdict(FAILED, shown(f"the broker refuses the connection: {code}"), code.value)
            return connection

    async def close(self) -> None:
        """End the connection, and its thread."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class _Connection:
    """A connection. Its thread tells the event loop what the broker answers."""

    def __init__(self, options: Mapping[str, Any], secrets: Sequence[Secret], around: Surroundings) -> None:
        with needing("mqtt"):
            import paho.mqtt.client as paho
            from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
        self._loop = asyncio.get_running_loop()
        self._opening: asyncio.Future[ReasonCode] = self._loop.create_future()
        self._pending: dict[int, asyncio.Future[ReasonCode]] = {}
        self._client = client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=options.get("client_id", ""),
            protocol=MQTTProtocolVersion.MQTTv5,
            reconnect_on_failure=False,
        )
        if (user := options.get("user")) is not None:
            client.username_pw_set(user, secrets[0].text if secrets else None)
        if options["tls"] == TLS:
            client.tls_set_context(cast(ssl.SSLContext, _Named(around.tls, options["host"])))
        client.on_connect = lambda client, data, flags, code, properties: self._tell(self._answered, code)
        client.on_connect_fail = lambda client, data: self._tell(self._lost, str(sys.exc_info()[1]))
        client.on_disconnect = lambda client, data, flags, code, properties: self._tell(self._lost, str(code))
        client.on_publish = lambda client, data, number, code, properties: self._tell(self._taken, number, code)

    @property
    def is_open(self) -> bool:
        """Whether messages can be published."""
        return self._client.is_connected()

    async def opened(self, address: str, port: int) -> ReasonCode:
        """Connect to an address; returns what the broker says."""
        self._client.connect_async(address, port, _KEEP_ALIVE_S)
        self._client.loop_start()
        return await self._opening

    async def published(self, message: Message, options: Mapping[str, Any]) -> ReasonCode:
        """Publish a message; returns what the broker says."""
        sent = self._client.publish(
            message.parts.get("topic", options["topic"]),
            message.content,
            _AT_LEAST_ONCE,
            bool(options.get("retain")),
            properties=_properties(message),
        )
        if sent.rc:
            raise Unreachable("the connection was lost")
        # The thread tells of an answer through the event loop, so this is in time.
        answer: asyncio.Future[ReasonCode] = self._loop.create_future()
        self._pending[sent.mid] = answer
        try:
            return await answer
        finally:
            self._pending.pop(sent.mid, None)

    def close(self) -> None:
        """Say goodbye. The thread ends by itself, and nobody waits for it."""
        self._client.disconnect()
        self._lost("it was closed")

    # Called by the thread of the connection, which hands over to the event loop

    def _tell(self, call: Any, *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(call, *arguments)

    def _answered(self, code: ReasonCode) -> None:
        if not self._opening.done():
            self._opening.set_result(code)

    def _taken(self, number: int, code: ReasonCode) -> None:
        answer = self._pending.get(number)
        if answer is not None and not answer.done():
            answer.set_result(code)

    def _lost(self, reason: str) -> None:
        """Nothing more comes. paho would try a first connection again; the sender of the destination does that."""
        for waiting in (self._opening, *self._pending.values()):
            if not waiting.done():
                waiting.set_exception(Unreachable(f"the connection failed: {reason}"))
        if self._opening.done() and not self._opening.cancelled():
            self._opening.exception()  # it was looked at, also if nobody waits
        self._client.disconnect()


class _Named:
    """Certificates that are checked for the name of a host, while the connection goes to its address."""

    check_hostname = True

    def __init__(self, context: ssl.SSLContext, name: str) -> None:
        self._context, self._name = context, name

    def wrap_socket(self, opened: Any, server_hostname: str | None = None, **options: Any) -> ssl.SSLSocket:
        """As that of an `SSLContext`."""
        return self._context.wrap_socket(opened, server_hostname=self._name, **options)


def _properties(message: Message) -> Properties:
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    if "body" not in message.parts:
        properties.ContentType = "application/json"
    properties.PayloadFormatIndicator = 1  # it is UTF-8
    properties.UserProperty = [("key", message.key), ("type", message.type)]
    return properties


def _verdict(code: ReasonCode) -> Verdict:
    """What the reason of an acknowledgement means. A quota, and a topic that is not allowed, are about all messages."""
    if not code.is_failure:
        return Verdict(DELIVERED, status=code.value)
    is_refusal = code.value in _OF_MESSAGE
    return Verdict(REFUSED if is_refusal else FAILED, shown(f"MQTT: {code}"), code.value, is_refusal=is_refusal)
