"""The page in a real browser: what a person does with it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from .browser import Browser, open_browser, read_axe
from .conftest import Running, Start

THREE = {
    "notes.txt": "One. Two.",
    "page.html": "<p>One <b>word</b>.</p>",
    "film.srt": "1\n00:00:01,000 --> 00:00:02,000\nOne.\n",
}


@pytest.fixture(scope="module")
def only_browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def browser(only_browser: Browser) -> Iterator[Browser]:
    only_browser.scripts(True)
    only_browser.scheme("light")
    only_browser.size(1100, 1000)
    yield only_browser
    only_browser.scripts(True)
    errors = [line["message"] for line in only_browser.driver.get_log("browser") if "javascript" in line["source"]]
    assert not errors
    only_browser.run(
        "const ids = JSON.parse(localStorage.getItem('docflat-jobs') || '[]'); localStorage.clear();"
        "return Promise.all(ids.map((id) => fetch('/api/jobs/' + id, { method: 'DELETE' }).catch(() => null)))"
    )


@pytest.fixture
def page(browser: Browser, shared: Running) -> Browser:
    browser.driver.get(f"{shared.url}/?lang=en")
    return browser


def choose(page: Browser, folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)
    page.find("#files").send_keys("\n".join(str(folder / name) for name in files))


def translate(page: Browser, text: str) -> None:
    from selenium.webdriver.common.keys import Keys

    page.find("#text").clear()
    page.find("#text").send_keys(text, Keys.CONTROL, Keys.ENTER)
    page.wait("!document.getElementById('translate').disabled")


def test_a_text_and_what_context_changed_in_it(page: Browser) -> None:
    translate(page, "One. Two.")
    page.wait_for_text("#translation", "oNE. tWO. nach 1")
    assert [mark.text for mark in page.all("mark")] == ["nach 1"]
    page.find("mark").send_keys("")  # a mark takes the focus
    page.run("document.querySelector('mark').focus()")
    assert page.find("mark .alone").text == "without context: not there"
    assert "Marked words" in page.find("#explained").text
    page.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.find("#copy").click()
    assert page.wait("window.copied") == "oNE. tWO. nach 1"
    page.find("#compare").click()
    translate(page, "One. Three.")
    page.wait_for_text("#translation", "tHREE")
    assert not page.all("mark")


def test_a_text_that_takes_long_can_be_stopped(page: Browser) -> None:
    page.find("#text").send_keys("sleep 500")
    page.find("#translate").click()
    page.find("#stop").click()
    page.wait("!document.getElementById('translate').disabled")
    translate(page, "One.")
    page.wait_for_text("#translation", "oNE.")


def test_three_files_at_once(page: Browser, tmp_path: Path) -> None:
    choose(page, tmp_path, THREE)
    page.wait("document.querySelectorAll('#jobs a.main').length == 3")
    assert sorted(name.text for name in page.all("#jobs .file")) == sorted(THREE)
    found = page.run(
        "const links = [...document.querySelectorAll('#jobs a.main')];"
        "return Promise.all(links.map((link) => fetch(link.href).then((answer) => answer.text())))"
    )
    assert sorted(found) == sorted(
        ["oNE. tWO. nach 1", "<p>oNE <b>WORD</b>.</p>", THREE["film.srt"].replace("One", "oNE")]
    )
    assert "context changed 1" in page.find("#jobs").text
    page.driver.refresh()
    page.wait("document.querySelectorAll('#jobs a.main').length == 3")
    for _ in THREE:
        before = len(page.all("#jobs li"))
        page.find("#jobs button").click()
        page.wait(f"document.querySelectorAll('#jobs li').length == {before - 1}")
    assert "stay on the server for 24 hours" in page.find("#no-jobs").text


def test_files_can_be_dropped(page: Browser) -> None:
    page.run(
        "const data = new DataTransfer(); data.items.add(new File(['One.'], 'dropped.txt'));"
        "document.getElementById('drop').dispatchEvent("
        "new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))"
    )
    page.wait("document.querySelectorAll('#jobs a.main').length == 1")
    assert page.find("#jobs .file").text == "dropped.txt"


def test_progress_survives_a_reload_and_a_job_can_be_cancelled(page: Browser, tmp_path: Path) -> None:
    choose(page, tmp_path, {"long.txt": "One. " * 3 + "sleep 1000"})
    page.wait("document.querySelector('#jobs progress')?.value >= 3")
    assert "3 of 8 sentences" in page.find("#jobs .state").text  # twice four: with and without context
    page.driver.refresh()
    page.wait("document.querySelector('#jobs progress')?.value >= 3")
    assert page.find("#jobs button").get_attribute("aria-label") == "Cancel long.txt"
    page.find("#jobs button").click()
    page.wait("!document.querySelector('#jobs li')")


def test_a_restart_of_the_server_in_the_middle(browser: Browser, start: Start, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with start(port=port) as service:
        browser.driver.get(f"{service.url}/?lang=de")
        choose(browser, tmp_path, {"long.txt": "One. sleep 2000"})
        browser.wait("document.querySelector('#jobs progress')?.value >= 1")
    browser.wait_for_text("#problem", "Der Server antwortet nicht")
    with start(port=port, loader="stub_model:load_awake"):
        browser.wait("document.querySelector('#jobs a.main')")
        browser.wait("document.getElementById('problem').hidden")


def test_what_is_wrong_is_said_on_the_page(browser: Browser, start: Start, tmp_path: Path) -> None:
    with start(most_upload=1 << 20, document_seconds=1.0) as service:
        browser.driver.get(f"{service.url}/?lang=de")
        choose(browser, tmp_path, {"large.txt": "x" * (2 << 20)})
        browser.wait_for_text("#problem", "large.txt ist zu groß: höchstens 1 MiB")
        choose(browser, tmp_path, {"a.exe": "x"})
        browser.wait_for_text("#problem", "a.exe: Dateien dieser Art (.exe)")
        choose(browser, tmp_path, {"broken.docx": "PK"})
        browser.wait_for_text("#jobs .state.problem", "broken.docx")
        choose(browser, tmp_path, {"long.txt": "sleep 500 " + "x" * 500, "next.txt": "One."})
        browser.wait_for_text("#problem", "next.txt: Der Server ist ausgelastet")
        browser.run("document.getElementById('text').removeAttribute('maxlength')")
        browser.run("document.getElementById('text').value = 'x'.repeat(50001)")
        browser.find("#translate").click()
        browser.wait_for_text("#problem", "50001 Zeichen")


def test_the_glossary_is_a_table(page: Browser, tmp_path: Path) -> None:
    page.find("#glossary-card summary").click()
    cells = page.all("#glossary-table input")
    cells[0].send_keys("cat")
    cells[1].send_keys("42\n")
    assert page.run("return document.activeElement.closest('tr').rowIndex") == 2
    page.run(
        "const data = new DataTransfer(); data.setData('text', 'dog\\t43\\ncow\\t44');"
        "document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, cancelable: true }))"
    )
    assert page.run("return document.getElementById('glossary').value") == "cat\t42\ndog\t43\ncow\t44"
    page.find("#terms").send_keys("Acme")
    page.driver.refresh()
    assert len(page.all("#glossary-table tbody tr")) == 3
    for text, translation in (("A cat.", "a 42."), ("At Acme.", "aT Acme")):
        translate(page, text)
        page.wait_for_text("#translation", translation)
    page.find("#glossary-table tbody button").click()
    assert page.run("return document.getElementById('glossary').value") == "dog\t43\ncow\t44"


def test_a_phone_and_the_dark(page: Browser, tmp_path: Path) -> None:
    page.size(360, 780)
    page.find("#glossary-card summary").click()
    choose(page, tmp_path, {"a_name_without_any_place_to_break_that_is_longer_than_a_phone_is_wide.txt": "One. Two."})
    translate(page, "One. " * 30)
    page.wait("document.querySelectorAll('#jobs a.main').length == 1")
    for address in (None, page.find("#jobs a:nth-of-type(2)").get_attribute("href")):
        if address:
            page.driver.get(address)
        for mark in page.all("mark")[:3]:
            page.run("arguments[0].focus()", mark)
        wide = "return [...document.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > 361)"
        assert not [element.get_attribute("outerHTML")[:100] for element in page.run(wide)]
        assert page.run("return document.documentElement.scrollWidth") <= 360
    page.scheme("dark")
    dark = page.run("return getComputedStyle(document.body).backgroundColor")
    page.scheme("light")
    assert page.run("return getComputedStyle(document.body).backgroundColor") != dark


def test_the_theme_can_be_chosen_and_stays(page: Browser) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(ground)
    page.find("#theme").click()
    dark = page.run(ground)
    assert dark != light
    page.driver.refresh()
    assert page.wait("document.documentElement.dataset.theme") == "dark"
    assert page.run(ground) == dark


def test_without_javascript(browser: Browser, shared: Running, tmp_path: Path) -> None:
    browser.driver.get("about:blank")
    browser.scripts(False)
    browser.driver.get(f"{shared.url}/?lang=en")
    browser.find("#text").send_keys("One. Two.")
    browser.find("#translate").click()
    browser.poll(lambda: "oNE. tWO. nach 1" in browser.find("#translation").get_attribute("textContent"))
    choose(browser, tmp_path, {"notes.txt": "One. sleep 50"})
    browser.find("#send").click()
    browser.poll(lambda: browser.all("a.main"))  # the page loads itself again until then
    assert browser.find("a.main").get_attribute("href").endswith("/files/1/result")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Browser, shared: Running, tmp_path: Path, scheme: str, axe: str) -> None:
    page.scheme(scheme)
    assert page.violations(axe) == []
    page.find("#glossary-card summary").click()
    choose(page, tmp_path, {"notes.txt": "One. Two.", "broken.docx": "PK", "long.txt": "One. sleep 9000"})
    page.wait("document.querySelectorAll('#jobs a.main').length == 1 && document.querySelector('#jobs progress')")
    translate(page, "One. Two.")
    page.run("document.querySelector('mark').focus()")
    page.run("document.getElementById('problem').hidden = false; document.getElementById('problem').textContent = 'x'")
    assert page.violations(axe) == []
    beside = page.find("#jobs a:nth-of-type(2)").get_attribute("href")
    for address in (beside, beside.replace("/api/", "/").replace("/side-by-side", "")):
        page.driver.get(address)
        assert page.violations(axe) == []


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return read_axe(tmp_path_factory.mktemp("axe"))
