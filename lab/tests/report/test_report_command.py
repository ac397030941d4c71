"""`rewind paper report`: pages from folders, and what is said where there is none to make."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from lab.tests.paper.small import write_definitions

pytest.importorskip("tyro")


from rewind.cli import main
from rewind.evaluation.rows import write_jsonl
from rewind.report.document import Cell, Document, Line, Section, Table
from rewind.report.markdown import to_markdown
from rewind.report.page import render
from rewind_lab.paper.results import collect

from .synthetic import rows

PAGE = Path(__file__).parents[3] / "src" / "rewind" / "report" / "page"


def folder(path, made):
    write_jsonl(path / "groups" / "group.jsonl", made)
    return path


def report(*arguments):
    main(["paper", "report", *map(str, arguments)])


def fails(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        report(*arguments)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("rewind: ") and error.count("\n") == 1, error
    return error


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    results = folder(
        tmp_path_factory.mktemp("results"),
        rows(tables=("2", "td3_bc"), datasets=["antmaze", "hopper-medium-v2"], seeds=[0, 1, 2]),
    )
    report(results, "--markdown", results / "report.md")
    return results / "report.html"


class Checker(HTMLParser):
    """Collects what a browser would ask for or trip over."""

    VOID = ("meta", "link", "br")

    def __init__(self):
        super().__init__()
        self.open, self.asked, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("src", "href", "srcset", "data") and not (value or "").startswith(("#", "data:")):
                self.asked.append((tag, value))
            if name == "id":
                self.ids.append(value)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


def check(text):
    checker = Checker()
    checker.feed(text)
    assert checker.open == [] and checker.asked == []
    assert len(checker.ids) == len(set(checker.ids))
    return checker


def test_a_page_needs_nothing_else(page):
    text = page.read_text(encoding="utf-8")
    check(text)
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)|fetch\(|XMLHttpRequest|import\(", text)


def test_a_page_has_all_its_sections_and_links_to_them(page):
    text = page.read_text(encoding="utf-8")
    for name in ("claims", "tables", "differences", "curves", "overall", "which", "cost", "origin"):
        assert f'id="{name}"' in text and f'href="#{name}"' in text


def test_markdown_has_the_same_tables_and_verdicts(page):
    told = page.with_suffix(".md").read_text(encoding="utf-8")
    assert "| Trajectory Replay helps on sparse rewards | ✔ holds | TD3+BC TR over Baseline |" in told
    assert "**Table 2: SARSA and weighted targets on TD3+BC**" in told and "## Which priority" in told
    table = [line for line in told.splitlines() if line.startswith("|")]
    assert len(table) > 100
    for number, line in enumerate(table):
        if line.startswith("| ---"):
            assert line.count("|") == table[number - 1].count("|") == table[number + 1].count("|")


def test_the_same_results_make_the_same_page(page, tmp_path):
    report(page.parent, "--out", tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()


def test_one_data_set_and_one_run_make_a_page(tmp_path):
    made = rows(tables=("2",), datasets=["hopper-medium-v2"], seeds=[0], keep=lambda spec: spec.sampler == "tr")
    report(folder(tmp_path, made[:14]))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    check(text)
    assert "not enough data" in text and ">holds" not in text


def test_results_of_broken_runs_alone_make_a_page(tmp_path):
    made = rows(tables=("2",), datasets=["hopper-medium-v2"], seeds=[0])
    report(folder(tmp_path, [row | {"score": None, "alive": False} for row in made]))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    check(text)
    assert json.loads(re.search(r'id="data">(.*?)</script>', text)[1])["curves"] == {}


def test_collected_results_make_the_same_page(tmp_path):
    pytest.importorskip("pyarrow")
    made = rows(tables=("2",), datasets=["hopper-medium-v2"])
    report(folder(tmp_path, made))
    before = (tmp_path / "report.html").read_bytes()
    collect(tmp_path)
    assert not list((tmp_path / "groups").glob("*.jsonl"))
    report(tmp_path)
    assert (tmp_path / "report.html").read_bytes() == before


def test_results_on_both_kinds_of_data_are_asked_for_by_name(tmp_path, capsys):
    small = {"tables": ("2",), "datasets": ["hopper-medium-v2"]}
    report(folder(tmp_path, rows(**small) + rows(data="d4rl", seeds=[0], **small)), "--data", "d4rl")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "on D4RL&#39;s data" in text and "rewind paper report --data rewind" in text
    alone = folder(tmp_path / "alone", rows(**small))
    assert "no runs on d4rl data" in fails(capsys, alone, "--data", "d4rl")


def test_texts_from_results_are_only_ever_text(tmp_path):
    made = rows(tables=("2",), datasets=["hopper-medium-v2"], seeds=[0])
    bad = "</script><script>alert(1)</script>&{{data}}"
    report(folder(tmp_path, [row | {"dataset": bad, "device": bad} for row in made]))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    check(text)
    assert "<script>alert" not in text and text.count("<script") == 2
    embedded = re.search(r'id="data">(.*?)</script>', text)[1]
    assert bad in json.loads(embedded)["curves"]


def test_cells_are_read_without_colours():
    """What a colour says, a sign says, and a word for who listens."""
    table = Table("t", ["a", "b"], [Line("x", [Cell("1", "2", "lower")])])
    text = render(Document("t", "", [], [Section("s", "S", [table])]))
    assert "▼" in text and 'aria-label="lower than the paper"' in text
    assert "| x | 1 ▼ 2 |" in to_markdown(Document("t", "", [], [Section("s", "S", [table])]))


def contrast(one, other):
    def luminance(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_told_from_their_ground_in_both_themes():
    found = re.findall(
        r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", (PAGE / "report.css").read_text(encoding="utf-8")
    )
    colours = {name: themes for name, *themes in found}
    texts = [("ink", "ground"), ("quiet", "ground"), ("link", "ground"), ("ink", "raised"), ("quiet", "raised")]
    texts += [(ink, f"{kind}-ground") for kind in ("good", "bad", "else") for ink in ("ink", kind)]
    for theme in (0, 1):
        for ink, ground in texts:
            assert contrast(colours[ink][theme], colours[ground][theme]) >= 4.5, (theme, ink, ground)
        for number in range(8):  # lines: 3 is asked of graphics
            assert contrast(colours[f"series-{number}"][theme], colours["ground"][theme]) >= 3, (theme, number)


@pytest.mark.long
def test_what_the_runner_writes_makes_a_report(tmp_path):
    """End to end, small. A folder of `rewind train` is reported where that command is tested."""
    for package in ("jax", "equinox", "optax", "gymnasium"):
        pytest.importorskip(package)
    definitions = write_definitions(tmp_path, steps=40)
    main(["paper", "run", "--definitions", str(definitions), "--out", str(tmp_path / "results"), "--device", "cpu"])
    report(tmp_path / "results", "--markdown", tmp_path / "report.md")
    told = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "- Runs: 6\n" in told
    assert "| Lower UQM unc. |" in told and "| Baseline |" in told
    check((tmp_path / "results" / "report.html").read_text(encoding="utf-8"))


def test_a_report_needs_neither_jax_nor_pyarrow_nor_matplotlib(tmp_path):
    results = folder(tmp_path, rows(tables=("2",), datasets=["hopper-medium-v2"], seeds=[0]))
    hidden = "import sys; sys.modules |= dict.fromkeys(['jax', 'pyarrow', 'matplotlib', 'gymnasium', 'mujoco'])"
    script = f"{hidden}; from rewind.cli import main; main(['paper', 'report', {str(results)!r}])"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert (results / "report.html").exists()


def test_errors_say_what_was_expected(tmp_path, capsys):
    assert "no folder" in fails(capsys, tmp_path / "nowhere")
    assert "nothing to report" in fails(capsys, tmp_path)
    cut = folder(tmp_path / "cut", rows(tables=("2",), datasets=["hopper-medium-v2"], seeds=[0]))
    (cut / "groups" / "group.jsonl").write_text('{"run": 1')
    assert "line 1" in fails(capsys, cut)
    good = folder(tmp_path / "good", rows(tables=("2",), datasets=["hopper-medium-v2"], seeds=[0]))
    assert "bench train" in fails(capsys, good, "--cost", good / "groups" / "group.jsonl")


def test_sections_are_written_into_a_page_and_the_rest_of_it_stays(tmp_path):
    results = folder(tmp_path / "results", rows(tables=("2",), datasets=["hopper-medium-v2"], seeds=[0, 1, 2]))
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    page.write_text("# Ours\n\n<!-- report: claims -->\nas before\n<!-- end of report -->\n\nThe end.\n")
    other.write_text("<!-- report: facts -->\n<!-- end of report -->")
    for _ in range(2):  # the second time changes nothing
        report(results, "--into", page, other)
        assert "- Runs: 9" in other.read_text()
        text = page.read_text()
        assert text.startswith("# Ours\n\n<!-- report: claims -->\n\n15 claims about scores") and text.endswith(
            "\n\nThe end.\n"
        )
        assert "as before" not in text and text.count("**The paper's claims about cost**") == 1


def test_a_page_without_marks_or_with_unknown_ones_is_refused(tmp_path, capsys):
    results = folder(tmp_path / "results", rows(tables=("2",), datasets=["hopper-medium-v2"], seeds=[0]))
    page = tmp_path / "page.md"
    page.write_text("# Ours\n")
    assert "no place for the report: expected <!-- report: NAME -->" in fails(capsys, results, "--into", page)
    page.write_text("<!-- report: clams -->\n<!-- end of report -->\n")
    assert "did you mean 'claims'" in fails(capsys, results, "--into", page)
    assert page.read_text() == "<!-- report: clams -->\n<!-- end of report -->\n"
    assert "cannot be read: No such file" in fails(capsys, results, "--into", tmp_path / "none.md")
    page.write_text("<!-- report: claims -->\n<!-- end of report -->\n")
    assert "would be written twice" in fails(capsys, results, "--markdown", page, "--into", page)
    assert "would be written twice" in fails(capsys, results, "--into", page, page)
