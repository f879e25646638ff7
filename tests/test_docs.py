"""What the pages show works: their Python runs, the examples run, the reference is what the code says."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs" / "guide").glob("*.md"), *(ROOT / "docs" / "concepts").glob("*.md")]
)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
GENERATOR = ROOT / "docs" / "reference" / "generate.py"


def python_of(page: Path) -> str:
    """All Python blocks of a page: one program, as a reader would type it from top to bottom."""
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL))


def missing_for(page: Path) -> list[str]:
    """What a page imports that is there in `make torch-test` or `make triton-test` only."""
    imports = python_of(page)
    return [name for name in ("torch", "triton") if f"import {name}\n" in imports and find_spec(name) is None]


def run_python(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_of_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    if missing := missing_for(page):
        pytest.skip(f"needs {missing[0]}")
    program = tmp_path / "page.py"
    program.write_text(python_of(page))
    done = run_python([str(program)], tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_runs(example: Path, tmp_path: Path) -> None:
    done = run_python([str(example)], tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="signatures print differently in other versions")
def test_generated_reference_is_fresh(tmp_path: Path) -> None:
    done = run_python([str(GENERATOR), str(tmp_path)], tmp_path)
    assert done.returncode == 0, done.stderr
    written = {page.name: page.read_text() for page in tmp_path.glob("*.md")}
    kept = {page.name: page.read_text() for page in GENERATOR.parent.glob("*.md")}
    assert kept == written, "stale: run `make reference`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", prose):
        if not link.startswith("http"):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"
