"""Fixtures for tests of a page in headless Chromium, driven by Playwright: `visit` opens one."""

import shutil

import pytest

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage")  # fmt: skip


@pytest.fixture(scope="module")  # Playwright's event loop stays in the thread: not longer than one file of tests
def chromium():
    """The browser that the machine has; Playwright must not download its own."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = [path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))]
    if not found:
        pytest.skip("this machine has no Chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found[0], args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """A function that opens a page from disk; the test fails if anything goes wrong on it."""
    problems = []

    def visit(path, **options):
        return open_page(chromium, path, problems, **options)

    yield visit
    for context in chromium.contexts:
        context.close()
    assert problems == []


def open_page(chromium, path, problems, width=1280, height=900, dark=False, media=None, touch=False):
    """A Playwright page; `problems` collects errors, warnings, and requests for anything but the page itself."""
    page = chromium.new_page(viewport={"width": width, "height": height}, is_mobile=touch, has_touch=touch)
    page.emulate_media(media=media, color_scheme="dark" if dark else "light")

    def on_console(message):
        if message.type in ("error", "warning", "assert"):
            problems.append(message.text)

    def on_request(request):
        if not request.url.startswith(("file:", "data:")):
            problems.append(f"asked for {request.url}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", on_request)
    page.goto(path.resolve().as_uri())
    return page


def series(root):
    """The methods that a chart draws, and the path of each."""
    return root.locator("path.series").evaluate_all(
        "paths => paths.map(path => [path.dataset.method, path.getAttribute('d')])"
    )


def fits_the_screen(page):
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
