"""The reference of the public names: docstrings that describe every parameter, and signatures that hide none.

A parameter that several calls take is described once. Elsewhere its entry is "As in `tocsin.match`.", or names another
call that describes it.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

PUBLIC: Final = {"tocsin": "tocsin.public", "tocsin.spark": "tocsin.spark.public", "tocsin.indexes": "tocsin.indexes"}
HEADING: Final = re.compile(r"^(\w+)\n-+$", re.MULTILINE)
ENTRY: Final = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .+)?$", re.MULTILINE)
NOT_FOR_CALLERS: Final = (
    "tocsin.AsyncServedWindow",
    "tocsin.DurableEngine",
    "tocsin.DurableFences",
    "tocsin.DurableWindow",
    "tocsin.Matches",
    "tocsin.ServedWindow",
)
"""Classes that only tocsin makes, from parts that are not public."""
REFERENCE: Final = re.compile(r"As in `([\w.]+)`\.")


def members(path: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """A public function, or a class with the methods and properties that tocsin defines for it."""
    yield path, thing
    for owner in reversed(inspect.getmro(thing)) if inspect.isclass(thing) else ():
        for name, member in vars(owner).items() if owner.__module__.startswith("tocsin") else ():
            plain = getattr(member, "__func__", member)
            if not name.startswith("_") and (inspect.isfunction(plain) or isinstance(member, property)):
                yield f"{path}.{name}", plain


REFERENCE_OF: Final[dict[str, Any]] = {
    name: member
    for package, module in PUBLIC.items()
    for public in importlib.import_module(module).__all__
    for name, member in members(f"{package}.{public}", getattr(importlib.import_module(module), public))
    if package != "tocsin.indexes" or getattr(member, "__module__", "").startswith(package)
}
FUNCTIONS: Final = [name for name, member in REFERENCE_OF.items() if inspect.isfunction(member)]
CLASSES: Final = [name for name, member in REFERENCE_OF.items() if inspect.isclass(member)]
PUBLIC_CLASSES: Final = [[REFERENCE_OF[name]] for name in CLASSES]


def sections(name: str) -> dict[str, str]:
    """The parts of a docstring by their headings; the part before the first heading has none."""
    parts = HEADING.split(inspect.cleandoc(REFERENCE_OF[name].__doc__ or ""))
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def described(name: str, *headings: str) -> dict[str, str]:
    """The text of each entry of some sections of a docstring."""
    found = sections(name)
    parts = [part for heading in headings for part in ENTRY.split(found.get(heading, ""))[1:]]
    return {one: text.strip() for names, text in zip(parts[::2], parts[1::2], strict=True) for one in names.split(", ")}


def parameters(name: str) -> dict[str, inspect.Parameter]:
    """The parameters of a function, by their names as a docstring writes them."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    given = inspect.signature(REFERENCE_OF[name]).parameters
    return {stars.get(one.kind, "") + key: one for key, one in given.items() if key not in ("self", "cls")}


@pytest.mark.parametrize("name", REFERENCE_OF)
def test_what_is_public_says_in_one_line_what_it_is(name: str) -> None:
    """Functions, classes, methods and properties have docstrings of their own that begin with a sentence."""
    first = sections(name)[""].partition("\n\n")[0].rstrip()

    assert first.endswith("."), f"{name} has no docstring that begins with a sentence"
    assert "\n" not in first


@pytest.mark.parametrize("name", REFERENCE_OF)
def test_headings_have_a_line_of_their_own(name: str) -> None:
    """A heading that is wrapped into its text makes no section, and the site shows the dashes."""
    assert not any(" -----" in text for text in sections(name).values())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_are_described(name: str) -> None:
    """Each in the function's docstring, or in that of a public call to which it refers; so is what is returned."""
    told = described(name, "Parameters")

    assert list(told) == list(parameters(name))
    for one, text in told.items():
        assert text, f"{name} says nothing of {one}"
        for other in REFERENCE.findall(text):
            there = described(other, "Parameters", "Attributes")
            assert one in there, f"{name} refers for {one} to {other}, which does not have it"
            assert not REFERENCE.search(there[one]), f"{name} refers for {one} to {other}, which refers further"
    for names in ENTRY.findall(sections(name).get("Parameters", "")):
        kinds = {parameters(name)[one].annotation for one in names.split(", ")}
        assert len(kinds) == 1, f"{name} describes {names} in one entry, but they have several types"
    assert ("Returns" in sections(name)) == (inspect.signature(REFERENCE_OF[name]).return_annotation != "None")


@pytest.mark.parametrize("name", CLASSES)
def test_fields_are_described(name: str) -> None:
    """Those of a class, and the parameters by which it is made."""
    kind = REFERENCE_OF[name]
    fields = {one.name for one in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    made = {f"{one}" for one in vars(kind).get("__annotations__", {}) if hasattr(kind, "_fields")}
    makers = [one for one in kind.__mro__ if "__init__" in vars(one) and one.__module__.startswith("tocsin")]
    is_told_elsewhere = name in NOT_FOR_CALLERS or (makers[:1] != [kind] and makers[:1] in PUBLIC_CLASSES)
    given = set(parameters(name)) if makers and not is_told_elsewhere else set()
    own = {one for one in fields | made | given if not one.startswith("_")}

    told = described(name, "Parameters", "Attributes")
    assert own <= set(told) and all(told.values()), f"{name} does not describe {sorted(own - set(told))}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_hide_nothing(name: str) -> None:
    """A public function takes no further arguments of any kind and name."""
    for one in inspect.signature(REFERENCE_OF[name]).parameters.values():
        is_open = one.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

        assert not (is_open and (one.name == "options" or one.annotation in ("Any", inspect.Parameter.empty)))
