"""Write the reference pages from docstrings and `--help`: `python docs/reference/generate.py [FOLDER]`."""

import enum
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click

import kinetograph as kg
from kinetograph.analysis.tree import EventNode
from kinetograph.cli import main as command
from kinetograph.session.features import Feature
from kinetograph.session.later import Later
from kinetograph.trace import Note, Process, Track

HERE = Path(__file__).parent
RETURNED = [EventNode, Feature, Note, Process, Track]
HEADER = "<!-- Written by generate.py from the code; do not edit. -->\n"


def python_page() -> str:
    things = {name: getattr(kg, name) for name in sorted(kg.__all__, key=str.lower)}
    parts = [HEADER, "# Python\n", "`import kinetograph as kg`\n"]
    for name, thing in things.items():
        if not isinstance(thing, Later):
            parts.extend(entry(name, thing))
    parts.append("## What these return\n")
    parts.append("Classes that a program meets without naming them.\n")
    for returned in RETURNED:
        parts.extend(returned_entry(returned))
    parts.append("## Not available yet\n")
    parts.extend(
        f"- `kg.{name}`: {thing.__doc__}" for name, thing in things.items() if isinstance(thing, Later)
    )
    return "\n".join(parts) + "\n"


def entry(name: str, thing: object) -> Iterator[str]:
    yield f"## `kg.{name}{signature(thing)}`\n"
    own_name = getattr(thing, "__name__", name).rpartition(".")[2]
    if own_name != name:
        yield f"Another name of `kg.{own_name}`.\n"
        return
    yield from paragraphs(thing)
    if inspect.isclass(thing):
        yield from members(thing)
    elif inspect.ismodule(thing):
        yield from module_members(thing)


def returned_entry(cls: type) -> Iterator[str]:
    yield f"### `{cls.__module__}.{cls.__name__}`\n"
    yield from paragraphs(cls)
    fields = getattr(cls, "_fields", None) or cls.__slots__
    yield f"- {', '.join(f'`.{field}`' for field in fields)}\n"


def members(cls: type) -> Iterator[str]:
    if issubclass(cls, enum.Enum):
        yield ", ".join(f"`{member.name}` = {member.value}" for member in cls) + "\n"
        return
    public = {name: member for name, member in own_members(cls).items() if is_public(name, member)}
    for name, member in public.items():
        if inspect.getdoc(member):
            yield f"- `.{name}{signature(member)}`: {first_sentence(member)}"
    plain = [f"`.{name}`" for name, member in public.items() if not inspect.getdoc(member)]
    if plain:
        yield f"- {', '.join(plain)}"
    if public:
        yield ""


def own_members(cls: type) -> dict[str, object]:
    """Its own, and those of bases that have no entry themselves."""
    members: dict[str, object] = {}
    for base in cls.__mro__:
        is_part = base.__module__.startswith("kinetograph") and base.__name__ not in kg.__all__
        if base is cls or is_part:
            members = members | {name: m for name, m in vars(base).items() if name not in members}
    return members


def module_members(module: ModuleType) -> Iterator[str]:
    for name in sorted(module.__all__):
        member = getattr(module, name)
        sentence = first_sentence(member) if is_public(name, member) else ""
        yield f"- `{name}{signature(member)}`{': ' if sentence else ''}{sentence}"
    yield ""


def is_public(name: str, member: object) -> bool:
    """Whether it is part of the surface rather than a value with the docstring of its type."""
    return not name.startswith("_") and (isinstance(member, (property, classmethod)) or callable(member))


def signature(thing: object) -> str:
    """As Python shows it, without the annotations that belong to type checkers."""
    if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, enum.Enum)):
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
    context = whole_command()
    for name in command.list_commands(context):
        parts.append(f"## kinetograph {name}\n")
        parts.append(help_text(command.get_command(context, name), name))
    return "\n".join(parts)


def whole_command() -> click.Context:
    return click.Context(command, info_name="kinetograph", **command.context_settings)


def help_text(verb: click.Command, name: str) -> str:
    """The options that `kinetograph` has set for itself hold for its verbs too, as when it runs."""
    parent = None if verb is command else whole_command()
    context = click.Context(
        verb,
        info_name=name,
        parent=parent,
        max_content_width=100,
        terminal_width=100,
        help_option_names=whole_command().help_option_names,
    )
    return f"```\n{verb.get_help(context)}\n```\n"


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    (folder / "python.md").write_text(python_page())
    (folder / "command-line.md").write_text(command_page())


if __name__ == "__main__":
    main()
