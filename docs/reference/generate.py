"""Write the reference pages from docstrings and `--help`: `python docs/reference/generate.py [FOLDER]`."""

import enum
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

import kinetograph as kg
from kinetograph.cli import main as command

HERE = Path(__file__).parent
HEADER = "<!-- Written by generate.py from the code; do not edit. -->\n"


def python_page() -> str:
    parts = [HEADER, "# Python\n", "`import kinetograph as kg`\n"]
    for name in sorted(kg.__all__, key=str.lower):
        parts.extend(entry(f"kg.{name}", getattr(kg, name)))
    return "\n".join(parts)


def entry(name: str, thing: object) -> Iterator[str]:
    yield f"## `{name}{signature(thing)}`\n"
    yield from paragraphs(thing)
    if inspect.isclass(thing):
        yield from members(thing)
    elif inspect.ismodule(thing):
        yield from module_members(thing)


def members(cls: type) -> Iterator[str]:
    if issubclass(cls, enum.Enum):
        yield ", ".join(f"`{member.name}` = {member.value}" for member in cls) + "\n"
        return
    for name, member in vars(cls).items():
        if is_public_and_documented(name, member):
            yield f"- `.{name}{signature(member)}`: {first_sentence(member)}"
    yield ""


def module_members(module: object) -> Iterator[str]:
    for name in sorted(getattr(module, "__all__", ())):
        member = getattr(module, name)
        yield f"- `{name}{signature(member)}`: {first_sentence(member)}"
    yield ""


def is_public_and_documented(name: str, member: object) -> bool:
    return not name.startswith("_") and bool(inspect.getdoc(member))


def signature(thing: object) -> str:
    """As Python shows it, without the annotations that belong to type checkers."""
    if not callable(thing) or inspect.ismodule(thing):
        return ""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return str(inspect.Signature([parameter for parameter in bare if parameter.name != "self"]))


def paragraphs(thing: object) -> Iterator[str]:
    text = inspect.getdoc(thing)
    if text:
        yield fenced_examples(text) + "\n"


def fenced_examples(text: str) -> str:
    """Doctest lines become a code block, since Markdown would flow them together."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        begins, ends = line.lstrip().startswith(">>>") and not inside, inside and not line.strip()
        if begins or ends:
            lines.append("```pycon" if begins else "```")
            inside = begins
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


def first_sentence(thing: object) -> str:
    text = inspect.getdoc(thing) or ""
    return " ".join(text.split("\n\n")[0].split())


def command_page() -> str:
    parts = [HEADER, "# Command line\n", help_text(command, "kinetograph")]
    context = click.Context(command)
    for name in command.list_commands(context):
        parts.append(f"## kinetograph {name}\n")
        parts.append(help_text(command.get_command(context, name), f"kinetograph {name}"))
    return "\n".join(parts)


def help_text(verb: click.Command, name: str) -> str:
    context = click.Context(verb, info_name=name, max_content_width=100, terminal_width=100)
    return f"```\n{verb.get_help(context)}\n```\n"


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    (folder / "python.md").write_text(python_page())
    (folder / "command-line.md").write_text(command_page())


if __name__ == "__main__":
    main()
