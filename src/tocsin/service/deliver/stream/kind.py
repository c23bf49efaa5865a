"""The kind `stream`, which has no options of its own and no outbox."""

from __future__ import annotations

from typing import ClassVar

from tocsin.service.deliver.protocols import Kind


class Stream(Kind):
    """Destinations that clients read."""

    name: ClassVar[str] = "stream"
    about: ClassVar[str] = "clients read it"
