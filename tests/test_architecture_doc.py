"""ARCHITECTURE.md names paths, commands and symbols; each of them must exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLACES = [ROOT / "native", ROOT / "src" / "kinetograph", ROOT]
CODE = {".h", ".cpp", ".py", ".pyi"}


def words_in_backticks() -> list[str]:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return sorted(set(re.findall(r"`([^`\n]+)`", prose)))


def is_path(word: str) -> bool:
    return "/" in word or bool(re.search(r"\.(py|h|cpp|c|md|toml|pyi|txt)$", word)) or word == "Makefile"


@pytest.fixture(scope="module")
def identifiers() -> set[str]:
    """Every word that the sources contain, and what their files and folders are called."""
    paths = [path for top in ("native", "src") for path in (ROOT / top).rglob("*")]
    texts = [path.read_text() for path in paths if path.suffix in CODE]
    return {path.stem for path in paths} | {word for text in texts for word in re.findall(r"\w+", text)}


@pytest.fixture(scope="module")
def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


@pytest.mark.parametrize("word", words_in_backticks())
def test_what_the_architecture_page_names_exists(
    word: str, identifiers: set[str], make_targets: set[str]
) -> None:
    if word.startswith("make "):
        assert word.split()[1] in make_targets
    elif is_path(word):
        find = Path.glob if "/" in word else Path.rglob
        assert any(list(find(place, word)) for place in PLACES), f"no file or folder {word}"
    else:
        unknown = set(re.findall(r"[A-Za-z_]\w*", word)) - identifiers - {"kg"}
        assert not unknown, f"no code names {unknown}"
