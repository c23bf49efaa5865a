"""The certificates that are trusted, for every kind that connects by TLS."""

from __future__ import annotations

import logging
import os
import ssl
from functools import lru_cache
from pathlib import Path
from typing import Final

import httpx

from tocsin.newest import Newest, mark_of

_LOG: Final = logging.getLogger("tocsin.service")


def trusted() -> ssl.SSLContext:
    """Whose certificates are trusted: those of certifi, or of SSL_CERT_FILE; changes of the file count."""
    return _trusted()()


@lru_cache(1)
def _trusted() -> Newest[ssl.SSLContext]:
    def look() -> object:
        path = os.environ.get("SSL_CERT_FILE")
        return path and mark_of(Path(path))

    def failed(reason: str) -> None:
        _LOG.error("the certificates that are trusted cannot be read, and those before stay in use: %s", reason)

    return Newest(look, httpx.create_ssl_context, failed=failed)
