"""The command line of a set of topics: run them, print a table each, keep them when asked."""

import argparse
import os
from collections.abc import Mapping
from typing import Protocol

from benchmarks.report import machine, save


class Topic(Protocol):
    def run(self, *, quick: bool) -> str: ...


def main(topics: Mapping[str, Topic], prog: str) -> None:
    parser = argparse.ArgumentParser(prog=prog, description=f"{prog} [topic ...]: prints a table each")
    known = ", ".join(topics)
    parser.add_argument("topics", nargs="*", metavar="topic", help=f"some of {known}; default all")
    parser.add_argument("--quick", action="store_true", help="shows that it runs, not the figures")
    parser.add_argument("--save", action="store_true", help="keep the tables in benchmarks/results")
    options = parser.parse_args()
    unknown = set(options.topics) - set(topics)
    if unknown:
        parser.error(f"expected topics among {known}, got {', '.join(sorted(unknown))}")
    os.environ["KINETO_LOG_LEVEL"] = "99"  # torch prints two lines per session otherwise
    print(machine(), end="\n\n")
    for name in options.topics or topics:
        run_topic(name, topics[name], quick=options.quick, keep=options.save)


def run_topic(name: str, topic: Topic, *, quick: bool, keep: bool) -> None:
    text = topic.run(quick=quick)
    print(text, end="\n\n", flush=True)
    if keep:
        print(f"saved {save(name, text)}\n")
