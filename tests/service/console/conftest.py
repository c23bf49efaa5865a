"""A headless Chromium, and pages of the console in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from tests.waiting import HANG_S

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TROUBLES: Final = ("error", "warning")


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    expect.set_options(timeout=HANG_S * 1000)
    with sync_playwright() as one:
        yield one


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None and not os.environ.get("CI"):
        pytest.skip("there is no Chromium here; on Debian or Ubuntu: sh scripts/chromium.sh")
    one = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
    yield one
    one.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    one = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    one.set_default_timeout(HANG_S * 1000)
    yield one
    one.close()


class Watched:
    """What a page said that it should not: errors of scripts, refusals of the policy, dialogs."""

    def __init__(self, page: Page) -> None:
        self.said: list[str] = []
        page.on("console", lambda one: self.said.append(one.text) if one.type in TROUBLES else None)
        page.on("pageerror", lambda one: self.said.append(str(one)))
        page.on("dialog", self._dialog)

    def _dialog(self, dialog: Any) -> None:
        self.said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def without(self, *expected: str) -> list[str]:
        """What was said beside texts that are expected."""
        return [one for one in self.said if not any(text in one for text in expected)]


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    yield context.new_page()


@pytest.fixture
def watched(page: Page) -> Watched:
    return Watched(page)
