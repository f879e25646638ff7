"""`python -m benchmarks [topic ...] [--quick] [--save]`: run the topics and print a table each."""

import argparse
import os

from benchmarks import averages, call_cost, import_time, million_events, sampling, scope_cost
from benchmarks.report import machine, save

TOPICS = {
    "scope": scope_cost,
    "calls": call_cost,
    "million": million_events,
    "averages": averages,
    "import": import_time,
    "sampling": sampling,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    known = ", ".join(TOPICS)
    parser.add_argument("topics", nargs="*", metavar="topic", help=f"some of {known}; default all")
    parser.add_argument("--quick", action="store_true", help="shows that it runs, not the figures")
    parser.add_argument("--save", action="store_true", help="keep the tables in benchmarks/results")
    options = parser.parse_args()
    unknown = set(options.topics) - set(TOPICS)
    if unknown:
        parser.error(f"expected topics among {known}, got {', '.join(sorted(unknown))}")
    os.environ["KINETO_LOG_LEVEL"] = "99"  # torch prints two lines per session otherwise
    print(machine(), end="\n\n")
    for topic in options.topics or TOPICS:
        run_topic(topic, quick=options.quick, keep=options.save)


def run_topic(topic: str, *, quick: bool, keep: bool) -> None:
    text = TOPICS[topic].run(quick=quick)
    print(text, end="\n\n", flush=True)
    if keep:
        print(f"saved {save(topic, text)}\n")


if __name__ == "__main__":
    main()
