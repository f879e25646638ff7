"""What `%load_ext kinetograph` calls. Light, for `import kinetograph` brings it; see `cli.magic`."""

from __future__ import annotations

from kinetograph.hints import Any

__all__ = ["load_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Gives notebooks `%%kinetograph`, which profiles a cell and shows where its time went.

    >>> %load_ext kinetograph
    """
    from kinetograph.cli.magic import profile_cell

    def kinetograph(line: str, cell: str) -> None:
        profile_cell(shell, line, cell)

    kinetograph.__doc__ = profile_cell.__doc__
    shell.register_magic_function(kinetograph, magic_kind="cell")
