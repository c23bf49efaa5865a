"""What the service asks of a kind of destinations, and of the channel through which it sends.

A kind is a `Kind`, or a `Sending` if the service sends by itself. It is an object without state: one for the process.
Packages name theirs as an entry point of the group `tocsin.deliveries`:

    [project.entry-points."tocsin.deliveries"]
    pager = "my_package:PAGER"
"""

from __future__ import annotations

import json
import ssl
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from tocsin.service.deliver.certificates import trusted
from tocsin.service.deliver.encryption import Secret
from tocsin.service.deliver.resolver import Resolver
from tocsin.service.deliver.verdict import Verdict
from tocsin.service.problems import invalid

GROUP: Final = "tocsin.deliveries"
DELIVERY, DIGEST, TEST = "delivery", "digest", "test"
"""Types of messages."""
MOST_SECRET: Final = 1024
Schema = Mapping[str, Any]


class Message(NamedTuple):
    """What is sent at once: a delivery, several of them as a digest, or a test. All of it is the same at each try."""

    key: str  # the same each time that the same deliveries are sent
    type: str
    time: int  # when the event, or the last one, was published: milliseconds since 1970
    body: bytes  # JSON: {"type", "timestamp", "data"}
    destination: str
    parts: Mapping[str, Any] = {}  # by the template of the destination: those parts of its kind that it has

    @property
    def content(self) -> bytes:
        """What is sent as the body: by the template, or the document."""
        text = self.parts.get("body")
        return self.body if text is None else text.encode()

    def deliveries(self) -> list[dict[str, Any]]:
        """The deliveries as documents. A test is one, too."""
        data = json.loads(self.body)["data"]
        found: list[dict[str, Any]] = data["deliveries"] if self.type == DIGEST else [data]
        return found


class Surroundings(NamedTuple):
    """What a channel has of the server: how names are resolved, the time, and which addresses it may reach."""

    resolver: Resolver
    now_ms: Callable[[], int]
    allow_private: bool = False
    context: ssl.SSLContext | None = None  # None: the certificates of `tls`

    @property
    def tls(self) -> ssl.SSLContext:
        """Whose certificates are trusted: those of certifi, or of SSL_CERT_FILE."""
        return trusted() if self.context is None else self.context


class Channel(Protocol):
    """A way to one destination. Calls of `send` run at once where the order of the destination is `any`."""

    async def send(self, message: Message, secrets: Sequence[Secret]) -> Verdict:
        """Send a message, and say what became of it.

        Parameters
        ----------
        message
            What to send.
        secrets
            The secrets of the destination, the newest first; those that are not valid any more are among them.

        Raises
        ------
        Unreachable
            Nothing is known of the message: it is sent again. Any other error means the same, and is logged.
        """

    async def close(self) -> None:
        """Close connections. A later `send` opens others."""


class Counts(NamedTuple):
    """What is counted of the destinations of a kind."""

    attempts: Mapping[str, int]  # by outcome
    disabled: int  # how often
    states: Mapping[str, int]  # destinations by state


class Kind(ABC):
    """A kind of destinations. Clients read those of a plain `Kind`, by streams and pulls."""

    name: ClassVar[str]
    about: ClassVar[str]
    """What it does, as the end of a sentence that begins with its name."""
    members: ClassVar[Mapping[str, Schema]] = {}
    """The members that its documents have beside those of all kinds, with JSON Schemas. Names of members that other
    kinds have too mean the same there."""
    required: ClassVar[tuple[str, ...]] = ()

    def checked(self, record: Mapping[str, Any], *, allow_private: bool) -> dict[str, Any]:
        """The own members of a record without nulls, as they are stored; raises a `Problem`.

        It gets no members but `members`, and not the secret.
        """
        return {}


class Sending(Kind):
    """A kind whose deliveries the service sends. It has an outbox, retries, dead letters, rates and digests."""

    secret: ClassVar[str | None] = None
    """The member with a secret, which is stored apart and not shown again. It is among `members`."""
    rotates: ClassVar[bool] = False
    """Whether several secrets are in use at a time, as for `rotate-secret`. Such a destination always has one."""

    parts: ClassVar[tuple[str, ...]] = ()
    """What a template of its destinations may give, such as `body`. A channel finds these in `Message.parts`. Each is
    a text, and `headers` an object of texts."""
    header_pattern: ClassVar[str] = ".+"
    """The names of headers that a template may give, as a regular expression."""

    def require_libraries(self) -> None:
        """Raise `MissingExtra` if a library that the kind needs is not there."""

    @abstractmethod
    def channel(self, options: Mapping[str, Any], around: Surroundings) -> Channel:
        """A channel to a destination with these stored options. It opens connections when something is sent."""

    def checked_secret(self, text: object) -> str:
        """A secret that a client gives; raises a `Problem`, which does not repeat it."""
        if not isinstance(text, str) or not 0 < len(text) <= MOST_SECRET or not text.isprintable():
            raise invalid(f"{self.secret} is a text of 1 to {MOST_SECRET:,} printable characters", field=self.secret)
        return text

    def checked_parts(self, parts: Mapping[str, Any]) -> Mapping[str, Any]:
        """The parts of a message as they are sent; raises a `Problem`, and then the document is sent instead."""
        return parts

    def new_secret(self) -> str | None:
        """A secret for a destination that came without one; it is shown once. None: it has none."""
        return None

    def secret_goes_to(self, options: Mapping[str, Any]) -> object:
        """The receiver of the secret. Where that changes, clients have to give the secret again."""
        return None

    def status_text(self, status: int | None) -> str:
        """How the status of an answer is told."""
        return "" if status is None else f" with {status}"

    def metrics(self, counts: Counts) -> Iterable[Any]:
        """Metrics of its own, beside those of all kinds by the label `kind`."""
        return ()

    def requests(self) -> Mapping[str, Any]:
        """The HTTP requests that it makes, as in `webhooks` of an OpenAPI document."""
        return {}


def counts_of(attempts: Counter[tuple[str, str]], disabled: int, states: Mapping[str, int], kind: str) -> Counts:
    """The counts of a kind. `attempts` are by kind and outcome."""
    return Counts({outcome: count for (of, outcome), count in attempts.items() if of == kind}, disabled, states)
