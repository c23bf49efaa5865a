"""Mail servers: connections by SMTP, each used by one message at a time."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from tocsin.errors import needing
from tocsin.service.deliver.email.composing import composed
from tocsin.service.deliver.encryption import Secret
from tocsin.service.deliver.hosts import Host
from tocsin.service.deliver.protocols import Message, Surroundings
from tocsin.service.deliver.resolver import Unreachable
from tocsin.service.deliver.verdict import DELIVERED, FAILED, REFUSED, Verdict, shown

if TYPE_CHECKING:
    import aiosmtplib

_LOG: Final = logging.getLogger("tocsin.service")
STARTTLS, TLS, NONE = "starttls", "tls", "none"
"""How a connection is encrypted."""
TIMEOUT_S: Final = 20.0
_IDLE_S: Final = 30.0
"""A connection that was not used for longer is not used again."""


class Mails:
    """The channel of a destination of kind `email`."""

    def __init__(self, host: Host, options: Mapping[str, Any], around: Surroundings) -> None:
        self._host, self._options, self._around = host, options, around
        self._idle: deque[tuple[aiosmtplib.SMTP, float]] = deque()

    async def send(self, message: Message, secrets: Sequence[Secret]) -> Verdict:
        """Hand a mail to the server; raises `Unreachable`."""
        with needing("email"):
            import aiosmtplib
        try:
            async with asyncio.timeout(TIMEOUT_S), self._connection(secrets) as connection:
                return await self._sent(connection, composed(message, self._options), message.destination)
        except aiosmtplib.SMTPResponseException as error:
            return _verdict(error)
        except TimeoutError:
            raise Unreachable(f"there was no answer within {TIMEOUT_S:g} s") from None
        except (aiosmtplib.SMTPException, OSError) as error:
            raise Unreachable(f"{self._host}: {error or type(error).__name__}") from None

    async def _sent(self, connection: aiosmtplib.SMTP, mail: bytes, destination: str) -> Verdict:
        """The verdict on a mail. It goes to those receivers that the server knows.

        If the server wants some of them later, nobody gets it now, because a mail that is sent again reaches all.
        """
        import aiosmtplib

        await connection.mail(self._options["from"])
        refused: list[aiosmtplib.SMTPResponseException] = []
        for receiver in self._options["to"]:
            try:
                await connection.rcpt(receiver)
            except aiosmtplib.SMTPRecipientRefused as error:
                refused.append(error)
                if error.code < 500:
                    break
        if refused and (refused[-1].code < 500 or len(refused) == len(self._options["to"])):
            await connection.rset()
            return _verdict(refused[-1])
        response = await connection.data(mail)
        reasons = "; ".join(_reason(error) for error in refused)
        if refused:
            _LOG.warning("a mail of %s did not reach all: %s", destination, shown(reasons))
        return Verdict(DELIVERED, shown(reasons), response.code)

    @asynccontextmanager
    async def _connection(self, secrets: Sequence[Secret]) -> AsyncIterator[aiosmtplib.SMTP]:
        """A connection for one mail. After an error that leaves its state unknown, it is closed."""
        import aiosmtplib

        connection = await self._kept() or await self._opened(secrets)
        try:
            yield connection
        except aiosmtplib.SMTPResponseException:
            with suppress(aiosmtplib.SMTPException, OSError):
                await connection.rset()
            self._keep(connection)
            raise
        except BaseException:
            connection.close()
            raise
        self._keep(connection)

    def _keep(self, connection: aiosmtplib.SMTP) -> None:
        if connection.is_connected:
            self._idle.append((connection, asyncio.get_running_loop().time()))

    async def _kept(self) -> aiosmtplib.SMTP | None:
        """A connection that is open still."""
        import aiosmtplib

        while self._idle:
            connection, used = self._idle.pop()
            if asyncio.get_running_loop().time() - used < _IDLE_S and connection.is_connected:
                with suppress(aiosmtplib.SMTPException, OSError):
                    if (await connection.noop()).code < 300:
                        return connection
            connection.close()
        return None

    async def _opened(self, secrets: Sequence[Secret]) -> aiosmtplib.SMTP:
        """A new connection to an address that was checked, encrypted and logged in."""
        import aiosmtplib

        opened = await self._around.resolver.connected(self._host, allow_private=self._around.allow_private)
        own = opened.getsockname()[0]
        tls = self._options["tls"]
        connection = aiosmtplib.SMTP(
            hostname=self._host.host, sock=opened, use_tls=tls == TLS, start_tls=False, timeout=TIMEOUT_S,
            local_hostname=f"[IPv6:{own}]" if ":" in own else f"[{own}]",
            tls_context=None if tls == NONE else self._around.tls,
        )  # fmt: skip
        try:
            await connection.connect()
            if tls == STARTTLS:
                await connection.starttls(server_hostname=self._host.host)
            if (user := self._options.get("user")) is not None and secrets:
                await connection.login(user, secrets[0].text)
        except BaseException:
            connection.close()
            opened.close()
            raise
        return connection

    async def close(self) -> None:
        """Close the connections."""
        import aiosmtplib

        while self._idle:
            connection, _ = self._idle.pop()
            with suppress(aiosmtplib.SMTPException, OSError):
                async with asyncio.timeout(1):
                    await connection.quit()
            connection.close()


def _reason(error: aiosmtplib.SMTPResponseException) -> str:
    return f"SMTP {error.code}: {' '.join(str(error.message).split())}"


def _verdict(error: aiosmtplib.SMTPResponseException) -> Verdict:
    """What an answer means: 5xx to a mail refuses it, and all others say that the server does not take mail now."""
    import aiosmtplib

    of_mail = (aiosmtplib.SMTPDataError, aiosmtplib.SMTPRecipientRefused, aiosmtplib.SMTPSenderRefused)
    is_refusal = error.code >= 500 and isinstance(error, of_mail)
    return Verdict(REFUSED if is_refusal else FAILED, shown(_reason(error)), error.code, is_refusal=is_refusal)
