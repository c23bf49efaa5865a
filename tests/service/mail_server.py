"""A mail server in a process: `python -m tests.service.mail_server PORT FILE`. FILE has a line for each mail."""

from __future__ import annotations

import json
import sys
import threading
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any, cast

from aiosmtpd.controller import Controller


class Writing:
    """Writes the key of each mail to a file before it is taken."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("a")

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        mail = parsed(envelope.content)
        sequence = document(mail)["data"]["sequence"]
        self._file.write(f"{json.dumps([mail['X-Tocsin-Key'], sequence])}\n")
        self._file.flush()
        return "250 taken"


def parsed(content: bytes) -> EmailMessage:
    """A mail from its bytes."""
    return cast(EmailMessage, message_from_bytes(content, policy=policy.default))


def document(mail: EmailMessage) -> Any:
    """The document that is attached to a mail."""
    (attached,) = mail.iter_attachments()
    return json.loads(attached.get_content())


if __name__ == "__main__":
    Controller(Writing(Path(sys.argv[2])), hostname="127.0.0.1", port=int(sys.argv[1])).start()
    threading.Event().wait()
