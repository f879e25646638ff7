"""`python -m kinetograph` is the `kinetograph` command."""

from kinetograph.cli import main

if __name__ == "__main__":
    main(prog_name="kinetograph")
