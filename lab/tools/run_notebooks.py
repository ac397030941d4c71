"""Run notebooks of examples/ and keep what they print and draw in them: `make notebooks` calls this.

    python lab/tools/run_notebooks.py csv_to_policy

A notebook runs in a copy of examples/, so that no file stays behind. What would change with every run or machine
(counts, dates, addresses in memory, folders) is left out. `notebook_digest` names the code that the outputs are of.
"""

import hashlib
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
# Lines about this machine: bars of progress with their speed, and where Numba keeps what it compiles
NOISE = re.compile(r"^(rewind: Numba compiles |.*\d+%\|.*\d steps/s\]).*\n?", re.MULTILINE)


def notebook_digest(book: dict) -> str:
    """Of the code of a notebook."""
    code = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
    return hashlib.sha256("\0".join(code).encode()).hexdigest()[:16]


def tidy(text: str, folder: str) -> str:
    text = re.sub(r"[^\n]*\r(?!\n)", "", text.replace("\r\n", "\n"))  # what another line replaced on the screen
    return NOISE.sub("", ADDRESS.sub("", text.replace(f"{folder}/", "")))


def kept(output: dict, folder: str) -> dict:
    """An output without what is of this run alone."""
    if output["output_type"] == "stream":
        return {"output_type": "stream", "name": output["name"], "text": _lines(tidy(output["text"], folder))}
    data = {
        kind: value if kind.startswith("image/") else _lines(tidy(value, folder))
        for kind, value in output["data"].items()
    }
    return {"output_type": "display_data", "data": data, "metadata": {}}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def run(path: Path) -> None:
    import nbclient
    import nbformat

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "examples"
        shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__"))
        executed = nbformat.read(path, as_version=4)
        resources = {"metadata": {"path": str(folder)}}
        nbclient.NotebookClient(
            executed, timeout=1800, kernel_name="python3", resources=resources, coalesce_streams=True
        ).execute()
        book = json.loads(path.read_text(encoding="utf-8"))
        for cell, ran in zip(book["cells"], executed.cells, strict=True):
            if cell["cell_type"] == "code":
                cell["outputs"] = [kept(output, str(folder)) for output in ran.outputs]
        book["metadata"]["outputs_of"] = notebook_digest(book)
    path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        run(EXAMPLES / f"{name}.ipynb")
