"""Secrets and signatures, as Standard Webhooks has them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from typing import Final

from tocsin.service.deliver.encryption import Secret, valid
from tocsin.service.problems import invalid

_PREFIX: Final = "whsec_"
_BYTES: Final = 32
_LEAST, _MOST = 24, 64
_DIGIT: Final = "[A-Za-z0-9+/]"
_END: Final = f"{_DIGIT}{{4}}|{_DIGIT}{{3}}=|(?:{_DIGIT}{{4}})?{_DIGIT}{{2}}=="
_SECRET: Final = re.compile(f"{_PREFIX}(?:{_DIGIT}{{4}}){{{_LEAST // 3},{_MOST // 3 - 1}}}(?:{_END})?")
"""`_LEAST` to `_MOST` bytes in base64, with padding."""
SECRET_PATTERN: Final = f"^{_SECRET.pattern}$"
"""The syntax of a secret, for schemas."""


def new_secret() -> str:
    """A secret that nobody knows."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def checked_secret(text: object) -> str:
    """A secret that a client gives; raises a `Problem` if it is of another form."""
    if isinstance(text, str) and _SECRET.fullmatch(text):
        return text
    # The value is not repeated: it may be a real secret with a slip.
    detail = f"secret is {_PREFIX} and the base64 of {_LEAST} to {_MOST} bytes; without one, a secret is made"
    raise invalid(detail, field="secret")


def signed(id: str, now: int, body: bytes, known: Sequence[Secret]) -> dict[str, str]:
    """The headers of a request: its id, the time, and a signature by each secret."""
    seconds = str(now // 1000)
    content = b"%s.%s.%s" % (id.encode(), seconds.encode(), body)
    signatures = [f"v1,{_signature(one.text, content)}" for one in valid(known, now)]
    return {"webhook-id": id, "webhook-timestamp": seconds, "webhook-signature": " ".join(signatures)}


def _signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    return base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
