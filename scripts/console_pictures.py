"""Take the pictures of docs/console.md: each view of the console, light and dark, on the planes of the demo.

    python scripts/console_pictures.py [VIEW ...]

It starts `tocsin demo service --console` and looks at it with Chromium.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from playwright.sync_api import Page, sync_playwright

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "pictures"
_SIZE: Final = {"width": 1360, "height": 850}
_EVENT: Final = {
    "plane": "B61018 JFK-BOS", "origin": "JFK", "dest": "BOS", "late": 3, "location": [-71.3, 42.1],
}  # fmt: skip
_WARM_S: Final = 40.0


def _overview(page: Page) -> None:
    page.wait_for_timeout(_WARM_S * 1000)


def _live(page: Page) -> None:
    page.wait_for_timeout(8000)
    page.get_by_label("Destination").select_option("friends")
    page.wait_for_timeout(3000)
    page.get_by_role("button", name="Pause").click()
    page.locator(".ring-row").nth(4).click()
    page.wait_for_timeout(1500)


def _map(page: Page) -> None:
    page.wait_for_timeout(15_000)


def _subscriptions(page: Page) -> None:
    page.get_by_label("Id", exact=True).fill("newark-late")
    page.get_by_label("Condition", exact=True).fill("late >= 30 AND\norigin IN ('EWR', 'LGA')")
    page.get_by_text("understood").wait_for()
    page.get_by_role("button", name="Dry-run").click()
    page.get_by_label("The dry run").scroll_into_view_if_needed()


def _mistake(page: Page) -> None:
    page.get_by_label("Id", exact=True).fill("newark-late")
    page.get_by_label("Condition", exact=True).fill("late >= AND\norigin IN ('EWR', 'LGA')")
    page.locator(".caret").wait_for()


def _explain(page: Page) -> None:
    page.locator(".explained").first.wait_for()
    page.wait_for_timeout(1500)


def _windows(page: Page) -> None:
    page.wait_for_timeout(4000)


def _deliveries(page: Page) -> None:
    page.get_by_role("button", name="Dead letters").click()
    page.locator(".letters li").first.wait_for()
    page.locator(".letters summary").first.click()
    page.wait_for_timeout(500)


VIEWS: Final[Mapping[str, tuple[str, Callable[[Page], None]]]] = {
    "overview": ("overview", _overview),
    "live": ("live", _live),
    "map": ("map", _map),
    "subscriptions": ("subscriptions?new=1", _subscriptions),
    "mistake": ("subscriptions?new=1", _mistake),
    "explain": (f"explain?event={json.dumps(_EVENT)}", _explain),
    "deliveries": ("deliveries?destination=partner", _deliveries),
    "windows": ("windows", _windows),
}


def main(chosen: list[str]) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("there is no Chromium here: sh scripts/chromium.sh")
    command = [sys.executable, "-m", "tocsin", "demo", "service", "--console"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo, sync_playwright() as playwright:
        assert demo.stdout is not None
        found = re.search(r"http://\S+/", demo.stdout.readline())
        assert found is not None, "the demo did not start"
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for theme in ("dark", "light"):
            for name in chosen or VIEWS:
                context = browser.new_context(viewport=_SIZE, color_scheme=theme, reduced_motion="reduce")
                page = context.new_page()
                place, prepare = VIEWS[name]
                page.goto(f"{found[0]}#/{place}")
                prepare(page)
                page.screenshot(path=FOLDER / f"console-{name}-{theme}.png")
                print(f"console-{name}-{theme}.png", flush=True)
                context.close()
        browser.close()
        demo.terminate()


if __name__ == "__main__":
    main(sys.argv[1:])
