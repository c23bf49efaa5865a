"""Every index that the registry names can be built, loaded and asked."""

from __future__ import annotations

import pytest

import tocsin
from tocsin.index import Chosen, choose, disseminators, find_index, parse_index, registrations


def test_names_are_distinct_and_described() -> None:
    """Each registration says what it answers and where it comes from."""
    names = [registration.name for registration in registrations()]
    of_windows = [registration.name for registration in disseminators()]

    assert len({*names, *of_windows}) == len(names) + len(of_windows), "one list shows both"
    assert len(set(names)) == len(names)
    assert "auto" not in names
    assert all(r.question and r.shapes and r.source for r in registrations())
    assert all(find_index(name).name == name for name in names)


@pytest.mark.parametrize("name", ["", "Scan", "scan ", "opindexx", "auto", "\n"])
def test_an_unknown_name_is_refused(name: str) -> None:
    """The message shows what came and lists what there is."""
    there = r"There are: auto, access, scan, .* and of packages, .* opindex"
    with pytest.raises(tocsin.UnknownIndex, match=there) as caught:
        find_index(name)
    assert repr(name) in str(caught.value)


def test_the_planner_says_why() -> None:
    """A plan names a registered index and a reason, for `auto` and for a name."""
    for asked in ("auto", "scan"):
        plan = choose(asked)

        assert find_index(plan.index).name == plan.index
        assert plan.reason


@pytest.mark.parametrize(
    "name", ["access(", "access(a=1)", "scan(a=x)", "scan(1)", "access(a=1, a=2)", "opindex(segments=1, segments=2)"]
)
def test_an_option_that_an_index_does_not_have_is_refused(name: str) -> None:
    """The message shows what came and what there is."""
    with pytest.raises(tocsin.UnknownIndex):
        parse_index(name)


@pytest.mark.parametrize("name", ["ir_tree(branching=1)", "be_tree(max_cap=0)", "opindex(segments=0)"])
def test_an_option_out_of_range_is_refused_at_once(name: str) -> None:
    """Before anything is subscribed."""
    with pytest.raises(tocsin.InvalidInput, match=r"is [01]"):
        tocsin.Engine(name)


def test_a_ranker_by_name_leaves_matches_to_access() -> None:
    """The plan says so, and how it was asked for."""
    plan = choose("ir_tree(branching=8)")

    assert (plan.index, plan.asked) == ("access", "ir_tree(branching=8)")
    assert plan.others == {"the best first": Chosen("ir_tree", {"branching": 8})}
    assert "relaxed" in plan.reason


@pytest.mark.parametrize("name", ["scan()", " scan ( ) "])
def test_no_options_are_no_options(name: str) -> None:
    registration, options = parse_index(name)
    assert registration.name == "scan"
    assert options == {}
