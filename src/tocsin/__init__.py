"""Match streams of events against millions of standing subscriptions, exactly.

A subscription is a stored query, an event the data that queries it:

    >>> import tocsin
    >>> alerts = [{"id": "s1", "where": "model = 'iphone5s' AND color IN ('silver', 'gold') AND price <= 580"}]
    >>> tocsin.match(alerts, [{"model": "iphone5s", "color": "gold", "price": 550}]).table.to_pylist()
    [{'event': 0, 'subscription': 's1'}]
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tocsin.public import *  # noqa: F403

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import a public name or a module on first use, so that the command line starts quickly."""
    public = importlib.import_module("tocsin.public")
    if name == "__all__" or name in public.__all__:
        value = globals()[name] = getattr(public, name)
        return value
    if importlib.util.find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module 'tocsin' has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
