"""SEMVER: versions by their precedence."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.naive.versions import version
from tocsin.language import evaluate, parse, parse_any, to_json, to_text
from tocsin.language.operators.version import version_key

ORDER = (
    "0.0.0-0",
    "0.0.0",
    "0.9.0",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.1",
    "1.2.9",
    "1.2.10",
    "9" * 25 + ".0.0",
    "1" + "0" * 25 + ".0.0",
    "1" + "0" * 60 + ".0.0",
)
"""The example of semver.org, and longer numbers."""


def test_the_order_of_the_standard() -> None:
    """Each comes before all that follow."""
    for first, second in combinations(ORDER, 2):
        assert version_key(first) < version_key(second)  # type: ignore[operator]
        assert evaluate(parse(f"SEMVER(v) < '{second}'"), {"v": first}) is True


@given(*(st.from_regex(r"[0-3]\.1{0,2}0?\.1(-([a-b0-1-]{1,3}\.?){1,3})?(\+b)?", fullmatch=True) for _ in range(2)))
def test_keys_sort_as_versions(first: str, second: str) -> None:
    """Whatever they are: the keys and the oracle agree on what is a version, and on the order."""
    keys, versions = (version_key(first), version_key(second)), (version(first), version(second))

    assert [key is None for key in keys] == [one is None for one in versions]
    if None not in keys:
        assert (keys[0] < keys[1]) == (versions[0] < versions[1])  # type: ignore[operator]
        assert (keys[0] == keys[1]) == (versions[0] == versions[1])


@pytest.mark.parametrize(
    "text", ["1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.2.3-01", "1.2.3-", "1.2.3-a..b", "", "1.2.3 "]
)
def test_what_is_not_a_version_is_unknown(text: str) -> None:
    """And a constant that is not one is refused."""
    assert evaluate(parse("SEMVER(v) >= '0.0.0'"), {"v": text}) is None
    with pytest.raises(tocsin.ExpressionError, match="is not a version"):
        parse(f"SEMVER(v) >= '{text}'")


def test_versions_are_looked_up() -> None:
    """Thousands of them, from one template; equal but for build metadata is equal."""
    engine = tocsin.Engine()
    engine.subscribe_many({"id": n, "where": f"SEMVER(v) = '1.{n}.0' AND x = 1"} for n in range(5000))

    answer = engine.match_batch([{"v": "1.17.0+build.5", "x": 1}, {"v": "1.18", "x": 1}])

    assert answer.table.to_pylist() == [{"event": 0, "subscription": 17}]
    assert answer.stats.candidates_examined <= 2


def test_text_and_json_have_it() -> None:
    """A string beside SEMVER is a version."""
    tree = parse("semver(a) BETWEEN '1.0.0' AND SEMVER(b)")

    assert to_text(tree) == "SEMVER(a) BETWEEN SEMVER('1.0.0') AND SEMVER(b)"
    assert parse_any(to_json(tree)) == tree
    assert tocsin.match({"id": 1, "where": "SEMVER(a) < SEMVER(b)"}, {"a": "1.9.0", "b": "1.10.0"}).table.num_rows == 1
    with pytest.raises(tocsin.ExpressionError, match="can only be compared"):
        parse("SEMVER(a) LIKE '1.%'")
