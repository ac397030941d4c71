"""Pages of the site that are made from other files: `make docs` calls this before it builds.

CHANGELOG.md, CONTRIBUTING.md  ->  docs/changelog.md, docs/contributing.md, with links that work there
examples/NAME.ipynb            ->  docs/notebooks/NAME.md, with the outputs that the notebook holds
"""

import base64
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def copy_page(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    (DOCS / name.lower()).write_text(text.replace("](docs/", "]("), encoding="utf-8")


def fence(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


def output_page(output: dict, folder: Path, image: str) -> str:
    """One output of a cell as Markdown. image: the name of its picture, if it is one"""
    data = output.get("data", {})
    if "image/png" in data:
        (folder / image).write_bytes(base64.b64decode("".join(data["image/png"])))
        return f"![What this cell draws]({image})\n"
    text = "".join(output.get("text", data.get("text/plain", "")))
    if text.startswith("<IPython"):  # a page or a film that only the notebook itself can show
        return "*The notebook shows the page here.*\n"
    return fence(text) if text.strip() else ""


def notebook_page(path: Path, folder: Path) -> None:
    parts = []
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source + "\n")
        elif cell["cell_type"] == "code" and source.strip():
            parts.append(fence(source, "python"))
            for place, output in enumerate(cell["outputs"]):
                parts.append(output_page(output, folder, f"{path.stem}-{number}-{place}.png"))
    note = f"\n*This page is the notebook `examples/{path.name}`.*\n"
    (folder / f"{path.stem}.md").write_text("\n".join([*parts, note]), encoding="utf-8")


def main() -> None:
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        copy_page(name)
    folder = DOCS / "notebooks"
    folder.mkdir(exist_ok=True)
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        notebook_page(path, folder)


if __name__ == "__main__":
    main()
