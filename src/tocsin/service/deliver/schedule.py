"""When a delivery is tried again, and when an endpoint is given up.

The delays are those of Standard Webhooks, with two more in the first minutes: twelve tries over 75 hours.
"""

from __future__ import annotations

import random
from typing import Final, NamedTuple

_DELAYS_S: Final = (5, 15, 60, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
_JITTER: Final = 0.1
TRIES: Final = len(_DELAYS_S) + 1
"""Tries of a delivery, unless the destination says otherwise."""
SET_ASIDE_TRIES: Final = 7
"""Tries of a delivery that the endpoint refuses, before it makes room for those that wait behind it: 2.6 hours."""
_HOUR_MS: Final = 3_600_000
_LASTING_MS, _WITHIN_MS, _APART_MS = 120 * _HOUR_MS, 24 * _HOUR_MS, 12 * _HOUR_MS


def delay_ms(attempts: int) -> int:
    """The time after so many failed attempts until the next one. It varies, so that not all come at once."""
    seconds = _DELAYS_S[min(attempts, len(_DELAYS_S)) - 1]
    return int(seconds * 1000 * random.uniform(1 - _JITTER, 1 + _JITTER))


class Health(NamedTuple):
    """How an endpoint does. Times are milliseconds since 1970.

    `since` is the first failure after the last success. It is `lasting` once another failure came 12 to 24 hours later:
    a single failure in an idle week shows nothing.
    """

    failures: int = 0  # one after the other
    since: int | None = None
    is_lasting: bool = False
    disabled: int | None = None  # when
    reason: str = ""  # of the last failure

    def failed(self, now: int, reason: str) -> Health:
        """After one more failure. An endpoint that failed for five days is disabled."""
        since, is_lasting = self.since, self.is_lasting
        since = since and min(since, now)  # the clock may have been set back
        if since is None or (not is_lasting and now - since > _WITHIN_MS):
            since = now
        is_lasting = is_lasting or now - since >= _APART_MS
        disabled = self.disabled or (now if is_lasting and now - since >= _LASTING_MS else None)
        return Health(self.failures + 1, since, is_lasting, disabled, reason)

    def gone(self, now: int, reason: str) -> Health:
        """After the endpoint said that it takes nothing more."""
        return self.failed(now, reason)._replace(disabled=now)


WELL: Final = Health()
