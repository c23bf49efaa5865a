"""The examples of Sigma's specification of correlations (2.1.0) and of its tests, with rules that they may refer to.

Each has its documents as YAML, values that its events may have, and what it becomes: a condition, or the words with
which it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

FAILED_LOGIN: Final = """
name: failed_login
id: 5638f7c0-ac70-491d-8465-2a65075e0d86
detection: {selection: {EventID: [529, 4625]}, condition: selection}
"""
SUCCESSFUL_LOGIN: Final = """
name: successful_login
detection: {selection: {EventID: [528, 4624]}, condition: selection}
"""
RECON: Final = """
name: recon_cmd_a
detection: {selection: {CommandLine: whoami}, condition: selection}
---
name: recon_cmd_b
detection: {selection: {CommandLine: hostname}, condition: selection}
---
name: recon_cmd_c
detection: {selection: {CommandLine: ipconfig}, condition: selection}
"""
LOGINS: Final = {
    "EventID": (4625, 4625, 4624, 1),
    "ComputerName": ("a", "a", "a", "b"),
    "WorkstationName": ("w",),
    "User": range(1000),
}
COMMANDS: Final = {
    "CommandLine": ("whoami", "hostname", "ipconfig", "dir"),
    "ComputerName": ("a", "b"),
    "User": ("u", "v"),
}
TRAFFIC: Final = {"SourceIP": ("10.0.0.1",), "User": ("u", "v", None), "bytes": (None, 100, 700, 400_000), "Url": "xy"}
_FAILED: Final = "SOME(EventID, element IN (529, 4625) OR element IN ('529', '4625'))"
_SUCCESSFUL: Final = "SOME(EventID, element IN (528, 4624) OR element IN ('528', '4624'))"


def _command(name: str) -> str:
    return f"SOME(CommandLine, CASEI(element) = CASEI('{name}'))"


class Example(NamedTuple):
    """Documents, values of events by attribute, and a condition, or words of a refusal."""

    documents: Sequence[str]
    values: Mapping[str, Any]
    becomes: str = ""
    refused: str = ""
    pause_s: int = 10
    """The longest time between two events."""


EXAMPLES: Final = {
    "many failed logins": Example(
        [
            """
            title: Many failed logins
            id: 0e95725d-7320-415d-80f7-004da920fc11
            correlation:
                type: event_count
                rules: [5638f7c0-ac70-491d-8465-2a65075e0d86]
                group-by: [ComputerName]
                timespan: 1h
                condition: {gte: 100}
            """,
            FAILED_LOGIN,
        ],
        LOGINS,
        f"BY(ComputerName, {_FAILED} AND COUNT({_FAILED}, 'PT1H') >= 100)",
    ),
    "fields of another taxonomy": Example(
        [
            """
            title: Many queries
            taxonomy: ecs
            correlation:
                type: event_count
                rules: [dns_query]
                group-by: [dns.question.name]
                timespan: 1h
                condition: {gte: 100}
            """,
            """
            name: dns_query
            taxonomy: ecs
            detection: {selection: {event.category: network}, condition: selection}
            """,
        ],
        {"event.category": ("network", "network", "file"), "dns.question.name": ("a.org", "b.org")},
        "BY(dns.question.name, SOME(event, SOME(category, CASEI(element) = CASEI('network'))) AND "
        "COUNT(SOME(event, SOME(category, CASEI(element) = CASEI('network'))), 'PT1H') >= 100)",
    ),
    "a range": Example(
        [
            """
            title: A range
            correlation:
                type: event_count
                rules: [failed_login]
                group-by: [ComputerName]
                timespan: 90m
                condition: {gt: 100, lte: 200}
            """,
            FAILED_LOGIN,
        ],
        LOGINS,
        f"BY(ComputerName, {_FAILED} AND COUNT({_FAILED}, 'PT90M') > 100 AND COUNT({_FAILED}, 'PT90M') <= 200)",
    ),
    "many users": Example(
        [
            """
            title: Failed login
            correlation:
                type: value_count
                rules: [5638f7c0-ac70-491d-8465-2a65075e0d86]
                group-by: [ComputerName, WorkstationName]
                timespan: 1d
                condition: {field: User, gte: 100}
            """,
            FAILED_LOGIN,
        ],
        LOGINS,
        f"BY(ComputerName, WorkstationName, {_FAILED} AND COUNT_DISTINCT(User, {_FAILED}, 'P1D') >= 100)",
    ),
    "reconnaissance": Example(
        [
            """
            correlation:
                type: temporal
                rules: [recon_cmd_a, recon_cmd_b, recon_cmd_c]
                group-by: [ComputerName, User]
                timespan: 5m
            """,
            RECON,
        ],
        COMMANDS,
        "BY(ComputerName, User, ({a} OR {b} OR {c}) AND COUNT({a}, 'PT5M') >= 1 AND COUNT({b}, 'PT5M') >= 1 "
        "AND COUNT({c}, 'PT5M') >= 1)".format(a=_command("whoami"), b=_command("hostname"), c=_command("ipconfig")),
        pause_s=90,
    ),
    "reconnaissance in order": Example(
        [
            """
            correlation:
                type: temporal_ordered
                rules: [recon_cmd_a, recon_cmd_b, recon_cmd_c]
                group-by: [ComputerName, User]
                timespan: 5m
            """,
            RECON,
        ],
        COMMANDS,
        refused="temporal_ordered of more than two rules",
    ),
    "other groups": Example(
        [
            """
            correlation:
                type: temporal_ordered
                rules: [many_failed_logins, successful_login]
                group-by: [User]
                timespan: 1h
            """,
            """
            name: many_failed_logins
            correlation:
                type: event_count
                rules: [failed_login]
                group-by: [ComputerName]
                timespan: 1h
                condition: {gte: 100}
            """,
            FAILED_LOGIN,
            SUCCESSFUL_LOGIN,
        ],
        LOGINS,
        refused="at correlation.rules.many_failed_logins.correlation.group-by: another group-by",
    ),
    "exfiltration": Example(
        [
            """
            title: Possible Exfiltration to Website
            correlation:
                type: value_sum
                rules: [website_access]
                group-by: [SourceIP, User]
                timespan: 1h
                condition: {field: bytes, gt: 1000000}
            """,
            """
            name: website_access
            detection: {selection: {Url: x}, condition: selection}
            """,
        ],
        TRAFFIC,
        "BY(SourceIP, User, SOME(Url, CASEI(element) = CASEI('x')) AND "
        "SUM(bytes, SOME(Url, CASEI(element) = CASEI('x')), 'PT1H') > 1000000)",
        pause_s=600,
    ),
    "an average": Example(
        [
            """
            title: Suspicious average network traffic
            correlation:
                type: value_avg
                rules: [rule_a_id]
                group-by: [SourceIP, User]
                timespan: 24h
                condition: {field: bytes, gt: 500}
            """,
            """
            id: rule_a_id
            detection: {selection: {Url: x}, condition: selection}
            """,
        ],
        TRAFFIC,
        "BY(SourceIP, User, SOME(Url, CASEI(element) = CASEI('x')) AND "
        "AVG(bytes, SOME(Url, CASEI(element) = CASEI('x')), 'PT24H') > 500)",
        pause_s=9000,
    ),
    "a percentile": Example(
        [
            """
            title: A rare process
            correlation:
                type: value_percentile
                rules: [process_creation]
                group-by: [ComputerName]
                timespan: 24h
                condition: {field: Image, lte: 1}
            """,
            """
            name: process_creation
            detection: {selection: {EventID: 1}, condition: selection}
            """,
        ],
        LOGINS,
        refused="at correlation.condition: value_percentile needs percentile",
    ),
    "aliases": Example(
        [
            """
            correlation:
                type: temporal
                rules: [internal_error, new_network_connection]
                group-by: [internal_ip, remote_ip]
                timespan: 10s
                aliases:
                    internal_ip: {internal_error: destination.ip, new_network_connection: source.ip}
                    remote_ip: {internal_error: source.ip, new_network_connection: destination.ip}
            """,
            """
            name: internal_error
            detection: {selection: {http.response.status_code: 500}, condition: selection}
            ---
            name: new_network_connection
            detection: {selection: {event.category: network, event.outcome: success}, condition: selection}
            """,
        ],
        {},
        refused="an alias for several fields",
    ),
    "failed logins before a successful one": Example(
        [
            """
            title: Correlation - Multiple Failed Logins Followed by Successful Login
            id: b180ead8-d58f-40b2-ae54-c8940995b9b6
            status: experimental
            correlation:
                type: temporal_ordered
                rules: [multiple_failed_login, successful_login]
                group-by: [User]
                timespan: 10m
            level: high
            """,
            """
            title: Multiple failed logons
            name: multiple_failed_login
            correlation:
                type: event_count
                rules: [failed_login]
                group-by: [User]
                timespan: 10m
                condition: {gte: 10}
            """,
            FAILED_LOGIN,
            SUCCESSFUL_LOGIN,
        ],
        {**LOGINS, "User": ("anna", "otto")},
        f"BY(User, {_SUCCESSFUL} AND SINCE({_FAILED} AND COUNT({_FAILED}, 'PT10M') >= 10) <= DURATION('PT10M'))",
        pause_s=25,
    ),
    "no type": Example(
        [
            """
            title: login brute force
            correlation:
                rules: [5638f7c0-ac70-491d-8465-2a65075e0d86, failed_login]
            """,
            FAILED_LOGIN,
        ],
        {},
        refused="correlation rule without type",
    ),
}
