"""Forks while it is sampled. The child has no sampler, and can have one of its own; the parent goes on."""

import json
import os

from tests.sampled import functions, sampler_threads, sampling, wait_for_rounds, wait_for_samplers


def in_child() -> None:
    samplers = sampler_threads()
    with sampling() as window:
        wait_for_rounds()
    names = functions(window.trace, os.getpid())
    os._exit(0 if samplers == 0 and "in_child" in names and "wait_for_rounds" in names else 1)


def main() -> None:
    with sampling() as window:
        wait_for_rounds()
        child = os.fork()
        if child == 0:
            in_child()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        wait_for_rounds()
    wait_for_samplers(0)
    names = functions(window.trace, os.getpid())
    print(json.dumps({"child": status, "parent": names}))


main()
