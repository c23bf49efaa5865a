"""Mails: a message as text and as HTML, with the document of all kinds attached.

A mail is the same each time that it is made of the same message, and its `Message-ID` has the key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from html import escape
from typing import Any, Final

from tocsin.service.deliver.protocols import Message

_MOST_SHOWN: Final = 50
"""Deliveries that a mail shows; the attachment has all."""
_MOST_IDS: Final = 20
_MOST_VALUE: Final = 1000
_IN_SUBJECT: Final = 3
_MOST_NAME: Final = 40


def composed(message: Message, options: Mapping[str, Any]) -> bytes:
    """A mail, with the line ends of SMTP."""
    deliveries = message.deliveries()
    mail = EmailMessage(policy=SMTP)
    mail["From"], mail["To"] = options["from"], ", ".join(options["to"])
    subject = message.parts.get("subject")
    mail["Subject"] = subject or f"{options.get('subject', 'tocsin')}: {_summary(message, deliveries)}"
    mail["Date"] = format_datetime(datetime.fromtimestamp(message.time / 1000, UTC))
    mail["Message-ID"] = f"<{message.key}@{options['from'].rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"  # so that nobody answers that they are on holiday
    mail["X-Tocsin-Key"] = message.key
    if "body" in message.parts:
        mail.set_content(message.parts["body"])
    else:
        _describe(mail, deliveries)
    mail.add_attachment(message.body, "application", "json", filename="deliveries.json")
    for place, part in enumerate(part for part in mail.walk() if part.is_multipart()):
        part.set_boundary(f"={place}-{message.key}")
    return mail.as_bytes()


def _describe(mail: EmailMessage, deliveries: Sequence[Mapping[str, Any]]) -> None:
    """Write deliveries as text and as HTML."""
    shown = deliveries[:_MOST_SHOWN]
    rest = len(deliveries) - len(shown)
    more = f"{rest:,} further deliveries are attached." if rest else ""
    mail.set_content("\n".join([*map(_text, shown), more]).rstrip() + "\n")
    mail.add_alternative("".join(["<!doctype html>", *map(_html, shown), f"<p>{more}</p>"]), subtype="html")


def _summary(message: Message, deliveries: Sequence[Mapping[str, Any]]) -> str:
    """What came, in a few words."""
    if len(deliveries) > 1:
        return f"{len(deliveries):,} deliveries"
    names = [_clipped(str(one["id"]), _MOST_NAME) for one in deliveries[0]["subscriptions"]]
    if not names:
        return message.type if message.type == "test" else str(deliveries[0]["event"].get("type", "news"))[:_MOST_NAME]
    rest = int(deliveries[0].get("count", len(names))) - _IN_SUBJECT
    listed = ", ".join(names[:_IN_SUBJECT]) + (f" and {rest:,} more" if rest > 0 else "")
    return "".join(character if character.isprintable() else " " for character in listed)


def _text(delivery: Mapping[str, Any]) -> str:
    """A delivery as lines."""
    lines = [f"{delivery['published']}  {_names(delivery)}"]
    lines += [f"    {name}: {value}" for name, value in _values(delivery["event"])]
    lines += [f"  {id}: {payload}" for id, payload in _payloads(delivery)]
    return "\n".join([*lines, ""])


def _html(delivery: Mapping[str, Any]) -> str:
    """A delivery as a table. Everything in it is escaped."""
    cells = [f"<tr><th align=left>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in
             _values(delivery["event"])]  # fmt: skip
    notes = [f"<p><b>{escape(id)}</b>: {escape(payload)}</p>" for id, payload in _payloads(delivery)]
    head = f"<h3>{escape(_names(delivery))}</h3><p>{escape(delivery['published'])}</p>"
    return f"{head}<table>{''.join(cells)}</table>{''.join(notes)}"


def _names(delivery: Mapping[str, Any]) -> str:
    ids = [str(one["id"]) for one in delivery["subscriptions"]]
    rest = int(delivery.get("count", len(ids))) - _MOST_IDS
    return ", ".join(ids[:_MOST_IDS]) + (f" and {rest:,} more" if rest > 0 else "")


def _payloads(delivery: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The payloads of the first subscriptions that have one."""
    for one in delivery["subscriptions"][:_MOST_IDS]:
        if one.get("payload") is not None:
            yield str(one["id"]), _value(one["payload"])


def _values(event: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in event.items():
        yield _clipped(name, _MOST_VALUE), _value(value)


def _value(value: Any) -> str:
    return _clipped(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _MOST_VALUE)


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."
