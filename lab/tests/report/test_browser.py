"""The page in headless Chromium: it is quiet, its selectors work, it fits a phone, it can be used by keyboard."""

import pytest

pytest.importorskip("tyro")

from rewind.cli import main
from rewind_lab.paper.results import write_jsonl

from .browser import Browser, find_browser
from .synthetic import rows

pytestmark = pytest.mark.skipif(find_browser() is None, reason="there is no Chromium here")

CURVES = '.panel[data-name="curves"]'
PATHS = (
    f"[...document.querySelectorAll('{CURVES} path.series')].map(each => each.dataset.method + each.getAttribute('d'))"
)
DRAWN = f"[...document.querySelectorAll('{CURVES} path.series')].map(each => each.dataset.method)"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    sets = ["hopper-medium-v2", "walker2d-medium-replay-v2", "antmaze-umaze-v0"]
    made = rows(tables=("2", "td3_bc"), datasets=sets) + rows(tables=("1",), datasets=sets[:1], algorithms=["iql"])
    write_jsonl(folder / "groups" / "group.jsonl", made)
    main(["report", str(folder)])
    return folder / "report.html"


@pytest.fixture(scope="module")
def shared():
    with Browser() as browser:
        yield browser


@pytest.fixture
def browser(shared):
    """Nothing may go wrong on a page, whatever a test does with it."""
    shared.problems.clear()
    yield shared
    assert shared.problems == []


def test_what_goes_wrong_on_a_page_is_noticed(shared, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text('<img src="http://127.0.0.1:9/x.png"><script>console.error("no"); nothing.there</script>')
    shared.open(bad)
    told = " ".join(shared.problems)
    assert "asked for http://127.0.0.1:9/x.png" in told and '"no"' in told and "nothing is not defined" in told


def choose(browser, role, value):
    browser.do(
        f"(() => {{ const select = document.querySelector('{CURVES} [data-role={role}]'); select.value = '{value}';"
        " select.dispatchEvent(new Event('change')); })()"
    )


def tick(browser, label):
    browser.do(f"document.querySelector('{CURVES} input[value=\"{label}\"]').click()")


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_a_page_is_quiet_and_never_wider_than_the_screen(browser, page, width, dark):
    browser.open(page, width, 800, dark, touch=width < 500)
    assert browser.do("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert browser.do("document.querySelectorAll('path.series').length") == 8  # four methods in each of two charts
    ground = browser.do("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(20, 23, 26)" if dark else "rgb(255, 255, 255)")


def test_a_page_without_anything_to_draw_says_so(browser, tmp_path):
    made = rows(tables=("2",), datasets=["hopper-medium-v2"], seeds=[0])
    broken = [row | {"score": None, "alive": False} for row in made]
    write_jsonl(tmp_path / "groups" / "group.jsonl", broken)
    main(["report", str(tmp_path)])
    browser.open(tmp_path / "report.html")
    assert "nothing to draw" in browser.do(f"document.querySelector('{CURVES}').textContent")


def test_a_single_evaluation_is_a_point(browser, tmp_path):
    made = rows(tables=("2",), datasets=["hopper-medium-v2"], seeds=[0])
    write_jsonl(tmp_path / "groups" / "group.jsonl", [row for row in made if row["step"] == row["steps"]])
    main(["report", str(tmp_path)])
    browser.open(tmp_path / "report.html")
    assert browser.do(f"document.querySelectorAll('{CURVES} circle.alone').length") == len(browser.do(DRAWN)) > 0


def test_another_data_set_draws_other_curves(browser, page):
    browser.open(page)
    before = browser.do(PATHS)
    choose(browser, "first", "rewind/antmaze-umaze-v0")
    after = browser.do(PATHS)
    assert len(before) == len(after) == 4 and not set(before) & set(after)
    assert "antmaze-umaze, TD3+BC" in browser.do(f"document.querySelector('{CURVES} h3').textContent")


def test_another_agent_draws_other_curves_and_offers_only_what_it_has(browser, page):
    browser.open(page)
    before = browser.do(PATHS)
    choose(browser, "agent", "iql")
    assert browser.do(DRAWN) == ["Baseline", "TR"]
    assert not set(before) & set(browser.do(PATHS))
    assert browser.do(f"document.querySelector('{CURVES} input[value=SARSA]').disabled")
    choose(browser, "first", "rewind/walker2d-medium-replay-v0")  # which has no runs of IQL
    assert browser.do(f"document.querySelector('{CURVES} [data-role=agent]').value") == "td3_bc"
    assert len(browser.do(DRAWN)) == 4


def test_methods_are_drawn_as_ticked(browser, page):
    browser.open(page)
    tick(browser, "SARSA")
    tick(browser, "UQM reward")
    assert browser.do(DRAWN) == ["Baseline", "TR", "Weighted", "UQM reward"]
    assert "UQM reward" in browser.do(f"document.querySelector('{CURVES} .legend').textContent")
    assert "UQM reward" in browser.do(f"document.querySelector('{CURVES} [data-role=numbers]').textContent")
    press = f"[...document.querySelectorAll('{CURVES} button')].find(each => each.textContent === '%s').click()"
    browser.do(press % "Lower uncertainty")
    assert browser.do(DRAWN)[2:] == ["Lower mean unc.", "Lower LQM unc.", "Lower UQM unc."]
    browser.do(press % "None")
    assert browser.do(DRAWN) == []
    assert "Nothing is selected" in browser.do(f"document.querySelector('{CURVES} .chart').textContent")


def test_values_are_read_by_pointer_and_by_keyboard(browser, page):
    browser.open(page)
    read = f"document.querySelector('{CURVES} .readout').textContent"
    browser.do(f"document.querySelector('{CURVES} .chart svg').focus()")
    browser.press("ArrowRight", 39)
    first = browser.do(read)
    browser.press("ArrowRight", 39)
    second = browser.do(read)
    assert first.startswith("updates 100,000: Baseline ") and second.startswith("updates 200,000: Baseline ")
    drawn = f"document.querySelector('{CURVES} .chart svg').viewBox.baseVal.width"
    wide = browser.do(drawn)
    browser.resize(700)
    browser.until(f"{drawn} < {wide}")
    assert browser.do(read) == second
    assert browser.do(f"document.querySelector('{CURVES} .chart svg [visibility=visible]') !== null")
    browser.press("ArrowRight", 39)  # the chart was drawn anew, and still has the focus
    assert browser.do(read).startswith("updates 300,000: Baseline ")
    browser.do(
        f"(() => {{ const svg = document.querySelector('{CURVES} .chart svg'), box = svg.getBoundingClientRect();"
        " svg.dispatchEvent(new PointerEvent('pointermove', {clientX: box.right - 20, clientY: box.top + 50})); })()"
    )
    assert browser.do(read).startswith("updates 1,000,000: ")


def test_a_box_keeps_the_focus_that_ticked_it(browser, page):
    browser.open(page)
    browser.do(f"document.querySelector('{CURVES} input[value=Return]').focus()")
    browser.press(" ", 32)
    assert "Return" in browser.do(DRAWN)
    assert browser.do("document.activeElement.value") == "Return"


def test_colours_follow_the_button_and_then_the_system_again(browser, page):
    browser.open(page, dark=False)
    ground = "getComputedStyle(document.body).backgroundColor"
    found = []
    for _ in range(3):
        browser.do("document.getElementById('theme').click()")
        found.append((browser.do("document.getElementById('theme').getAttribute('aria-label')"), browser.do(ground)))
    assert found == [
        ("Colours: light", "rgb(255, 255, 255)"),
        ("Colours: dark", "rgb(20, 23, 26)"),
        ("Colours: automatic", "rgb(255, 255, 255)"),
    ]


def test_on_paper_everything_is_open_light_and_without_controls(browser, page, tmp_path):
    browser.open(page, dark=True, media="print")
    assert browser.do("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.do("getComputedStyle(document.body).color") == "rgb(29, 33, 37)"
    browser.print(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    assert browser.do("[...document.querySelectorAll('details')].every(each => each.open)")


def test_everything_that_can_be_used_has_a_name(browser, page):
    browser.open(page)
    tree = browser.call("Accessibility.getFullAXTree")["nodes"]
    used = ("button", "checkbox", "combobox", "link", "img", "image", "table", "region", "navigation", "heading")
    seen = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node.get("ignored")]
    named = [(role, name) for role, name in seen if role in used]
    assert len(named) > 100
    assert [role for role, name in named if not name.strip()] == []
