"""IP and IP_IN: addresses by their number, and networks."""

from __future__ import annotations

from pathlib import Path

import pytest

import tocsin
from tocsin.language import evaluate, parse, parse_any, to_json, to_text

NETWORKS = [
    {"id": n, "where": f"IP_IN(source, '10.{n >> 8}.{n & 255}.0/24', '2001:db8:{n:x}::/48')"} for n in range(5000)
]


@pytest.mark.parametrize(
    ("where", "source", "truth"),
    [
        ("IP_IN(source, '10.0.0.0/8')", "10.255.255.255", True),
        ("IP_IN(source, '10.0.0.0/8')", "11.0.0.0", False),
        ("IP_IN(source, '10.0.0.0/8')", "2001:db8::1", False),
        ("IP_IN(source, '10.0.0.0/8')", "::ffff:10.0.0.1", False),
        ("IP_IN(source, '2001:db8::/32', '10.0.0.1')", "10.0.0.1", True),
        ("IP_IN(source, 'fe80::/10')", "fe80::1%eth0", True),
        ("IP_IN(source, '10.0.0.0/8')", "10.0.0", None),
        ("IP_IN(source, '10.0.0.0/8')", "10.0.0.01", None),
        ("IP_IN(source, '10.0.0.0/8')", 10.0, None),
        ("IP(source) = '2001:DB8:0::1'", "2001:db8::1", True),
        ("IP(source) < '10.0.0.10'", "10.0.0.9", True),
        ("IP(source) > '255.255.255.255'", "::", True),
        ("IP(source) IS NULL", "here", True),
    ],
)
def test_an_address_counts_by_its_number(where: str, source: object, truth: bool | None) -> None:
    """However it is written; UNKNOWN for what is not an address."""
    assert evaluate(parse(where), {"source": source}) is truth  # type: ignore[dict-item]


def test_text_and_json_have_it() -> None:
    """A string beside IP is read as an address."""
    tree = parse("NOT ip_in(a, '10.0.0.0/8', '::/64') AND IP(a) IN ('::1', IP('10.0.0.1'))")

    assert to_text(tree) == "NOT IP_IN(a, '10.0.0.0/8', '::/64') AND IP(a) IN (IP('::1'), IP('10.0.0.1'))"
    assert parse_any(to_json(tree)) == tree


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("IP_IN(a, '10.0.0.1/8')", "has bits behind its prefix; write '10.0.0.0/8'"),
        ("IP_IN(a, '10.0.0.0/33')", "is not a network"),
        ("IP_IN(a)", "takes an attribute and one or more networks"),
        ("IP_IN('10.0.0.1', '10.0.0.0/8')", "needs an attribute"),
        ("IP_IN(a, b)", "needs networks in single quotes"),
        ("IP(a) = b", r"write IP\(b\)"),
        ("IP(a) = '10.0.0'", "is not an IPv4 or IPv6 address"),
        ("IP(a) = 5", "is compared with a string"),
        ("IP(a) + 1 = 5", "can only be compared"),
        ("IP(a) LIKE '10.%'", "can only be compared"),
    ],
)
def test_a_mistake_is_named(where: str, problem: str) -> None:
    """The message says what to write instead."""
    with pytest.raises(tocsin.ExpressionError, match=problem):
        parse(where)


def test_networks_are_looked_up(tmp_path: Path) -> None:
    """Of 5,000 subscriptions an event examines those of its address; so does a folder that was saved."""
    engine = tocsin.Engine()
    engine.subscribe_many(NETWORKS)
    events = [{"source": "10.1.2.3"}, {"source": "2001:db8:ff::1"}, {"source": "nowhere"}, {"source": "11.0.0.1"}, {}]

    answer = engine.match_batch(events)
    engine.save(tmp_path / "folder")
    again = tocsin.Engine.load(tmp_path / "folder").match_batch(events)

    assert answer.table.column("subscription").to_pylist() == [258, 255]
    assert again.table.equals(answer.table)
    assert answer.stats.candidates_examined <= 4


def test_texts_of_one_form_are_compiled_together() -> None:
    """A template answers like single expressions, also for several networks and for IP of a constant."""
    wheres = [f"IP_IN(s, '10.0.{n}.0/24', '10.1.0.{n}', '::{n:x}/128') OR IP(s) = '9.9.9.{n}'" for n in range(40)]
    events = [{"s": s} for s in ("10.0.7.9", "10.1.0.8", "::9", "9.9.9.10", "9.9.9.99", "?")]

    together = tocsin.match([{"id": n, "where": one} for n, one in enumerate(wheres)], events)

    one_by_one = [
        (row, n)
        for row, event in enumerate(events)
        for n, one in enumerate(wheres)
        if evaluate(parse(one), event) is True
    ]
    assert [tuple(row.values()) for row in together.table.to_pylist()] == one_by_one
    assert [n for _, n in one_by_one] == [7, 8, 9, 10]


def test_a_warning_tells_of_values_that_are_not_texts() -> None:
    """A number is never an address; a text may be one."""
    subscriptions = {"id": "a", "where": "IP_IN(source, '10.0.0.0/8')"}

    (warning,) = tocsin.match(subscriptions, [{"source": 5}]).warnings

    assert "never a text" in warning.reason
    assert not tocsin.match(subscriptions, [{"source": "nowhere"}]).warnings


def test_explain_says_what_is_needed() -> None:
    """Networks, not the ranges that they become; and the range by which the index finds a subscription."""
    engine = tocsin.Engine()
    engine.subscribe_many(NETWORKS)
    told = engine.explain(258, {"source": "10.1.3.4"})

    assert "needed: source an IP address in '10.1.2.0/24', '2001:db8:102::/48'" in str(told)
    assert "IP(source) >= '4 010.001.002.000' AND IP(source) <= '4 010.001.002.255'" in told.index
