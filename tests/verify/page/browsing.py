"""A real browser without a window: Chromium, with nothing of anybody's in it."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains

_FLAGS = (
    "--headless",
    "--no-sandbox",  # in a container there is no other user to fall back to
    "--disable-gpu",
    "--disable-quic",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_NAMES = ("chromium", "chromium-browser", "google-chrome")


class Browser:
    """One browser with one page."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver
        self.command("Network.enable", {})

    def command(self, name: str, values: dict[str, Any]) -> dict[str, Any]:
        """Send a command of Chromium's own protocol."""
        found: dict[str, Any] = self.driver.execute_cdp_cmd(name, values)
        return found

    def open(self, page: Path | str) -> None:
        """Open a file, or a page by its address."""
        self.driver.get(page if isinstance(page, str) else page.as_uri())

    def ask(self, script: str, *values: object) -> Any:
        """Run a script of the test, which no policy of the page hinders, and give its result."""
        return self.driver.execute_script(script, *values)

    def frame(self) -> None:
        """Wait until what has changed is drawn."""
        twice = "let done = arguments[0], next = requestAnimationFrame; next(() => next(done))"
        self.driver.execute_async_script(twice)

    def show(
        self,
        *,
        scheme: str = "light",
        media: str = "screen",
        width: int = 1200,
        height: int = 900,
    ) -> None:
        """Show the page in a theme, on a screen or on paper, in a window of so many pixels."""
        theme = {"name": "prefers-color-scheme", "value": scheme}
        self.command("Emulation.setEmulatedMedia", {"media": media, "features": [theme]})
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", size)

    def press(self, key: str) -> None:
        """Press a key wherever the focus is."""
        ActionChains(self.driver).send_keys(key).perform()

    def said(self) -> list[str]:
        """Give what the console has said since the last time: violated policies as well."""
        return [str(entry["message"]) for entry in self._logged("browser")]

    def requested(self) -> list[str]:
        """Give the addresses that were asked for since the last time."""
        events = [json.loads(entry["message"])["message"] for entry in self._logged("performance")]
        sent = [event for event in events if event["method"] == "Network.requestWillBeSent"]
        return [str(event["params"]["request"]["url"]) for event in sent]

    def _logged(self, kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.driver.get_log(kind)  # type: ignore[no-untyped-call]
        return found

    def picture(self, file: Path) -> None:
        """Write what the window shows as PNG."""
        self.frame()
        shot = self.command("Page.captureScreenshot", {"format": "png"})
        file.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start a browser that keeps all it has in a new, empty folder."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        raise RuntimeError("install chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*_FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield Browser(started)
    finally:
        started.quit()
