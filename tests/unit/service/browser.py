"""A browser without a window, and axe-core, which looks for what keeps people from using a page."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

AXE = "axe-core@4.10.3"  # of the npm registry; it is not ours to keep here
_SECONDS = 60  # that anything may take on a machine that is busy with other things


def find_browser() -> tuple[str, str]:
    """Debian's chromium and its driver, or what is called so elsewhere."""
    pytest.importorskip("selenium", reason="the page is tested with selenium: pip install selenium")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("there is no chromium to test the page with: apt-get install chromium chromium-driver")
    return browser, driver


class Browser:
    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", selector))

    def wait(self, condition: str, *values: object) -> Any:
        """Until this expression of JavaScript is true."""
        from selenium.webdriver.support.ui import WebDriverWait

        script = f"return {condition}"
        return WebDriverWait(self.driver, _SECONDS, 0.05).until(lambda driver: driver.execute_script(script, *values))

    def poll(self, condition: Callable[[], Any]) -> None:
        """Until this holds; the page may be on its way to the next meanwhile."""
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, _SECONDS, 0.05, (WebDriverException,)).until(lambda driver: condition())

    def wait_for_text(self, selector: str, words: str) -> None:
        self.wait(f"document.querySelector({selector!r})?.textContent.includes(arguments[0])", words)

    def run(self, script: str, *values: object) -> Any:
        return self.driver.execute_script(script, *values)

    def tell(self, command: str, **values: object) -> None:
        self.driver.execute_cdp_cmd(command, values)

    def size(self, width: int, height: int) -> None:
        self.tell(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def scheme(self, name: str) -> None:
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def scripts(self, on: bool) -> None:
        self.tell("Emulation.setScriptExecutionDisabled", value=not on)

    def violations(self, axe: str) -> list[str]:
        """What axe finds wrong with the page as it is now, and where."""
        self.run(axe)
        found = self.driver.execute_async_script("const done = arguments[0]; axe.run().then((r) => done(r.violations))")
        return [f"{each['id']}: {node['html'][:120]}" for each in found for node in each["nodes"]]


@contextmanager
def open_browser() -> Iterator[Browser]:
    browser, driver_path = find_browser()
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--lang=en"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    try:
        driver.set_script_timeout(_SECONDS)
        yield Browser(driver)
    finally:
        driver.quit()


@functools.cache
def read_axe(folder: Path) -> str:
    """axe-core's script, from the package index of npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm to fetch axe-core with")
    ran = subprocess.run([npm, "pack", "--silent", AXE], cwd=folder, capture_output=True, text=True, timeout=120)
    if ran.returncode:
        pytest.skip("axe-core cannot be fetched from the npm registry")
    with tarfile.open(folder / ran.stdout.strip().splitlines()[-1]) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()
