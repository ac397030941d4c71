"""The page in headless Chromium: it is quiet, its selectors work, it fits a phone, it can be used by keyboard."""

import pytest

pytest.importorskip("tyro")

from tests.report.browser import fits_the_screen, open_page, series

from rewind.cli import main
from rewind.evaluation.rows import write_jsonl

from .synthetic import rows


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    sets = ["hopper-medium-v2", "walker2d-medium-replay-v2", "antmaze-umaze-v0"]
    made = rows(tables=("2", "td3_bc"), datasets=sets) + rows(tables=("1",), datasets=sets[:1], algorithms=["iql"])
    write_jsonl(folder / "groups" / "group.jsonl", made)
    main(["paper", "report", str(folder)])
    return folder / "report.html"


def curves_of(page):
    return page.locator('.panel[data-name="curves"]')


def choose(curves, role, value):
    curves.locator(f"[data-role={role}]").select_option(value)


def tick(curves, label):
    curves.get_by_label(label, exact=True).click()


def drawn(curves):
    return [method for method, _ in series(curves)]


def paths(curves):
    return {method + path for method, path in series(curves)}


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_what_goes_wrong_on_a_page_is_noticed(chromium, tmp_path):
    bad, problems = tmp_path / "bad.html", []
    bad.write_text('<img src="http://127.0.0.1:9/x.png"><script>console.error("no"); nothing.there</script>')
    open_page(chromium, bad, problems).context.close()
    text = " ".join(problems)
    assert "asked for http://127.0.0.1:9/x.png" in text and "no" in problems and "nothing is not defined" in text


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_a_page_is_quiet_and_never_wider_than_the_screen(visit, report, width, dark):
    page = visit(report, width=width, height=800, dark=dark, touch=width < 500)
    assert fits_the_screen(page)
    assert page.locator("path.series").count() == 8  # four methods in each of two charts
    assert background(page) == ("rgb(20, 23, 26)" if dark else "rgb(255, 255, 255)")


def test_a_page_without_anything_to_draw_says_so(visit, tmp_path):
    made = rows(tables=("2",), datasets=["hopper-medium-v2"], seeds=[0])
    broken = [row | {"score": None, "alive": False} for row in made]
    write_jsonl(tmp_path / "groups" / "group.jsonl", broken)
    main(["paper", "report", str(tmp_path)])
    assert "nothing to draw" in curves_of(visit(tmp_path / "report.html")).text_content()


def test_a_single_evaluation_is_a_point(visit, tmp_path):
    made = rows(tables=("2",), datasets=["hopper-medium-v2"], seeds=[0])
    write_jsonl(tmp_path / "groups" / "group.jsonl", [row for row in made if row["step"] == row["steps"]])
    main(["paper", "report", str(tmp_path)])
    curves = curves_of(visit(tmp_path / "report.html"))
    assert curves.locator("circle.alone").count() == len(drawn(curves)) > 0


def test_another_data_set_draws_other_curves(visit, report):
    curves = curves_of(visit(report))
    before = paths(curves)
    choose(curves, "first", "rewind/antmaze-umaze-v0")
    after = paths(curves)
    assert len(before) == len(after) == 4 and not before & after
    assert "antmaze-umaze, TD3+BC" in curves.locator("h3").text_content()


def test_another_agent_draws_other_curves_and_offers_only_what_it_has(visit, report):
    curves = curves_of(visit(report))
    choose(curves, "first", "rewind/hopper-medium-v0")
    before = paths(curves)
    choose(curves, "agent", "iql")
    assert drawn(curves) == ["Baseline", "TR"]
    assert not before & paths(curves)
    assert curves.get_by_label("SARSA").is_disabled()
    choose(curves, "first", "rewind/walker2d-medium-replay-v0")  # which has no runs of IQL
    assert curves.locator("[data-role=agent]").input_value() == "td3_bc"
    assert len(drawn(curves)) == 4


def test_a_table_that_goes_on_to_the_right_says_so_until_it_is_scrolled_there(visit, report):
    page = visit(report, width=700, height=800)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.wait_for_timeout(100)
    wide = page.locator(".scroll:has(table.wide)").first
    assert "more" in wide.get_attribute("class").split()
    wide.evaluate("(box) => { box.scrollLeft = box.scrollWidth; }")
    page.wait_for_timeout(100)
    assert "more" not in wide.get_attribute("class").split()
    cut = page.evaluate(
        "[...document.querySelectorAll('.scroll:not(.more)')]"
        ".filter((box) => box.scrollWidth > box.clientWidth + 1).length"
    )
    assert cut == 1  # the one that was scrolled to its end


def test_methods_are_drawn_as_ticked(visit, report):
    curves = curves_of(visit(report))
    tick(curves, "SARSA")
    tick(curves, "UQM reward")
    assert drawn(curves) == ["Baseline", "TR", "Weighted", "UQM reward"]
    assert "UQM reward" in curves.locator(".legend").text_content()
    assert "UQM reward" in curves.locator("[data-role=numbers]").text_content()
    curves.get_by_role("button", name="Lower uncertainty").click()
    assert drawn(curves)[2:] == ["Lower mean unc.", "Lower LQM unc.", "Lower UQM unc."]
    curves.get_by_role("button", name="None").click()
    assert drawn(curves) == []
    assert "Nothing is selected" in curves.locator(".chart").text_content()


def test_values_are_read_by_pointer_and_by_keyboard(visit, report):
    page = visit(report)
    curves = curves_of(page)
    svg, readout = curves.locator(".chart svg"), curves.locator(".readout")
    svg.focus()
    page.keyboard.press("ArrowRight")
    first = readout.text_content()
    page.keyboard.press("ArrowRight")
    second = readout.text_content()
    assert first.startswith("updates 100,000: Baseline ") and second.startswith("updates 200,000: Baseline ")
    width = "document.querySelector('.panel[data-name=curves] .chart svg').viewBox.baseVal.width"
    wide = page.evaluate(width)
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function(f"{width} < {wide}")
    assert readout.text_content() == second
    assert svg.locator("[visibility=visible]").count() > 0
    page.keyboard.press("ArrowRight")  # the chart was drawn anew, and still has the focus
    assert readout.text_content().startswith("updates 300,000: Baseline ")
    svg.hover(position={"x": svg.bounding_box()["width"] - 20, "y": 50})
    assert readout.text_content().startswith("updates 1,000,000: ")


def test_a_box_keeps_the_focus_that_ticked_it(visit, report):
    page = visit(report)
    curves = curves_of(page)
    curves.get_by_label("Return", exact=True).focus()
    page.keyboard.press("Space")
    assert "Return" in drawn(curves)
    assert page.evaluate("document.activeElement.value") == "Return"


def test_colours_follow_the_button_and_then_the_system_again(visit, report):
    page = visit(report, dark=False)
    button, seen = page.locator("#theme"), []
    for _ in range(3):
        button.click()
        seen.append((button.get_attribute("aria-label"), background(page)))
    assert seen == [
        ("Colours: light", "rgb(255, 255, 255)"),
        ("Colours: dark", "rgb(20, 23, 26)"),
        ("Colours: automatic", "rgb(255, 255, 255)"),
    ]


def test_on_paper_everything_is_open_light_and_without_controls(visit, report, tmp_path):
    page = visit(report, dark=True, media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(29, 33, 37)"
    page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    assert page.locator("details:not([open])").count() == 0 < page.locator("details").count()


def test_everything_that_can_be_used_has_a_name(visit, report):
    page = visit(report)
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    used = ("button", "checkbox", "combobox", "link", "img", "image", "table", "region", "navigation", "heading")
    seen = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node.get("ignored")]
    named = [(role, name) for role, name in seen if role in used]
    assert len(named) > 100
    assert [role for role, name in named if not name.strip()] == []
