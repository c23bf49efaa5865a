"""Rules and log events that resemble Sigma's public rules, made by a generator.

Numbers of fields, values, selections and filters, and the modifiers, have the shares of public rules: most are about
the creation of processes, some about the registry, files, networks and clouds, and a few are keywords alone.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from typing import Any, Final

COUNT: Final = 3_141
_CLOUDS: Final = ("properties", "requestParameters", "userIdentity", "additionalEventData", "operation", "actor")
_RARE: Final = tuple(f"{_CLOUDS[n % 6]}.{word}" for n in range(42) for word in ("name", "type", "status", "message"))
_PLAIN: Final = tuple(f"Field{number}" for number in range(150))
_KINDS: Final = {
    "process": ("Image", "CommandLine", "ParentImage", "OriginalFileName", "ParentCommandLine", "User", "Description"),
    "registry": ("TargetObject", "Details", "Image", "EventType"),
    "file": ("TargetFilename", "Image", "ImageLoaded", "Signed"),
    "network": ("DestinationHostname", "DestinationIp", "DestinationPort", "Image", "Initiated"),
    "web": ("cs-method", "cs-uri-query", "c-uri", "sc-status", "c-useragent"),
    "windows": ("EventID", "Provider_Name", "ObjectName", "ServiceName", "SubjectUserName", "Channel"),
    "cloud": ("eventSource", "eventName", *_RARE),
    "other": _PLAIN,
}
_SHARES: Final = (44, 8, 14, 3, 4, 12, 9, 6)
_WORDS: Final = tuple(f"word{number}" for number in range(4_000))
_TOOLS: Final = tuple(f"tool{number}" for number in range(900))
_FOLDERS: Final = ("C:\\Windows\\System32\\", "C:\\Windows\\SysWOW64\\", "C:\\Program Files\\", "C:\\Users\\Public\\")
_PATHS: Final = ("Image", "ParentImage", "TargetFilename", "ImageLoaded", "TargetObject")


def sigma_rules(count: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Decoded rules; three in a hundred are keywords."""
    for number in range(count):
        yield {"title": f"rule {number}", "detection": _keywords(rng) if rng.random() < 0.03 else _detection(rng)}


def _keywords(rng: random.Random) -> dict[str, Any]:
    return {"keywords": [_phrase(rng) for _ in range(rng.randint(2, 8))], "condition": "keywords"}


def _detection(rng: random.Random) -> dict[str, Any]:
    fields = _KINDS[rng.choices([*_KINDS], _SHARES)[0]]
    names = ["selection"] if rng.random() < 0.55 else [f"selection_{n}" for n in range(rng.randint(2, 4))]
    detection: dict[str, Any] = {name: _selection(fields, rng) for name in names}
    condition = "selection" if len(names) == 1 else rng.choice(("all of selection_*", "1 of selection_*"))
    if rng.random() < 0.35:
        filters = [f"filter_main_{n}" for n in range(rng.choice((1, 1, 1, 2, 3, 5)))]
        detection |= {name: _selection(fields, rng) for name in filters}
        condition += " and not 1 of filter_main_*"
    return {**detection, "condition": condition}


def _selection(fields: tuple[str, ...], rng: random.Random) -> Any:
    if rng.random() < 0.12:  # a list of maps: alternatives
        return [_map(fields, rng) for _ in range(2)]
    return _map(fields, rng)


def _map(fields: tuple[str, ...], rng: random.Random) -> dict[str, Any]:
    chosen = rng.sample(fields, min(rng.choice((1, 1, 1, 2, 2, 3)), len(fields)))
    return dict(_line(field, rng) for field in chosen)


def _line(field: str, rng: random.Random) -> tuple[str, Any]:
    count = rng.choice((1, 1, 1, 2, 2, 3, 4, 6, 9, 14)) if rng.random() < 0.98 else rng.randint(30, 150)
    if field in ("EventID", "DestinationPort", "sc-status"):
        return field, _several([rng.choice((1, 4688, 4624, 5145, 443, 200, 7045)) for _ in range(min(count, 3))])
    if field == "DestinationIp":
        return f"{field}|cidr", [f"10.{rng.randrange(256)}.0.0/16" for _ in range(min(count, 4))]
    if rng.random() < 0.02:
        return field, None
    if field in _PATHS:
        how = rng.choices(("endswith", "contains", "startswith", ""), (55, 25, 12, 8))[0]
    else:
        how = rng.choices(("contains", "", "endswith", "startswith", "re"), (50, 36, 6, 5, 3))[0]
    if how == "re":
        return f"{field}|re", f"{rng.choice(_WORDS)}\\s+-[a-z]{{1,{rng.randint(2, 9)}}}"
    if how == "contains" and count > 1 and rng.random() < 0.25:
        return f"{field}|contains|all", [_phrase(rng) for _ in range(min(count, 5))]
    if how == "contains" and rng.random() < 0.04:
        code = base64.b64encode(_phrase(rng).encode()).decode()
        return f"{field}|contains|windash", [f" -{code[:6]}"]
    name = f"{field}|{how}" if how else field
    return name, _several([_value(how, field, rng) for _ in range(count)])


def _several(values: list[Any]) -> Any:
    values = [*dict.fromkeys(values)]
    return values[0] if len(values) == 1 else values


def _value(how: str, field: str, rng: random.Random) -> str:
    if how == "endswith":
        return f"\\{rng.choice(_TOOLS)}.exe"
    if how == "startswith":
        return rng.choice(_FOLDERS) + rng.choice(_TOOLS)
    if how == "contains":
        return _phrase(rng)
    return f"{rng.choice(_TOOLS)}.exe" if field in _PATHS else rng.choice(_WORDS)


def _phrase(rng: random.Random) -> str:
    form = rng.random()
    if form < 0.4:
        return f" -{rng.choice(_WORDS)}"
    return f"{rng.choice(_WORDS)} {rng.choice(_WORDS)}" if form < 0.7 else f"\\{rng.choice(_WORDS)}\\"


def log_events(count: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Events of all kinds; those of clouds have objects and, one in four, a list of objects."""
    for _ in range(count):
        kind = rng.choices([*_KINDS], _SHARES)[0]
        yield _cloud_event(rng) if kind == "cloud" else _event(kind, rng)


def _event(kind: str, rng: random.Random) -> dict[str, Any]:
    event: dict[str, Any] = {
        "EventID": rng.choice((1, 3, 11, 13, 4688, 4624, 5145)),
        "Channel": "Microsoft-Windows-Sysmon/Operational",
        "Computer": f"host{rng.randrange(500)}.corp.example",
        "UtcTime": f"2024-05-{rng.randint(10, 28)} 12:00:{rng.randint(10, 59)}.120",
        "ProcessId": rng.randrange(30_000),
        "User": rng.choice(("NT AUTHORITY\\SYSTEM", "CORP\\anna", "CORP\\ben", "CORP\\svc-backup")),
    }
    for field in _KINDS[kind] if kind != "other" else rng.sample(_PLAIN, 6):
        event.setdefault(field, _logged(field, rng))
    if kind == "process":
        event |= {"Hashes": f"SHA256={rng.getrandbits(256):064x}", "LogonId": hex(rng.getrandbits(20))}
        event |= {"Product": "Windows", "Company": "Microsoft", "IntegrityLevel": rng.choice(("High", "Medium"))}
    return event


def _logged(field: str, rng: random.Random) -> Any:
    if field in ("DestinationPort", "sc-status"):
        return rng.choice((443, 80, 200, 404, 8080))
    if field == "DestinationIp":
        return f"10.{rng.randrange(256)}.{rng.randrange(256)}.7"
    if field in _PATHS:
        return f"{rng.choice(_FOLDERS)}{rng.choice(_TOOLS)}.exe"
    if field in ("CommandLine", "ParentCommandLine"):
        return f"{rng.choice(_TOOLS)}.exe " + " ".join(f"-{word}" for word in rng.choices(_WORDS, k=6))
    return rng.choice(_WORDS)


def _cloud_event(rng: random.Random) -> dict[str, Any]:
    event: dict[str, Any] = {"eventSource": rng.choice(_WORDS), "eventName": rng.choice(_WORDS)}
    for name in rng.sample(_CLOUDS, 3):
        members = {word: rng.choice(_WORDS) for word in ("name", "type", "status")}
        event[name] = [members, {"name": rng.choice(_WORDS)}] if rng.random() < 0.08 else members
    return event
